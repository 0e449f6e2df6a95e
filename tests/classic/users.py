"""A user's own objects: documents in memory, and a language model that answers by rules.

Nothing here knows burnish: the model tells what is wanted by the JSON schema in the prompt, as any model would.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# A reply, an exception to raise, a list of either, said in turn, or a function of the prompt.
Rule: TypeAlias = str | dict[str, Any] | BaseException | list[Any] | Callable[[str], Any] | None

SCORES = ("relevance", "accuracy", "completeness", "clarity")
PASSAGE = re.compile(r"<passage [^>]*>\n(.*?)\n</passage>", re.DOTALL)
LONG_ENOUGH = "An imagined passage that is longer than forty characters: "


def draft(answer: str, quote: str = "", supported: Any = "yes", **more: Any) -> str:
    return json.dumps({"quote": quote, "answer": answer, "supported": supported, **more}, ensure_ascii=False)


def scores(each: float) -> dict[str, float]:
    return dict.fromkeys(SCORES, each)


def judged(answer: str, each: float, quote: str = "", **more: Any) -> str:
    """An answer with its evaluation, as fast mode wants them; scores as shares of one."""
    return draft(answer, quote, **scores(each), **more)


def judgement(each: float, supported: str = "yes", **more: Any) -> str:
    return json.dumps({"context_says": "", "supported": supported, **scores(each), **more})


def sufficiency(sufficient: str, next_query: str = "", missing: str = "") -> str:
    return json.dumps({"known": "", "sufficient": sufficient, "missing": missing, "next_query": next_query})


def parts(*questions: str) -> str:
    return json.dumps({"sub_questions": questions}, ensure_ascii=False)


# By the first of these names that the wanted reply has.
KINDS = {
    "sub_questions": "parts",
    "quote": "answer",
    "unsupported": "support",
    "useful": "use",
    "utility": "use",
    "sufficient": "sufficiency",
    "query": "query",
    "relevance": "judge",
    "answer": "merge",
}


def kind_of(prompt: str) -> str:
    """What a prompt wants, by its schema: one of KINDS, or "fast" for an answer with its scores.

    Without a schema it is plain text: "relevance" for one word, "thought" for a sentence, "passage" for the rest.
    """
    schema = re.search(r"of this schema: (\{.*\})", prompt)
    if schema is None:
        return "relevance" if "one word" in prompt else "thought" if "Next sentence:" in prompt else "passage"
    wanted = set(json.loads(schema[1])["properties"])
    if {"quote", "relevance"} <= wanted:
        return "fast"
    return next(kind for name, kind in KINDS.items() if name in wanted)


def asked_in(prompt: str) -> str:
    """The part of a prompt that is about this question, without instructions and examples."""
    return prompt.rpartition("of this schema: ")[2]


def best_passage(prompt: str) -> str:
    """The one that stands next to the question."""
    found = PASSAGE.findall(asked_in(prompt))
    return found[-1] if found else ""


class Speaker:
    """A language model. What no rule is given for it answers with the best passage it is shown, sure of itself."""

    def __init__(self, **rules: Rule) -> None:
        self.prompts: list[str] = []
        self._rules = {kind: _in_turn(rule) for kind, rule in {**self._usual(), **rules}.items()}

    @property
    def kinds(self) -> list[str]:
        return [kind_of(prompt) for prompt in self.prompts]

    def shown(self, kind: str) -> list[str]:
        return [asked_in(prompt) for prompt in self.prompts if kind_of(prompt) == kind]

    def generate(self, prompt: str) -> Any:
        self.prompts.append(prompt)
        said = self._rules[kind_of(prompt)](prompt)
        if isinstance(said, BaseException):
            raise said
        return said

    def _usual(self) -> dict[str, Rule]:
        return {
            "fast": lambda prompt: draft(best_passage(prompt), best_passage(prompt), **scores(5)),
            "answer": lambda prompt: draft(best_passage(prompt), best_passage(prompt)),
            "judge": judgement(5),
            "relevance": "yes",
            "support": json.dumps({"context_says": "", "supported": "yes", "unsupported": []}),
            "use": json.dumps({"asked": "", "useful": "yes"}),
            "sufficiency": sufficiency("yes"),
            "query": json.dumps({"query": "another query"}),
            "parts": parts(),
            "merge": lambda prompt: json.dumps(
                {"answer": " ".join(re.findall(r"<answer>(.*?)</answer>", asked_in(prompt)))}
            ),
            "passage": lambda prompt: LONG_ENOUGH + str(len(prompt)),
        }


class AsyncSpeaker(Speaker):
    """A language model with both forms; the blocking one must not be called by those who can await."""

    def __init__(self, **rules: Rule) -> None:
        super().__init__(**rules)
        self.awaited = 0
        self.in_flight = 0
        self.most_in_flight = 0

    async def generate_async(self, prompt: str) -> Any:
        self.awaited += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.in_flight -= 1
        return super().generate(prompt)

    def generate(self, prompt: str) -> Any:
        raise AssertionError(f"not awaited: {prompt[:50]}")


class Shelf:
    """Documents in memory. Without a search of its own it finds all of them for every query, in the order added."""

    def __init__(self, *texts: str, finds: Any = None) -> None:
        self.documents: list[dict[str, Any]] = []
        self.queries: list[str] = []
        self.top_ks: list[int] = []
        self._finds: Any = finds
        for text in texts:
            self.add_document(text, {})

    def add_document(self, text: str, metadata: Mapping[str, Any]) -> int:
        self.documents.append({"text": text, "metadata": dict(metadata), "score": 1 / (len(self.documents) + 1)})
        return len(self.documents)

    def retrieve(self, query: str, top_k: int) -> Any:
        self.queries.append(query)
        self.top_ks.append(top_k)
        if self._finds is None:
            return self.documents[:top_k]
        found = self._finds(query) if callable(self._finds) else self._finds
        if isinstance(found, BaseException):
            raise found
        return found


class Pauses:
    """A sleep that does not wait, and remembers how long it should have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def _in_turn(rule: Rule) -> Callable[[str], Any]:
    if callable(rule):
        return rule
    said: list[Any] = [*rule] if isinstance(rule, list) else [rule]
    return lambda _prompt: said.pop(0) if len(said) > 1 else said[0]
