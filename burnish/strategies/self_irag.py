"""SelfIRAG: retrieve, answer, judge; while the answer falls short, search and write again with what the judge missed.

Each iteration ends with a RefinementStep. The best one wins, and what is returned is the very text that was judged: a
rewrite is a candidate of the next iteration, and is judged there before it can win. A step that could not be judged
never beats one that was. Refinement leans on evidence (new passages, named faults), since self-criticism without any
lowers accuracy (Huang et al. 2023, arXiv 2310.01798).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.config import SelfIRAGConfig, StrategyConfig
from burnish.effects import Ask, Effect, Strategy, ask, note
from burnish.errors import EffectFailed
from burnish.prompts import answering, judging
from burnish.results import Answer, Evaluation, Passage, RefinementStep
from burnish.strategies.evidence import abstain, accumulate, ask_for, check, conclude, distinct, find, holds
from burnish.verdicts import Draft, read_draft, read_evaluation


@dataclass(frozen=True)
class Candidate:
    """An answer with its judgement and the passages it was written from."""

    step: RefinementStep
    draft: Draft
    passages: tuple[Passage, ...]

    @property
    def rank(self) -> tuple[bool, float]:
        """What orders candidates: one that holds before one that does not, and any known score before none."""
        confidence = self.step.confidence
        return holds(self.draft.answer, self.step.evaluation), -1.0 if confidence is None else confidence


def self_irag(question: str, config: StrategyConfig) -> Strategy:
    """Answer and improve until the confidence reaches its threshold or the iterations run out.

    For n iterations it takes from 1 to n calls in fast mode and from 2 to 2n without, and as many searches as
    iterations; without early stopping always the most, unless an iteration has nothing to lean on. Where nothing is
    found it takes no call, and a reply that cannot be read costs one or two more.
    """
    candidates: list[Candidate] = []
    passages: tuple[Passage, ...] = ()
    query: str | None = question
    while query is not None and len(candidates) < config.self_irag.max_refinement_iterations:
        try:
            passages = yield from look_further(query, passages, config, len(candidates))
            candidate = yield from iterate(question, query, passages, candidates, config.self_irag)
        except EffectFailed as failure:
            if not candidates:
                raise
            return best_of(question, candidates, stopped_by=type(failure).__name__)
        candidates.append(candidate)
        yield from note(candidate.step, boundary=True)
        query = next_query(question, candidate, config.self_irag)
    return best_of(question, candidates)


def look_further(
    query: str, before: Sequence[Passage], config: StrategyConfig, earlier: int
) -> Generator[Effect, Any, tuple[Passage, ...]]:
    found = yield from find(query, config, earlier)
    return accumulate(before, distinct(found), config.search.max_passages)


def iterate(
    question: str,
    query: str,
    passages: tuple[Passage, ...],
    candidates: Sequence[Candidate],
    config: SelfIRAGConfig,
) -> Generator[Effect, Any, Candidate]:
    """One candidate, judged. With no passages nothing is asked: there is no answer without evidence."""
    before = candidates[-1].step if candidates and config.enable_answer_refinement else None
    before = before if before and before.answer else None  # nothing cannot be improved
    draft, evaluation = Draft("", "", None), Evaluation()
    if passages:
        write = write_and_judge if config.fast_mode else write_then_judge
        draft, evaluation = yield from write(question, passages, before)
    step = RefinementStep(len(candidates) + 1, query, draft.answer, evaluation)
    return Candidate(step, draft, passages)


def write_and_judge(
    question: str, passages: Sequence[Passage], before: RefinementStep | None
) -> Generator[Effect, Any, tuple[Draft, Evaluation]]:
    """Fast mode: one call for both. Whichever of the two cannot be read is asked for alone."""
    reply = yield from ask(Ask(answering.answer_and_judge(question, passages, before)))
    draft, evaluation = read_draft(reply.text), read_evaluation(reply.text)
    if draft is None or (evaluation is None and reply.truncated):
        return (yield from write_then_judge(question, passages, before))
    if draft.answer and (evaluation is None or evaluation.confidence is None):
        evaluation = yield from judge(question, draft, passages)
    return draft, of_draft(evaluation or Evaluation(), draft, passages)


def write_then_judge(
    question: str, passages: Sequence[Passage], before: RefinementStep | None
) -> Generator[Effect, Any, tuple[Draft, Evaluation]]:
    """Two calls: the answer, and a judgement of it where there is one to judge."""
    prompt = answering.rewrite(question, passages, before) if before else answering.answer(question, passages)
    draft = yield from ask_for(prompt, read_draft, question)
    evaluation = Evaluation(supported=draft.supported)
    if draft.answer:
        evaluation = yield from judge(question, draft, passages)
    return draft, of_draft(evaluation, draft, passages)


def judge(question: str, draft: Draft, passages: Sequence[Passage]) -> Generator[Effect, Any, Evaluation]:
    """A judgement of the answer; the draft's own word and no scores where the judge cannot be had or read."""
    prompt = judging.judge(question, draft.answer, passages)
    try:
        return (yield from ask_for(prompt, read_evaluation, question))
    except EffectFailed:
        return Evaluation(supported=draft.supported)


def of_draft(evaluation: Evaluation, draft: Draft, passages: Sequence[Passage]) -> Evaluation:
    """The evaluation, compared with the passages. Of no answer nothing is kept but what to look for."""
    if not draft.answer:
        return Evaluation(supported=evaluation.supported, issues=evaluation.issues, suggestions=evaluation.suggestions)
    return check(evaluation, draft, passages)


def next_query(question: str, candidate: Candidate, config: SelfIRAGConfig) -> str | None:
    """What to search with next; None when the answer is good enough or a further iteration has nothing to lean on."""
    evaluation = candidate.step.evaluation
    confidence = evaluation.confidence
    if config.early_stopping and confidence is not None and confidence >= config.confidence_threshold:
        return None
    suggestions = evaluation.suggestions[:2] if config.enable_retrieval_refinement else ()
    query = " ".join((question, *suggestions))
    has_faults = confidence is not None or evaluation.supported is False or bool(evaluation.issues)
    can_rewrite = config.enable_answer_refinement and candidate.draft.answer and has_faults
    return query if can_rewrite or query != candidate.step.query else None


def best_of(question: str, candidates: Sequence[Candidate], stopped_by: str | None = None) -> Answer:
    """The best candidate as the answer, the earliest of equals."""
    best = max(candidates, key=lambda candidate: candidate.rank)
    trace = {
        "iterations": len(candidates),
        "best_iteration": best.step.iteration,
        "initial_confidence": candidates[0].step.confidence,
        "final_confidence": candidates[-1].step.confidence,
        **({"stopped_by": stopped_by} if stopped_by else {}),
    }
    if not best.passages:
        return abstain(question, (), trace)
    return conclude(question, best.draft, best.step.evaluation, best.step.confidence, best.passages, trace)
