"""Self-RAG's evidence and its attempts at an answer, as values: how each was graded, and which of them is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from burnish.config import ReflectionConfig
from burnish.results import Evaluation, Passage, RefinementStep
from burnish.strategies.evidence import MIN_GROUNDING, UNSUPPORTED_CEILING, accumulate, distinct, holds
from burnish.text.normalise import text_hash
from burnish.verdicts import Draft, Support

LEAST_USE = -1.0
NO_ANSWER = Draft("", "", None)
NOT_JUDGED = Evaluation()


class Correction(StrEnum):
    """What an attempt calls for."""

    NONE = "none"
    ANSWER = "answer"
    SEARCH = "search"


@dataclass(frozen=True)
class Grade:
    """relevance: how likely the passage of this chunk helps, in [0, 1]; None where that is unknown."""

    chunk_id: str
    relevance: float | None


@dataclass(frozen=True)
class Evidence:
    """The passages that help, those of unknown relevance, and the grade of every one found, by the hash of its text.

    nearest: those that may help though they are below the threshold, the best first.
    """

    limit: int
    threshold: float
    relevant: tuple[Passage, ...] = ()
    unknown: tuple[Passage, ...] = ()
    nearest: tuple[Passage, ...] = ()
    grades: Mapping[str, Grade] = field(default_factory=dict[str, Grade])

    @property
    def shown(self) -> tuple[Passage, ...]:
        """What an answer is written from, at most `limit` passages."""
        return (*self.relevant, *self.unknown)[: self.limit]

    def relevance_of(self, passage: Passage) -> float | None:
        return self.grades[text_hash(passage.text)].relevance

    def without_grade(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        return tuple(passage for passage in passages if text_hash(passage.text) not in self.grades)

    def graded(self, passages: Sequence[Passage], relevances: Sequence[float | None]) -> Evidence:
        """The evidence with the grades of these passages known."""
        news = {
            text_hash(passage.text): Grade(passage.chunk_id, relevance)
            for passage, relevance in zip(passages, relevances, strict=True)
        }
        return replace(self, grades={**self.grades, **news})

    def joined_by(self, found: Sequence[Passage]) -> Evidence:
        """The evidence with what another search found, all of it graded."""
        grades = [(passage, self.relevance_of(passage)) for passage in found]
        relevant = [passage for passage, grade in grades if grade is not None and grade >= self.threshold]
        unknown = [passage for passage, grade in grades if grade is None]
        below = [passage for passage, grade in grades if grade is not None and 0 < grade < self.threshold]
        return replace(
            self,
            relevant=accumulate(self.relevant, relevant, self.limit),
            unknown=accumulate(self.unknown, unknown, self.limit),
            nearest=self._by_grade((*self.nearest, *below)),
        )

    def or_nearest(self) -> Evidence:
        """The evidence itself; where it shows nothing, with the nearest for want of better.

        A small model's probabilities order the passages of a question well, and differ in height from one question to
        another: from .1 to .8 for passages that do help.
        """
        return self if self.shown else replace(self, relevant=self.nearest)

    def _by_grade(self, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        ordered = sorted(distinct(passages), key=lambda passage: self.relevance_of(passage) or 0.0, reverse=True)
        return tuple(ordered[: self.limit])


@dataclass(frozen=True)
class Attempt:
    """An answer, what it was written from, and its grades; a grade is None where it is unknown or was not asked for.

    relevance: mean of its passages', in [0, 1]. support: 1 wholly, .5 in part, 0 not. use: in [-1, 1].
    again: written from the passages of the attempt before it. is_sure: no grade that it needs is unknown.
    """

    number: int
    query: str
    passages: tuple[Passage, ...]
    relevance: float
    again: bool
    draft: Draft = NO_ANSWER
    evaluation: Evaluation = NOT_JUDGED
    support: float | None = None
    use: float | None = None
    correction: Correction = Correction.SEARCH
    is_sure: bool = True

    @property
    def step(self) -> RefinementStep:
        """Its audit row: relevance to the question is its use, accuracy its support."""
        return RefinementStep(self.number, self.query, self.draft.answer, self.evaluation)


def begin_attempt(number: int, query: str, evidence: Evidence, config: ReflectionConfig, *, again: bool) -> Attempt:
    """An attempt from this evidence that has no answer yet."""
    return Attempt(number, query, evidence.shown, mean_relevance(evidence, config), again)


def mean_relevance(evidence: Evidence, config: ReflectionConfig) -> float:
    """Of the passages shown: of their grades, or in mode "binary" of yes and no. An unknown grade counts as 0."""
    grades = [evidence.relevance_of(passage) or 0.0 for passage in evidence.shown]
    if config.mode == "binary":
        grades = [float(grade >= evidence.threshold) for grade in grades]
    return sum(grades) / len(grades)


def is_grounded(support: Support | None, evaluation: Evaluation, config: ReflectionConfig) -> bool:
    """Whether the judge says so, by the mode's measure, and the comparison does not say otherwise."""
    needed = 1.0 if config.mode == "binary" else 0.5
    return support is not None and support.degree >= needed and not is_contradicted(evaluation)


def is_contradicted(evaluation: Evaluation) -> bool:
    return evaluation.grounding is not None and evaluation.grounding < MIN_GROUNDING


def critique(attempt: Attempt, config: ReflectionConfig) -> float:
    """The weighted sum of the grades, in [0, 1]: the paper's critique score, brought to the range of a confidence."""
    support = 0.0 if attempt.support is None or is_contradicted(attempt.evaluation) else attempt.support
    use = LEAST_USE if attempt.use is None else attempt.use
    total = config.relevance_weight * attempt.relevance + config.support_weight * support + config.use_weight * use
    return (total + config.use_weight) / (config.relevance_weight + config.support_weight + 2 * config.use_weight)


def rank(attempt: Attempt, config: ReflectionConfig) -> tuple[bool, float, float]:
    """What orders attempts: one that holds before one that does not, then the critique, then the comparison."""
    grounding = attempt.evaluation.grounding
    return holds(attempt.draft.answer, attempt.evaluation), critique(attempt, config), grounding or 0.0


def confidence_in(attempt: Attempt, config: ReflectionConfig) -> float | None:
    """The critique, held down by the comparison, and to .2 where a check was not passed; None if a grade is unknown."""
    if not attempt.is_sure:
        return None
    grounding = attempt.evaluation.grounding
    ceiling = 1.0 if attempt.correction is Correction.NONE else UNSUPPORTED_CEILING
    return min(critique(attempt, config), ceiling, 1.0 if grounding is None else grounding)


def as_record(attempt: Attempt, config: ReflectionConfig) -> dict[str, Any]:
    """The attempt as plain data, for the trace of the answer."""
    return {
        "attempt": attempt.number,
        "query": attempt.query,
        "answer": attempt.draft.answer,
        "relevance": attempt.relevance,
        "support": attempt.support,
        "use": attempt.use,
        "grounding": attempt.evaluation.grounding,
        "unsupported": list(attempt.evaluation.issues),
        "critique": critique(attempt, config),
        "correct": attempt.correction.value,
    }
