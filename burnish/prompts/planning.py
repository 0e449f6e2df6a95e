"""Prompts that plan: imagine a passage (HyDE), take a question apart, put partial answers together."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.effects import Prompt
from burnish.prompts.wording import inert, language_of, object_schema, show_question, text_schema, texts_schema

# One prompt for all would give, at a low temperature, one passage N times over: each has a kind and a point of its own.
_KINDS_OF_TEXT = {
    "en": ("an encyclopedia article", "an official notice or handbook", "a report by a specialist", "a news item"),
    "ar": ("مقالة موسوعية", "إشعار رسمي أو دليل عمل", "تقرير كتبه مختص", "خبر صحفي"),
}
_POINTS = {
    "en": ("what matters most", "the numbers and dates", "the people and places", "the causes and the rules"),
    "ar": ("أهم ما في الأمر", "الأرقام والتواريخ", "الأشخاص والأماكن", "الأسباب والقواعد"),
}
_HYPOTHESISE = {
    "en": "Write the passage that would answer a question, as if copied from a document: two or three plain factual "
    "sentences in the language of the question and the words such a document would use. Do not repeat the question, "
    "do not address the reader.",
    "ar": "اكتب المقطع الذي يجيب عن السؤال كما لو نُسخ من وثيقة: جملتان أو ثلاث جمل واقعية بسيطة باللغة العربية "
    "وبالكلمات التي تستعملها مثل هذه الوثيقة. لا تكرّر السؤال ولا تخاطب القارئ.",
}
_AS_FROM = {"en": "The document is {kind}; it gives {point}.", "ar": "الوثيقة هي {kind}، وتذكر {point}."}

# Told after the question, the most questions that may be written is what a small model writes, in Arabic.
_DECOMPOSE_RULES = {
    "en": """You split a question into the smaller questions it is made of. Each must make sense alone: repeat names \
instead of "it" or "they", and keep the language of the question. If a part needs the answer of an earlier part, \
write #1, #2 ... in place of that answer. Give two to {most} questions. If the question asks only one thing, give it \
back alone.""",
    "ar": """أنت تقسّم السؤال إلى الأسئلة الأصغر التي يتكوّن منها. يجب أن يُفهم كل سؤال وحده: كرّر الأسماء بدل الضمائر، \
وحافظ على لغة السؤال. إذا احتاج جزء إلى جواب جزء سابق فاكتب #1 أو #2 مكان ذلك الجواب. اكتب سؤالين إلى {most} أسئلة. \
وإذا كان السؤال عن شيء واحد فأعده كما هو.""",
}
_DECOMPOSE_EXAMPLES = {
    "en": """Question: What are the causes of flooding and how do cities prepare for it?
{"sub_questions": ["What are the causes of flooding?", "How do cities prepare for flooding?"]}

Question: Where was the author of the book Emma born?
{"sub_questions": ["Who is the author of the book Emma?", "Where was #1 born?"]}

Question: What is the difference between the height of Mont Blanc and that of Etna?
{"sub_questions": ["How high is Mont Blanc?", "How high is Etna?"]}""",
    "ar": """السؤال: ما أسباب الفيضانات وكيف تستعد لها المدن؟
{"sub_questions": ["ما أسباب الفيضانات؟", "كيف تستعد المدن للفيضانات؟"]}

السؤال: أين وُلد مؤلف كتاب القانون في الطب؟
{"sub_questions": ["من مؤلف كتاب القانون في الطب؟", "أين وُلد #1؟"]}

السؤال: ما الفرق بين ارتفاع جبل لبنان وارتفاع جبل الشيخ؟
{"sub_questions": ["كم يبلغ ارتفاع جبل لبنان؟", "كم يبلغ ارتفاع جبل الشيخ؟"]}""",
}
_MERGE = {
    "en": """You combine answers to parts of a question into one answer. Use only what they say, keep every number, \
name and date, add nothing. Answer in the language of the question, as "answer" of a JSON object.

- When was the Harbour Bridge opened?
<answer>It opened in 1932.</answer>
- Who designed the Harbour Bridge?
<answer>John Bradfield</answer>
Question: When was the Harbour Bridge opened and who designed it?
{"answer": "The Harbour Bridge opened in 1932 and was designed by John Bradfield."}""",
    "ar": """أنت تجمع إجابات أجزاء السؤال في إجابة واحدة باللغة العربية. استعمل ما ورد فيها فقط، وحافظ على كل رقم واسم \
وتاريخ، ولا تضف شيئاً. اكتب الإجابة في "answer" داخل كائن JSON.

- متى افتُتح جسر الميناء؟
<answer>افتُتح عام ١٩٣٢.</answer>
- من صمّم جسر الميناء؟
<answer>جون برادفيلد</answer>
السؤال: متى افتُتح جسر الميناء ومن صمّمه؟
{"answer": "افتُتح جسر الميناء عام ١٩٣٢ وصمّمه جون برادفيلد."}""",
}
MERGE_SCHEMA = object_schema(answer=text_schema(900))


def hypothesise(question: str, nth: int) -> Prompt:
    """Ask for the nth imagined passage, as plain text (Gao et al. 2022, section 3). The first sixteen all differ."""
    language = language_of(question)
    kinds, points = _KINDS_OF_TEXT[language], _POINTS[language]
    rounds, kind = divmod(nth, len(kinds))
    told = _AS_FROM[language].format(kind=kinds[kind], point=points[(kind + rounds) % len(points)])
    return Prompt("hypothesise", _HYPOTHESISE[language], f"{show_question(question, language)}\n{told}", 140)


def decompose(question: str, most: int) -> Prompt:
    """Ask for at most `most` sub-questions. Read the reply with `verdicts.read_sub_questions`."""
    language = language_of(question)
    schema = object_schema(sub_questions={**texts_schema(most, 240), "minItems": 1})
    rules = _DECOMPOSE_RULES[language].format(most=max(most, 2))
    system = f"{rules}\n\n{_DECOMPOSE_EXAMPLES[language]}"
    return Prompt("decompose", system, show_question(question, language), 240, schema)


def merge(question: str, parts: Sequence[tuple[str, str]]) -> Prompt:
    """Ask for one answer made of `parts`, pairs of a sub-question and its answer. Read with `verdicts.read_merged`."""
    language = language_of(question)
    listed = "\n".join(f"- {inert(part)}\n<answer>{inert(answer)}</answer>" for part, answer in parts)
    return Prompt("merge", _MERGE[language], f"{listed}\n{show_question(question, language)}", 400, MERGE_SCHEMA)
