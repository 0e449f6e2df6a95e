"""A prompt for each question: in its language, and for the kind of answer that it wants."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from burnish.prompts.wording import PromptLanguage, language_of
from burnish.rag_system.templates import answer_prompt
from burnish.text.normalise import fold


class QuestionType(StrEnum):
    """What a question asks for."""

    FACTUAL = "factual"
    ANALYTICAL = "analytical"
    COMPARATIVE = "comparative"
    PROCEDURAL = "procedural"
    DEFINITIONAL = "definitional"
    EVALUATIVE = "evaluative"
    CAUSAL = "causal"
    GENERAL = "general"


# Looked for in this order, as whole words of the folded question: "how to compare" is a comparison, and every "how
# many" would be a procedure if that came first. Arabic words may have و, ف, ب, ل or ال joined on in front.
_SIGNS: Final = {
    "en": {
        QuestionType.COMPARATIVE: "compare|comparison|compared|difference|differences|differ|differs|versus|vs"
        "|similarities|better|worse",
        QuestionType.CAUSAL: "why|cause|causes|caused|reason|reasons|because|lead to|leads to|led to|result in",
        QuestionType.PROCEDURAL: "how to|how do|how does one|how can|how should|steps|step by step|procedure"
        "|instructions",
        QuestionType.DEFINITIONAL: "define|definition|meaning|mean|means|what is meant by|stand for|stands for",
        QuestionType.EVALUATIVE: "evaluate|assess|assessment|advantages|disadvantages|pros|cons|strengths|weaknesses"
        "|worth|recommend|best|should",
        QuestionType.ANALYTICAL: "analyse|analyze|analysis|explain|discuss|impact|effect|effects|influence|implications"
        "|relationship|role",
        QuestionType.FACTUAL: "what|who|whom|whose|when|where|which|how many|how much|how long|how old|how far"
        "|how often|is|are|was|were|does|did|do|has|have",
    },
    "ar": {
        QuestionType.COMPARATIVE: "قارن|مقارنه|فرق|فروق|فروقات|اختلاف|يختلف|تختلف|افضل من|مقابل|تشابه",
        QuestionType.CAUSAL: "لماذا|سبب|اسباب|يسبب|تسبب|ادي|يؤدي|تؤدي|علل",
        QuestionType.PROCEDURAL: "كيف|كيفيه|خطوات|طريقه|اجراءات|اجراء",
        QuestionType.DEFINITIONAL: "عرف|تعريف|معني|يعني|تعني|مفهوم|ما المقصود",
        QuestionType.EVALUATIVE: "قيم|تقييم|مزايا|عيوب|ايجابيات|سلبيات|افضل|ينصح|هل يستحق",
        QuestionType.ANALYTICAL: "حلل|تحليل|اشرح|شرح|وضح|ناقش|تاثير|اثر|اثار|علاقه|دور",
        QuestionType.FACTUAL: "ما|ماذا|من|متي|اين|اي|كم|هل|ما هو|ما هي",
    },
}
_JOINED = {"en": "", "ar": "(?:[وف]?[بكل]?(?:ال)?|[وف]?لل)"}
_PATTERNS: Final = {
    language: {kind: re.compile(rf"(?<!\w){_JOINED[language]}(?:{signs})(?!\w)") for kind, signs in by_kind.items()}
    for language, by_kind in _SIGNS.items()
}
_GUIDANCE = {
    "en": {
        QuestionType.FACTUAL: "Give the fact asked for in one sentence.",
        QuestionType.ANALYTICAL: "Set out the parts of the matter and how they hang together, each from the documents.",
        QuestionType.COMPARATIVE: "Compare point by point: first what is alike, then what differs.",
        QuestionType.PROCEDURAL: "Give the steps in their order, numbered, and leave none out.",
        QuestionType.DEFINITIONAL: "Begin with a definition in one sentence; then what the documents add to it.",
        QuestionType.EVALUATIVE: "Weigh what speaks for it and what speaks against it before you conclude.",
        QuestionType.CAUSAL: "Name each cause and what it led to, and keep apart what the documents leave open.",
        QuestionType.GENERAL: "",
    },
    "ar": {
        QuestionType.FACTUAL: "اذكر المعلومة المطلوبة في جملة واحدة.",
        QuestionType.ANALYTICAL: "بيّن أجزاء الموضوع وكيف يرتبط بعضها ببعض، وكل ذلك من الوثائق.",
        QuestionType.COMPARATIVE: "قارن نقطة بنقطة: أوجه الشبه أولاً ثم أوجه الاختلاف.",
        QuestionType.PROCEDURAL: "اذكر الخطوات مرتبة ومرقمة دون إغفال أي منها.",
        QuestionType.DEFINITIONAL: "ابدأ بتعريف في جملة واحدة، ثم ما تضيفه الوثائق إليه.",
        QuestionType.EVALUATIVE: "وازن بين ما له وما عليه قبل أن تخلص إلى رأي.",
        QuestionType.CAUSAL: "اذكر كل سبب وما أدى إليه، وميّز ما تتركه الوثائق مفتوحاً.",
        QuestionType.GENERAL: "",
    },
}


class PromptRouter:
    """Builds the prompt for a question from its language and its type. include_few_shot: show two worked examples."""

    def __init__(self, include_few_shot: bool = True) -> None:
        self.include_few_shot = include_few_shot

    def detect_language(self, text: str) -> PromptLanguage:
        """ "ar" where at least two words in five are Arabic, else "en"."""
        return language_of(text)

    def detect_question_type(self, query: str, language: str | None = None) -> QuestionType:
        patterns = _PATTERNS[self._language(query, language)]
        folded = fold(query)
        found = (kind for kind, pattern in patterns.items() if pattern.search(folded))
        return next(found, QuestionType.GENERAL)

    def build(
        self, query: str, context: str, language: str | None = None, question_type: QuestionType | None = None
    ) -> str:
        """The prompt. language: "en" or "ar"; any other, and None, leaves it to the question."""
        spoken = self._language(query, language)
        kind = question_type or self.detect_question_type(query, spoken)
        guidance = _GUIDANCE[spoken][QuestionType(kind)]
        return answer_prompt(
            query, context, spoken, guidance=guidance, few_shot=self.include_few_shot, forced=language == spoken
        )

    def _language(self, query: str, language: str | None) -> PromptLanguage:
        return language if language in ("en", "ar") else self.detect_language(query)

    def __repr__(self) -> str:
        return f"PromptRouter(include_few_shot={self.include_few_shot})"
