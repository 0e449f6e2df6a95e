"""Recursive decomposition: take a question apart, answer the parts (each perhaps taken apart again), put them together.

A part may need the answer of an earlier one; it then says `#1` in its place. Parts that need nothing are answered
together, and the others after those they need. A part equal to the question, to one above it or to another part is not
asked again. `max_depth` and `max_nodes` bound the tree; every child is told its share.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from burnish.config import RecursiveConfig, StrategyConfig
from burnish.effects import Effect, Strategy, Subquestion, answer_together, note
from burnish.errors import EffectFailed
from burnish.prompts import planning
from burnish.results import Answer, Citation, Outcome, Passage, SubAnswer
from burnish.strategies.direct import direct
from burnish.strategies.evidence import MIN_GROUNDING, abstain, ask_for, distinct
from burnish.strategies.hyde import hyde
from burnish.strategies.self_irag import self_irag
from burnish.text.language import detect_language
from burnish.text.normalise import fold, words
from burnish.text.quotes import grounding
from burnish.verdicts import read_object, read_sub_questions

LEAVES = {"direct": direct, "self_irag": self_irag, "hyde": hyde}
MIN_PART_LENGTH = 4
_REFERENCE = re.compile(r"#(\d+)")

PartResult = Answer | EffectFailed


def recursive(question: str, config: StrategyConfig, depth: int = 0, ancestors: tuple[str, ...] = ()) -> Strategy:
    """Answer a compound question from the answers to its parts, and any other by the configured leaf strategy."""
    parts: tuple[str, ...] = ()
    if may_split(question, config.recursive, depth):
        parts = yield from split(question, config.recursive, ancestors)
    if len(parts) < 2:
        return (yield from LEAVES[config.recursive.leaf](question, config))
    lineage = (*ancestors, canonical(question))
    answers = yield from answer_parts(parts, share(config, len(parts)), depth + 1, lineage)
    yield from note(*(sub_answer(n, part, answer, depth + 1) for n, (part, answer) in enumerate(answers)))
    return (yield from put_together(question, answers, depth))


def may_split(question: str, config: RecursiveConfig, depth: int) -> bool:
    return depth < config.max_depth and config.max_nodes > 2 and is_complex(question, config)


def is_complex(question: str, config: RecursiveConfig) -> bool:
    """Long enough, and holding at least two different keywords as whole words.

    The Arabic conjunction و is written onto the word that follows it, so as a keyword it counts there.
    """
    if len(question) < config.min_query_length:
        return False
    keywords = {fold(keyword) for keyword in config.complexity_keywords}
    found: set[str] = set()
    for word in words(question):
        joined = len(word) > 3 and word[0] == "و" and "و" in keywords
        found |= {word, word[1:], "و"} & keywords if joined else {word} & keywords
    return len(found) >= 2


def split(question: str, config: RecursiveConfig, ancestors: Sequence[str]) -> Generator[Effect, Any, tuple[str, ...]]:
    """The parts worth asking; none where the question cannot be taken apart."""
    prompt = planning.decompose(question, config.max_sub_questions)
    try:
        parts = yield from ask_for(prompt, lambda text: read_sub_questions(text) or None, question)
    except EffectFailed:
        return ()
    return worth_asking(parts or (), question, config, ancestors)


def worth_asking(
    parts: Sequence[str], question: str, config: RecursiveConfig, ancestors: Sequence[str]
) -> tuple[str, ...]:
    """The parts without repetitions, capped. A reference to a part that is left out makes the plan void."""
    seen = {canonical(question), *ancestors}
    kept: dict[str, str] = {}
    for part in parts[: min(config.max_sub_questions, config.max_nodes - 1)]:
        key = canonical(part)
        if len(part) >= MIN_PART_LENGTH and key not in seen and key not in kept:
            kept[key] = part
    plan = tuple(kept.values())
    whole = len(plan) == len(parts) or not any(_REFERENCE.search(part) for part in plan)
    return plan if whole and all(_is_ordered(part, position) for position, part in enumerate(plan)) else ()


def _is_ordered(part: str, position: int) -> bool:
    return all(1 <= int(reference) <= position for reference in _REFERENCE.findall(part))


def canonical(question: str) -> str:
    """The question's words alone, so that case, spelling and punctuation make no new question."""
    return " ".join(words(question))


