"""Self-RAG: grade what was found, answer, check the answer against it and against the question, correct, try again.

Asai, Wu, Wang, Sil, Hajishirzi: Self-RAG, 2023 (arXiv 2310.11511), with any model asked for each grade in place of one
trained to write it. The grades, in the order in which they are asked for:

    ISREL  does a passage help? One token for each; only those that do are answered from. None does: the query is
           rewritten and searched again, and in the end those are answered from whose probability comes nearest.
    ISSUP  do the passages bear the answer out? No: it is written again from the same ones, with what they lack named.
           A yes counts only where comparison, word by word and number by number, does not contradict it.
    ISUSE  does the answer give what was asked for? Asked only of an answer that is borne out. No, or no answer in the
           passages: the query is rewritten and searched again, and what helps is added to the evidence.

Mode "binary" asks for yes or no. Mode "graded" asks for the paper's degrees; an answer borne out in part goes on to
ISUSE, and one of more than 3 in 5 is of use. `max_regenerations` and `max_rewrites` bound the two loops of a question.
In the end the best attempt is answered with, by the paper's weighted sum of the three grades (section 3.3), unless
it is refuted: a judge says "not borne out" and the evidence does not all but hold its words. Then it is withheld.

A grade that cannot be had or read is unknown, and never counts as yes. A passage of unknown relevance is not relevant:
it fills seats that relevant ones leave, and is answered from alone only where no search is left. An answer of unknown
support is not borne out, one of unknown use is of none; but nothing says what to correct, so neither is corrected, and
neither has a confidence. In the sum an unknown grade counts as the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from burnish.config import ReflectionConfig, StrategyConfig
from burnish.effects import Effect, Prompt, Strategy, note
from burnish.errors import EffectFailed
from burnish.prompts import answering, reflecting, searching, wording
from burnish.results import Answer, Evaluation
from burnish.strategies.attempts import (
    Attempt,
    Correction,
    Evidence,
    as_record,
    begin_attempt,
    confidence_in,
    is_contradicted,
    is_grounded,
    rank,
)
from burnish.strategies.evidence import abstain, ask_for, check, conclude, distinct, relevance_of, search
from burnish.text.normalise import text_hash
from burnish.verdicts import Draft, Support, read_draft, read_query, read_support, read_use

T = TypeVar("T")


def self_rag(question: str, config: StrategyConfig) -> Strategy:
    """Answer, and correct the answer or the search until both checks are passed or the retries are used up.

    With p passages found by each search, R regenerations and W rewrites: an answer takes from p + 3 calls to
    p(W + 1) + 4W + 2R + 3, and an abstention where nothing is ever found W; a reply that cannot be read is asked for
    once more, except for relevance. From 1 to W + 1 retrievals.
    """
    evidence, queries = Evidence(config.search.max_passages, config.search.relevance_threshold), [question]
    attempts: list[Attempt] = []
    try:
        while True:
            evidence = yield from look(question, queries, evidence, config)
            if evidence.relevant and (not attempts or set(attempts[-1].passages) != set(evidence.shown)):
                yield from answer_until_grounded(question, queries[-1], evidence, attempts, config.self_rag)
            if attempts and attempts[-1].correction is not Correction.SEARCH:
                break
            query = yield from rewritten(question, queries, config.self_rag)
            if query is None:
                break
            queries.append(query)
        evidence = evidence if attempts else evidence.or_nearest()
        if evidence.shown and not attempts:
            yield from answer_until_grounded(question, queries[-1], evidence, attempts, config.self_rag)
    except EffectFailed as failure:
        if not attempts:
            raise
        return best_of(question, queries, evidence, attempts, config.self_rag, stopped_by=type(failure).__name__)
    return best_of(question, queries, evidence, attempts, config.self_rag)


def look(
    question: str, queries: Sequence[str], evidence: Evidence, config: StrategyConfig
) -> Generator[Effect, Any, Evidence]:
    """The evidence with what the last query finds. No passage is graded twice."""
    found = distinct((yield from search(queries[-1], config, len(queries) - 1)))
    fresh = evidence.without_grade(found)
    relevances = yield from relevance_of(question, fresh)
    return evidence.graded(fresh, relevances).joined_by(found)


def answer_until_grounded(
    question: str, query: str, evidence: Evidence, attempts: list[Attempt], config: ReflectionConfig
) -> Generator[Effect, Any, None]:
    """Add attempts from this evidence until one is grounded, repeats the one before it, or none may be added."""
    before: Attempt | None = None
    while True:
        begun = begin_attempt(len(attempts) + 1, query, evidence, config, again=before is not None)
        attempt = yield from attempt_answer(question, begun, before, config)
        attempts.append(attempt)
        yield from note(attempt.step, boundary=True)
        has_repeated = before is not None and says_the_same(attempt.draft, before.draft)
        is_last = sum(each.again for each in attempts) >= config.max_regenerations
        if attempt.correction is not Correction.ANSWER or has_repeated or is_last:
            return
        before = attempt


def attempt_answer(
    question: str, begun: Attempt, before: Attempt | None, config: ReflectionConfig
) -> Generator[Effect, Any, Attempt]:
    """The attempt with its answer and grades. An answer that is given again keeps the grades that it had."""
    prompt = answering.answer(question, begun.passages)
    if before:
        prompt = answering.rewrite(question, begun.passages, before.step)
    draft = yield from ask_for(prompt, read_draft, question)
    if before and says_the_same(draft, before.draft):
        return replace(before, number=begun.number, again=True)
    written = replace(begun, draft=draft)
    return (yield from grade_answer(question, written, config)) if draft.answer else written


def says_the_same(draft: Draft, other: Draft) -> bool:
    return text_hash(draft.answer) == text_hash(other.answer)


def grade_answer(question: str, attempt: Attempt, config: ReflectionConfig) -> Generator[Effect, Any, Attempt]:
    """The attempt with its support known and, if it is grounded, its use."""
    draft, is_graded = attempt.draft, config.mode == "graded"
    prompt = reflecting.support(question, draft.answer, attempt.passages, graded=is_graded)
    support = yield from grade_or_unknown(prompt, read_support, question)
    evaluation = check(as_evaluation(support), draft, attempt.passages)
    degree = support.degree if support else None
    if not is_grounded(support, evaluation, config):
        return not_grounded(replace(attempt, evaluation=evaluation, support=degree), question)
    use = yield from grade_or_unknown(reflecting.use(question, draft.answer, graded=is_graded), read_use, question)
    return replace(
        attempt,
        evaluation=replace(evaluation, relevance=None if use is None else (use + 1) / 2),
        support=degree,
        use=use,
        correction=Correction.NONE if use is None or use > 0 else Correction.SEARCH,
        is_sure=use is not None,
    )


def grade_or_unknown(
    prompt: Prompt, read: Callable[[str], T | None], question: str
) -> Generator[Effect, Any, T | None]:
    """The grade; None where it cannot be had or read."""
    try:
        return (yield from ask_for(prompt, read, question))
    except EffectFailed:
        return None


def as_evaluation(support: Support | None) -> Evaluation:
    if support is None:
        return Evaluation()
    whole = {1.0: True, 0.0: False}.get(support.degree)
    return Evaluation(accuracy=support.degree, supported=whole, issues=support.unsupported)


def not_grounded(attempt: Attempt, question: str) -> Attempt:
    """The attempt with what is wrong with it; where nothing is known of that, it is not to be corrected."""
    evaluation = attempt.evaluation
    if attempt.support is None and not is_contradicted(evaluation):
        return replace(attempt, correction=Correction.NONE, is_sure=False)
    issues = evaluation.issues or (reflecting.NOT_BORNE_OUT[wording.language_of(question)],)
    return replace(
        attempt,
        evaluation=replace(evaluation, issues=issues),
        correction=Correction.ANSWER,
        is_sure=attempt.support is not None,
    )


def rewritten(question: str, queries: Sequence[str], config: ReflectionConfig) -> Generator[Effect, Any, str | None]:
    """Another query for the question; None where no search is left, or it has been searched with."""
    if len(queries) > config.max_rewrites:
        return None
    query = yield from ask_for(searching.rephrase(question, queries), read_query, question)
    return None if text_hash(query) in map(text_hash, queries) else query


def best_of(
    question: str,
    queries: Sequence[str],
    evidence: Evidence,
    attempts: Sequence[Attempt],
    config: ReflectionConfig,
    stopped_by: str | None = None,
) -> Answer:
    """The best attempt as the answer, the earliest of equals; an abstention where there is none."""
    trace: dict[str, Any] = {
        "queries": list(queries),
        "relevance": {grade.chunk_id: grade.relevance for grade in evidence.grades.values()},
        "attempts": [as_record(attempt, config) for attempt in attempts],
        **({"stopped_by": stopped_by} if stopped_by else {}),
    }
    if not attempts:
        return abstain(question, (), trace)
    best = max(attempts, key=lambda attempt: rank(attempt, config))
    trace |= {"best_attempt": best.number, "passages": len(best.passages)}
    return conclude(question, best.draft, best.evaluation, confidence_in(best, config), best.passages, trace)
