"""Other ways to ask the same question, so that a search finds what is worded differently.

The language model is asked for rephrasings; where it gives too few, a table of synonyms fills up. All are in the
language of the question: an Arabic word in an English question finds nothing and pushes out what would.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from burnish.errors import InvalidInput
from burnish.prompts.wording import PromptLanguage, inert, language_of
from burnish.rag_system.config import is_whole
from burnish.rag_system.flow import Flow, arun, run
from burnish.rag_system.speaking import speak
from burnish.rag_system.synonyms import replacements
from burnish.text.normalise import fold, words
from burnish.verdicts import read_sub_questions

logger = logging.getLogger(__name__)

MAX_CHARACTERS = 400
_HINTS = {"max_tokens": 300, "temperature": 0.3}
_PROMPTS = {
    "en": """Rephrase the search query below in {count} different ways. Keep its meaning and its language, and keep \
every name and number; use other words where a document might. Write each rephrasing on a line of its own, without \
numbers and without any other text.

Query: {query}""",
    "ar": """أعد صياغة عبارة البحث التالية بعدد {count} من الصيغ المختلفة. حافظ على المعنى وعلى اللغة العربية وعلى كل \
اسم ورقم، واستعمل كلمات أخرى قد ترد في الوثائق. اكتب كل صيغة في سطر مستقل دون ترقيم ودون أي نص آخر.

عبارة البحث: {query}""",
}
_NUMBER: Final = re.compile(r"\(?(\d{1,2})\s*[.):\-–]\s+")
_BULLET: Final = re.compile(r"[-*•–]\s+")
_LABEL: Final = re.compile(
    r"(?:variant|version|query|rephrasing|alternative|option|صيغة|بديل|الصيغة|البديل)\s*\d*\s*[:：]\s*", re.IGNORECASE
)
_PREAMBLE: Final = re.compile(
    r"(?:sure|certainly|of course|okay|ok|here (?:are|is)|these are|below are|i hope|let me know|note)\b"
    r"|بالتأكيد|بالطبع|إليك|فيما يلي|هذه (?:بعض|هي)|ملاحظة",
    re.IGNORECASE,
)


class QueryExpander:
    """Gives a question and up to `max_variants` other wordings of it.

    llm: any language model; None, or use_llm=False, for synonyms alone. fallback_synonyms: fill up from the table.
    """

    def __init__(
        self, llm: Any = None, max_variants: int = 3, use_llm: bool = True, fallback_synonyms: bool = True
    ) -> None:
        if not is_whole(max_variants, 0):
            raise InvalidInput("max_variants must be a whole number, 0 or more")
        self.llm = llm
        self.max_variants = max_variants
        self.use_llm = use_llm and llm is not None
        self.fallback_synonyms = fallback_synonyms

    def expand(self, query: str) -> list[str]:
        """The question itself, then its variants. It does not raise: a model that fails is done without."""
        return run(self.expanding(query))

    async def aexpand(self, query: str) -> list[str]:
        return await arun(self.expanding(query))

    def expanding(self, query: str) -> Flow[list[str]]:
        if not query.strip() or self.max_variants == 0:
            return [query]
        candidates = (yield from self._rephrased(query)) if self.use_llm else []
        if self.fallback_synonyms:
            candidates = [*candidates, *replacements(query)]
        return [query, *self._distinct(query, candidates)]

    def _rephrased(self, query: str) -> Flow[list[str]]:
        language = language_of(query)
        prompt = _PROMPTS[language].format(count=self.max_variants, query=inert(query))
        try:
            said = yield from speak(self.llm, prompt, hints=_HINTS)
        except Exception as error:
            logger.warning("the question is not rephrased: the language model raised %s", type(error).__name__)
            return []
        return list(read_variants(said, language))

    def _distinct(self, query: str, candidates: Iterable[str]) -> list[str]:
        seen = {fold(query): query}
        for candidate in candidates:
            if len(seen) <= self.max_variants:
                seen.setdefault(fold(candidate), candidate)
        return list(seen.values())[1:]


def read_variants(said: str, language: PromptLanguage) -> Iterator[str]:
    """The rephrasings in a reply: a line each, or JSON. What is said around them, and other languages, are left out."""
    text = said.rpartition("</think>")[2]
    from_json = read_sub_questions(text) if text.lstrip(" \n`json").startswith(("[", "{")) else None
    for line in from_json if from_json is not None else _lines(text):
        if words(line) and len(line) <= MAX_CHARACTERS and language_of(line) == language:
            yield line


def _lines(text: str) -> Iterator[str]:
    expected = 1
    for position, raw in enumerate(filter(str.strip, text.splitlines()), start=1):
        line, is_numbered = _unnumbered(raw.strip().strip("*_").strip(), {expected, position})
        expected += is_numbered
        line = _LABEL.sub("", _BULLET.sub("", line, count=1), count=1).strip(" \t\"'“”«»*_`")
        if line and not line.endswith((":", "：")) and not _PREAMBLE.match(line):
            yield line


def _unnumbered(line: str, expected: Collection[int]) -> tuple[str, bool]:
    """The line without a number that counts lines: "2023 revenue" and "24. December" begin with no such number."""
    number = _NUMBER.match(line)
    if number is None or int(number[1]) not in expected:
        return line, False
    return line[number.end() :], True