def share(config: StrategyConfig, parts: int) -> StrategyConfig:
    """The configuration of each part: its own share of the nodes that are left."""
    nodes = (config.recursive.max_nodes - 1) // parts
    return replace(config, recursive=replace(config.recursive, max_nodes=max(nodes, 1)))


def answer_parts(
    parts: Sequence[str], config: StrategyConfig, depth: int, ancestors: tuple[str, ...]
) -> Generator[Effect, Any, list[tuple[str, PartResult]]]:
    """Each part as it was asked, with its answer, in order; parts that depend on none of the rest go together."""
    done: dict[int, tuple[str, PartResult]] = {}
    while len(done) < len(parts):
        ready = [n for n, part in enumerate(parts) if n not in done and _needs(part) <= done.keys()]
        asked = {n: fill_in(parts[n], done) for n in ready}
        askable = {n: text for n, text in asked.items() if text is not None}
        answers = yield from answer_together(
            Subquestion(text, "recursive", config, depth, ancestors) for text in askable.values()
        )
        done |= {n: (text, answer) for (n, text), answer in zip(askable.items(), answers, strict=True)}
        done |= {n: (parts[n], abstain(parts[n], (), {})) for n in ready if n not in askable}
    return [done[n] for n in range(len(parts))]


def _needs(part: str) -> set[int]:
    return {int(reference) - 1 for reference in _REFERENCE.findall(part)}


def fill_in(part: str, done: dict[int, tuple[str, PartResult]]) -> str | None:
    """The part with earlier answers in place of its references; None where one of those has no answer."""
    for n in _needs(part):
        answer = done[n][1]
        if not has_answer(answer):
            return None
        part = re.sub(rf"#{n + 1}(?!\d)", lambda _, text=answer.text: text.rstrip(" ."), part)
    return part


def has_answer(answer: PartResult) -> TypeGuard[Answer]:
    return isinstance(answer, Answer) and answer.outcome is Outcome.SUCCEEDED


def sub_answer(position: int, question: str, answer: PartResult, depth: int) -> SubAnswer:
    if isinstance(answer, EffectFailed):
        return SubAnswer(position, question, "", depth, Outcome.FAILED, None)
    return SubAnswer(position, question, answer.text, depth, answer.outcome, answer.confidence)


def put_together(question: str, answers: Sequence[tuple[str, PartResult]], depth: int) -> Strategy:
    """One answer from those of the parts. With none to put together it abstains, or fails as the parts did."""
    found = [(part, answer) for part, answer in answers if has_answer(answer)]
    trace: dict[str, Any] = {
        "decomposed": True,
        "depth": depth,
        "sub_questions": [part for part, _ in answers],
        "answered": len(found),
    }
    evidence = distinct([passage for _, answer in found for passage in answer.evidence])
    if not found:
        for _, answer in answers:
            if isinstance(answer, EffectFailed):
                raise answer
        return abstain(question, evidence, trace)
    merged = yield from merge(question, [(part, answer.text) for part, answer in found])
    text = merged or in_turn([answer for _, answer in found])
    trace["merged_by"] = "model" if merged else "concatenation"
    return _as_answer(text, [answer for _, answer in found], evidence, trace)


def merge(question: str, parts: Sequence[tuple[str, str]]) -> Generator[Effect, Any, str | None]:
    """The model's merged answer; None where it cannot be had, or says what the parts do not."""
    try:
        text = yield from ask_for(planning.merge(question, parts), _read_merged, question)
    except EffectFailed:
        return None
    if text is None:
        return None
    borne_out = grounding(text, [f"{part} {answer}" for part, answer in parts], detect_language(text))
    return text if borne_out is None or borne_out >= MIN_GROUNDING else None


def _read_merged(text: str) -> str | None:
    value = (read_object(text) or {}).get("answer")
    return value.strip() or None if isinstance(value, str) else None


def in_turn(answers: Sequence[Answer]) -> str:
    return "\n\n".join(answer.text for answer in answers)


def _as_answer(text: str, parts: Sequence[Answer], evidence: tuple[Passage, ...], trace: dict[str, Any]) -> Answer:
    known = [answer.confidence for answer in parts if answer.confidence is not None]
    confidence = min(known) if len(known) == len(parts) else None
    citations: dict[Citation, None] = dict.fromkeys(citation for answer in parts for citation in answer.citations)
    return Answer(text, Outcome.SUCCEEDED, confidence, evidence, tuple(citations), trace)
