"""From a run as it was recorded to the fields of a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from burnish.adapters.passages import FoundPassage
from burnish.adapters.replies import MeteredReply
from burnish.classic.recording import Run
from burnish.classic.results import EvaluationResult, RefinementStep, Source, SubAnswer
from burnish.prompts import wording
from burnish.results import Answer, AuditRecord, Evaluation, Outcome
from burnish.results import RefinementStep as RecordedStep
from burnish.results import SubAnswer as RecordedSubAnswer

NO_EVIDENCE = "There is not enough information."
NO_ANSWER = "error in generating answer"


def answer_of(run: Run) -> Answer:
    """What the run came to, a failure as an answer that is none."""
    if isinstance(run.ending, Answer):
        return run.ending
    trace = {"stopped_by": type(run.ending).__name__} if run.ending else {}
    return Answer(wording.FAILED[wording.language_of(run.asked.question)], Outcome.FAILED, trace=trace)


def spoken(text: str, outcome: Outcome, question: str, no_evidence: str = NO_EVIDENCE) -> str:
    """The text of an answer, or the sentence by which older code knows that there is none.

    An Arabic question without an answer is told so in Arabic.
    """
    language = wording.language_of(question)
    if outcome is Outcome.SUCCEEDED:
        return text
    if outcome is Outcome.ABSTAINED:
        return wording.NO_EVIDENCE["ar"] if language == "ar" else no_evidence
    return wording.FAILED["ar"] if language == "ar" else NO_ANSWER


def facts_of(run: Run, sub_results: Sequence[Any] = ()) -> dict[str, Any]:
    """The fields that all results share."""
    answer, calls = answer_of(run), run.all_calls
    replies = [call for call in calls if isinstance(call, MeteredReply)]
    return {
        "status": answer.outcome,
        "error": None if run.ending is None or isinstance(run.ending, Answer) else told(run.ending),
        "sources": sources_of(answer),
        "llm_calls": sum(call.tries for call in calls),
        "retrieval_calls": sum(each.searches for each in run.tree()),
        "prompt_tokens": _total(reply.prompt_tokens for reply in replies),
        "completion_tokens": _total(reply.completion_tokens for reply in replies),
        "cost_usd": _total(reply.cost_usd for reply in replies),
        "elapsed_seconds": (run.ended or run.begun) - run.begun,
        "trace": dict(answer.trace),
        "sub_results": list(sub_results),
    }


def told(failure: BaseException) -> str:
    """A failure for a result: its kind, and the message that was written for the audit trail."""
    return f"{type(failure).__name__}: {failure}"


def sources_of(answer: Answer) -> list[Source]:
    return [
        Source(
            document_id=passage.document_id,
            title=passage.title,
            text=passage.text,
            score=passage.score,
            quotes=tuple(each.quote for each in answer.citations if each.chunk_id == passage.chunk_id),
            metadata=passage.metadata if isinstance(passage, FoundPassage) else {},
        )
        for passage in answer.evidence
    ]


def steps_of(run: Run) -> list[RefinementStep]:
    """The iterations of this run alone."""
    return [step_of(record) for record in run.recorded(RecordedStep)]


def step_of(record: RecordedStep) -> RefinementStep:
    return RefinementStep(record.iteration, record.answer, _evaluation_of(record.evaluation), record.query)


def sub_answers_of(run: Run) -> list[SubAnswer]:
    """The answers to the parts, in their order; of a run that broke off, those that were begun."""
    recorded = run.recorded(RecordedSubAnswer)
    return [sub_answer_of(record) for record in recorded] if recorded else [_begun(part) for part in run.parts]


def _begun(part: Run) -> SubAnswer:
    answer, question = answer_of(part), part.asked.question
    text = spoken(answer.text, answer.outcome, question)
    return SubAnswer(question, text, part.asked.depth, answer.outcome, answer.confidence or 0.0)


def sub_answer_of(record: RecordedSubAnswer) -> SubAnswer:
    text = spoken(record.answer, record.outcome, record.question)
    return SubAnswer(record.question, text, record.depth, record.outcome, record.confidence or 0.0)


def public_record(record: AuditRecord) -> Any:
    """An audit record in the form in which results have it."""
    match record:
        case RecordedStep():
            return step_of(record)
        case RecordedSubAnswer():
            return sub_answer_of(record)
        case _:
            return record


def _evaluation_of(evaluation: Evaluation) -> EvaluationResult:
    return EvaluationResult(
        relevance=evaluation.relevance,
        accuracy=evaluation.accuracy,
        completeness=evaluation.completeness,
        clarity=evaluation.clarity,
        issues=list(evaluation.issues),
        suggestions=list(evaluation.suggestions),
        supported=evaluation.supported,
        grounding=evaluation.grounding,
    )


def _total(amounts: Iterable[Any]) -> Any:
    """Their sum; None where one of them is not known, for a part of a sum is no sum."""
    known = list(amounts)
    return None if None in known else sum(known)
