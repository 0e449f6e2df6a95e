"""What the strategies share: finding evidence, answering from it, and checking an answer against it.

A model's word for its own answer is not taken alone. Its quote counts only if it stands verbatim in a passage, and its
answer is compared with the passages, word by word and number by number; neither asks a model.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from burnish.config import SearchConfig, StrategyConfig
from burnish.effects import Ask, Effect, Prompt, Reply, Retrieve, SearchQuery, Strategy, ask, ask_together, retrieve
from burnish.errors import EffectFailed, ReplyUnreadable
from burnish.prompts import answering, judging, wording
from burnish.results import Answer, Citation, Evaluation, Outcome, Passage
from burnish.strategies.imagining import imagined_search
from burnish.text.fusion import reciprocal_rank_fusion
from burnish.text.language import detect_language
from burnish.text.normalise import text_hash, words
from burnish.text.quotes import find_quote, grounding
from burnish.verdicts import Draft, read_draft, read_yes_or_no

T = TypeVar("T")

UNQUOTED_CEILING = 0.5
UNSUPPORTED_CEILING = 0.2
MIN_GROUNDING = 0.5


def find(query: str, config: StrategyConfig, earlier: int = 0) -> Generator[Effect, Any, tuple[Passage, ...]]:
    """The passages for a query, best first; graded one by one where the configuration says so.

    earlier: how many searches of the same run went before.
    """
    passages = yield from search(query, config, earlier)
    return (yield from grade(query, passages, config.search)) if config.search.grade_passages else passages


def search(query: str, config: StrategyConfig, earlier: int = 0) -> Generator[Effect, Any, tuple[Passage, ...]]:
    """The passages for a query, best first, by the configured retriever; none of them graded."""
    top_k = config.search.top_k
    request = Retrieve((SearchQuery(query),), top_k, limit=top_k)
    if config.search.retriever == "hyde":
        request, _ = yield from imagined_search(query, config, top_k, earlier)
    return (yield from retrieve(request))


def grade(
    question: str, passages: Sequence[Passage], config: SearchConfig
) -> Generator[Effect, Any, tuple[Passage, ...]]:
    """The passages that the model finds helpful. One whose grade cannot be had is kept: unknown is not irrelevant."""
    grades = yield from relevance_of(question, passages)
    return tuple(
        passage
        for passage, relevance in zip(passages, grades, strict=True)
        if relevance is None or relevance >= config.relevance_threshold
    )


def relevance_of(question: str, passages: Sequence[Passage]) -> Generator[Effect, Any, tuple[float | None, ...]]:
    """How likely each passage helps, in [0, 1], one token asked for each; None where that cannot be had or read."""
    replies = yield from ask_together(Ask(judging.relevance(question, passage)) for passage in passages)
    return tuple(None if isinstance(reply, EffectFailed) else likelihood_of_yes(reply) for reply in replies)


def likelihood_of_yes(reply: Reply) -> float | None:
    """The share of "yes" in the probability of yes and no where it is known, else 1 or 0 by the word."""
    yes, no = (reply.probabilities.get(choice, 0.0) for choice in (judging.YES, judging.NO))
    if yes + no > 0:
        return yes / (yes + no)
    word = read_yes_or_no(reply.text)
    return None if word is None else float(word)


def answer_from(
    question: str, passages: Sequence[Passage], config: StrategyConfig, trace: dict[str, Any] | None = None
) -> Strategy:
    """Answer from passages in one call; abstain, without asking, where there are none."""
    shown = distinct(passages)[: config.search.max_passages]
    details = {**(trace or {}), "passages": len(shown)}
    if not shown:
        return abstain(question, shown, details)
    draft = yield from ask_for(answering.answer(question, shown), read_draft, question)
    evaluation = check(Evaluation(supported=draft.supported), draft, shown)
    return conclude(question, draft, evaluation, confidence_of(evaluation), shown, details)


def ask_for(prompt: Prompt, read: Callable[[str], T | None], question: str) -> Generator[Effect, Any, T]:
    """What `read` makes of the reply. One that is cut, or that it makes nothing of, is asked for once more.

    Raises ReplyUnreadable where nothing could be made of either.
    """
    reply = yield from ask(Ask(prompt))
    value = read(reply.text)
    if value is not None and not reply.truncated:
        return value
    again = wording.once_more(prompt, wording.language_of(question))
    better = read((yield from ask(Ask(again))).text)
    if better is None and value is None:
        raise ReplyUnreadable(f"neither of two replies to the {prompt.kind} prompt could be read")
    return cast("T", value if better is None else better)


def check(evaluation: Evaluation, draft: Draft, passages: Sequence[Passage]) -> Evaluation:
    """The evaluation, with how far the passages bear the answer out by comparison, and its quote with it.

    A bare yes or no cannot be compared: it is no word of the passages that it follows from.
    """
    if len(words(draft.answer)) == 1 and read_yes_or_no(draft.answer) is not None:
        return evaluation
    share = grounding(draft.answer, [passage.text for passage in passages], detect_language(draft.answer))
    if share is not None and not cite(draft.quote, passages):
        share = min(share, UNQUOTED_CEILING)
    return replace(evaluation, grounding=share)


def confidence_of(evaluation: Evaluation) -> float | None:
    """Confidence in an answer that no judge has scored: its grounding, held down where it calls itself unsupported."""
    if evaluation.grounding is None:
        return None
    return min(evaluation.grounding, UNSUPPORTED_CEILING if evaluation.supported is False else 1.0)


def conclude(
    question: str,
    draft: Draft,
    evaluation: Evaluation,
    confidence: float | None,
    passages: Sequence[Passage],
    trace: dict[str, Any],
) -> Answer:
    """The answer, if there is one that the evidence may bear out; else an abstention."""
    if not holds(draft.answer, evaluation):
        return abstain(question, passages, {**trace, "withheld": draft.answer} if draft.answer else trace)
    citation = cite(draft.quote, passages)
    return Answer(draft.answer, Outcome.SUCCEEDED, confidence, tuple(passages), (citation,) if citation else (), trace)


def holds(answer: str, evaluation: Evaluation) -> bool:
    """Whether there is an answer that neither the judge nor the comparison rules out.

    A judge that calls an answer unsupported is overruled only by an answer whose words all but stand in the evidence,
    its quote among them.
    """
    if not answer:
        return False
    if evaluation.supported is False:
        return evaluation.grounding is not None and evaluation.grounding > 1 - UNSUPPORTED_CEILING
    return True


def abstain(question: str, passages: Sequence[Passage], trace: dict[str, Any]) -> Answer:
    """The answer that there is none, in the question's language."""
    text = wording.NO_EVIDENCE[wording.language_of(question)]
    return Answer(text, Outcome.ABSTAINED, None, tuple(passages), (), trace)


def cite(quote: str, passages: Sequence[Passage]) -> Citation | None:
    """Where the quote stands verbatim, in characters of the document; None if it stands nowhere."""
    for passage in passages if quote else ():
        span = find_quote(quote, passage.text)
        if span is not None:
            start, end = span
            return Citation(
                document_id=passage.document_id,
                chunk_id=passage.chunk_id,
                title=passage.title,
                quote=passage.text[start:end],
                start=passage.start + start,
                end=passage.start + end,
            )
    return None


def distinct(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The passages without repetitions, by a hash of their whole text, each where it first stands."""
    by_text: dict[str, Passage] = {}
    for passage in passages:
        by_text.setdefault(text_hash(passage.text), passage)
    return tuple(by_text.values())


def accumulate(before: Sequence[Passage], found: Sequence[Passage], limit: int) -> tuple[Passage, ...]:
    """Two rankings as one, the best `limit` of both, so that new evidence finds a place beside the old."""
    by_text = {text_hash(passage.text): passage for passage in (*found, *before)}
    rankings = [[text_hash(passage.text) for passage in ranking] for ranking in (found, before)]
    return tuple(by_text[key] for key, _ in reciprocal_rank_fusion(rankings)[:limit])
