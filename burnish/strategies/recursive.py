"""Recursive decomposition: take a question apart, answer the parts (each perhaps taken apart again), put them together.

A part may need the answer of an earlier one; it then says `#1` in its place. Parts that need nothing are answered
together, and the others after those they need. A part equal to the question, to one above it or to another part is not
asked again. `max_depth` and `max_nodes` bound the tree; every child is told its share.

The merged answer is a new text that no judge has scored. It is compared with the answers it was made from, and is
trusted no further than they are, than it agrees with them, and than the share of the parts that has an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from burnish.config import RecursiveConfig, StrategyConfig
from burnish.effects import Effect, Strategy, Subquestion, answer_together, note
from burnish.errors import EffectFailed
from burnish.prompts import planning
from burnish.results import Answer, Citation, Outcome, Passage, SubAnswer
from burnish.strategies.cues import is_complex
from burnish.strategies.direct import direct
from burnish.strategies.evidence import MIN_GROUNDING, abstain, ask_for, distinct
from burnish.strategies.hyde import hyde
from burnish.strategies.multi_hop import multi_hop
from burnish.strategies.self_irag import self_irag
from burnish.strategies.self_rag import self_rag
from burnish.text.language import detect_language
from burnish.text.normalise import words
from burnish.text.quotes import grounding
from burnish.verdicts import read_merged, read_sub_questions

LEAVES: dict[str, Callable[[str, StrategyConfig], Strategy]] = {
    "direct": direct,
    "self_irag": self_irag,
    "hyde": hyde,
    "self_rag": self_rag,
    "multi_hop": multi_hop,
}
MIN_PART_LENGTH = 4
_REFERENCE = re.compile(r"#(\d{1,3})(?!\d)")

PartResult = Answer | EffectFailed


def recursive(question: str, config: StrategyConfig, depth: int = 0, ancestors: tuple[str, ...] = ()) -> Strategy:
    """Answer a compound question from the answers to its parts, and any other by the configured leaf strategy.

    A simple question takes what its leaf takes. One that is taken apart takes two calls (plan and merge) and what its
    parts take; one whose plan comes to nothing a call and its leaf's. No more than `max_nodes` questions are asked in
    all, so no more than `max_nodes` times the retrievals of a leaf, and its calls and two. A plan or merge that cannot
    be read is asked for once more.
    """
    parts: tuple[str, ...] = ()
    if may_split(question, config.recursive, depth):
        parts = yield from split(question, config.recursive, ancestors)
    if len(parts) < 2:
        return (yield from LEAVES[config.recursive.leaf](question, config))
    lineage = (*ancestors, canonical(question))
    answers = yield from answer_parts(parts, share(config, len(parts)), depth + 1, lineage)
    yield from note(*(sub_answer(n, part, answer, depth + 1) for n, (part, answer) in enumerate(answers)))
    return (yield from put_together(question, parts, answers, depth))


def may_split(question: str, config: RecursiveConfig, depth: int) -> bool:
    return depth < config.max_depth and config.max_nodes > 2 and is_complex(question, config)


def split(question: str, config: RecursiveConfig, ancestors: Sequence[str]) -> Generator[Effect, Any, tuple[str, ...]]:
    """The parts worth asking; none where the question cannot be taken apart."""
    prompt = planning.decompose(question, config.max_sub_questions)
    try:
        parts = yield from ask_for(prompt, read_sub_questions, question)
    except EffectFailed:
        return ()
    return worth_asking(parts, question, config, ancestors)


def worth_asking(
    parts: Sequence[str], question: str, config: RecursiveConfig, ancestors: Sequence[str]
) -> tuple[str, ...]:
    """The parts without repetitions, the first of them up to the cap.

    Where parts refer to others, a part left out before the cap would shift what they refer to, and a `#1` of the
    question's own would be taken for one of theirs: such a plan is void.
    """
    seen = {"", canonical(question), *ancestors}
    kept: dict[str, str] = {}
    for part in parts:
        key = canonical(part)
        if len(part) >= MIN_PART_LENGTH and key not in seen:
            kept.setdefault(key, part)
    plan = tuple(kept.values())[: min(config.max_sub_questions, config.max_nodes - 1)]
    is_plain = len(kept) == len(parts) and not _REFERENCE.search(question)
    return plan if all(_is_ordered(part, n, is_plain) for n, part in enumerate(plan)) else ()


def _is_ordered(part: str, position: int, is_plain: bool) -> bool:
    """Whether all that the part needs stands before it."""
    return all(is_plain and 0 <= needed < position for needed in _needs(part))


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
        askable = {n: text for n, text in asked.items() if text is not None and canonical(text) not in ancestors}
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
    known = {n: answer.text.strip(" .") for n in _needs(part) if has_answer(answer := done[n][1])}
    if known.keys() != _needs(part):
        return None
    return _REFERENCE.sub(lambda reference: known[int(reference[1]) - 1], part)


def has_answer(answer: PartResult) -> TypeGuard[Answer]:
    return isinstance(answer, Answer) and answer.outcome is Outcome.SUCCEEDED


def sub_answer(position: int, question: str, answer: PartResult, depth: int) -> SubAnswer:
    if isinstance(answer, EffectFailed):
        return SubAnswer(position, question, "", depth, Outcome.FAILED, None)
    return SubAnswer(position, question, answer.text, depth, answer.outcome, answer.confidence)


def put_together(
    question: str, parts: Sequence[str], answers: Sequence[tuple[str, PartResult]], depth: int
) -> Strategy:
    """One answer from those of the parts. With too few to make one it abstains, or fails as the parts did.

    parts: as they were planned. answers: each with its part as it was asked, its references filled in.
    """
    found = [(part, answer) for part, answer in answers if has_answer(answer)]
    trace: dict[str, Any] = {
        "decomposed": True,
        "depth": depth,
        "sub_questions": [part for part, _ in answers],
        "answered": len(found),
    }
    evidence = distinct([passage for _, answer in found for passage in answer.evidence])
    if not reaches_the_end(parts, answers):
        for _, answer in answers:
            if isinstance(answer, EffectFailed):
                raise answer
        return abstain(question, evidence, trace)
    texts = [(part, answer.text) for part, answer in found]
    merged = yield from merge(question, texts)
    trace["merged_by"] = "model" if merged else "concatenation"
    text = merged or in_turn([answer for _, answer in found])
    ceiling = min(agreement(text, question, texts), len(found) / len(answers))
    return _as_answer(text, [answer for _, answer in found], ceiling, evidence, trace)


def reaches_the_end(parts: Sequence[str], answers: Sequence[tuple[str, PartResult]]) -> bool:
    """Whether there are answers to make one of, and not only those of parts that others were to build upon."""
    answered = [part for part, (_, answer) in zip(parts, answers, strict=True) if has_answer(answer)]
    builds_up = any(_needs(part) for part in parts)
    return any(_needs(part) for part in answered) if builds_up else bool(answered)


def merge(question: str, parts: Sequence[tuple[str, str]]) -> Generator[Effect, Any, str | None]:
    """The model's merged answer; None where it cannot be had, or says what the parts do not."""
    try:
        text = yield from ask_for(planning.merge(question, parts), read_merged, question)
    except EffectFailed:
        return None
    return text if agreement(text, question, parts) >= MIN_GROUNDING else None


def agreement(text: str, question: str, parts: Sequence[tuple[str, str]]) -> float:
    """The share of a text, in [0, 1], whose words were asked or answered; 1 where that cannot be told."""
    spoken = [question, *(f"{part} {answer}" for part, answer in parts)]
    share = grounding(text, spoken, detect_language(text))
    return 1.0 if share is None else share


def in_turn(answers: Sequence[Answer]) -> str:
    return "\n\n".join(answer.text for answer in answers)


def _as_answer(
    text: str, parts: Sequence[Answer], ceiling: float, evidence: tuple[Passage, ...], trace: dict[str, Any]
) -> Answer:
    known = [answer.confidence for answer in parts if answer.confidence is not None]
    confidence = min(*known, ceiling) if len(known) == len(parts) else None
    citations: dict[Citation, None] = dict.fromkeys(citation for answer in parts for citation in answer.citations)
    return Answer(text, Outcome.SUCCEEDED, confidence, evidence, tuple(citations), trace)
