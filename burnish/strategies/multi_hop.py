"""Several hops: search, see what is still missing, search for that, and answer from all that was found.

Mode "iterative" asks, before anything is answered, whether the passages suffice; if not, what is missing and what to
search for next, all in one call. That is a better place to stop than a judgement of the answer (Joren et al. 2024,
arXiv 2411.06037). Words come first, since they cost nothing: passages that hold every content word of a plain question
are taken as sufficient. Where the question needs hops by its own words they are not, for such a question names only
where its path begins.

Mode "interleaved" is IRCoT (Trivedi et al. 2022, arXiv 2212.10509): each next sentence of a reasoning from the passages
is the next query, until one says what "the answer is". The reasoning is thrown away; a separate reader answers.

Both end too with a query that was searched with before. The evidence of all hops is shown without repetitions, the best
passage of each hop keeping a seat, those of the latest hops before others where there are more hops than seats.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from burnish.config import StrategyConfig
from burnish.effects import Ask, Effect, Strategy, ask
from burnish.errors import EffectFailed
from burnish.prompts import searching
from burnish.results import Passage
from burnish.strategies.cues import is_complex, needs_hops
from burnish.strategies.evidence import answer_from, ask_for, find
from burnish.text.fusion import keep_seat, reciprocal_rank_fusion
from burnish.text.language import detect_language
from burnish.text.normalise import content_words, text_hash
from burnish.verdicts import Sufficiency, read_sufficiency, read_thought


@dataclass(frozen=True)
class Hop:
    """A search: its query, what it found, and what was concluded from all that was found so far.

    sufficient: None where that was not asked or cannot be told. decided_by: "words" or "model", "" where nobody did.
    """

    query: str
    found: tuple[Passage, ...]
    sufficient: bool | None = None
    missing: str = ""
    thought: str = ""
    decided_by: str = ""


def multi_hop(question: str, config: StrategyConfig) -> Strategy:
    """Gather evidence hop by hop, then answer from it in one call.

    Takes no call where the first search finds nothing. Mode "iterative" takes from 1 call, 2 where the model is asked,
    to `max_hops`, and up to `max_hops` retrievals; a reply that cannot be read is asked for once more. Mode
    "interleaved" takes from 2 calls to `max_thoughts` + 1, one more if the answer cannot be read, and up to
    `max_thoughts` + 1 retrievals.
    """
    hops: list[Hop] = []
    go = think_and_search if config.multi_hop.mode == "interleaved" else search_until_sufficient
    stopped: dict[str, str] = {}
    try:
        yield from go(question, config, hops)
    except EffectFailed as failure:
        if not hops:
            raise
        stopped = {"stopped_by": type(failure).__name__}
    trace = {"hops": as_records(hops), **stopped}
    return (yield from answer_from(question, seated(hops, config.search.max_passages), config, trace))


def search_until_sufficient(question: str, config: StrategyConfig, hops: list[Hop]) -> Generator[Effect, Any, None]:
    """Add hops until the evidence suffices, or there is nothing new to search for, or no hop is left."""
    query: str | None = question
    while query is not None:
        hops.append(Hop(query, (yield from find(query, config, len(hops)))))
        hops[-1], query = yield from assess(question, hops, config)


def assess(
    question: str, hops: Sequence[Hop], config: StrategyConfig
) -> Generator[Effect, Any, tuple[Hop, str | None]]:
    """The last hop with what follows from the evidence so far, and the next query, None where there is to be none."""
    hop, passages = hops[-1], seated(hops, config.search.max_passages)
    if not passages:
        return hop, None
    if config.multi_hop.trust_words and are_enough(question, passages, config):
        return replace(hop, sufficient=True, decided_by="words"), None
    if len(hops) >= config.multi_hop.max_hops:
        return hop, None
    searched = [hop.query for hop in hops]
    prompt = searching.sufficiency(question, passages, searched)
    verdict = yield from ask_for(prompt, read_sufficiency, question)
    hop = replace(hop, sufficient=verdict.sufficient, missing=verdict.missing, decided_by="model")
    return hop, next_query(verdict, searched)


def are_enough(question: str, passages: Sequence[Passage], config: StrategyConfig) -> bool:
    """Whether the passages hold every content word of a question that is a plain one by its own words."""
    if needs_hops(question) or is_complex(question, config.recursive):
        return False
    language = detect_language(question)
    held = {word for passage in passages for word in content_words(f"{passage.title} {passage.text}", language)}
    return held.issuperset(content_words(question, language))


def next_query(verdict: Sufficiency, searched: Sequence[str]) -> str | None:
    """What to search for next: the query, or the missing fact in its place. Never what was searched for already.

    An unknown verdict is no yes: a query that comes with it is searched for.
    """
    query = verdict.next_query or verdict.missing
    return None if verdict.sufficient or not query or repeats(query, searched) else query


def think_and_search(question: str, config: StrategyConfig, hops: list[Hop]) -> Generator[Effect, Any, None]:
    """Add hops, each with the thought that the one before it led to, until a thought concludes or repeats another."""
    query: str | None = question
    while query is not None:
        hops.append(Hop(query, (yield from find(query, config, len(hops)))))
        hops[-1], query = yield from think_on(question, hops, config)


def think_on(
    question: str, hops: Sequence[Hop], config: StrategyConfig
) -> Generator[Effect, Any, tuple[Hop, str | None]]:
    """The last hop with the next thought, and that thought as the next query, None where there is to be none."""
    hop, passages = hops[-1], seated(hops, config.search.max_passages)
    thoughts = [hop.thought for hop in hops[:-1]]
    if not passages or len(thoughts) >= config.multi_hop.max_thoughts:
        return hop, None
    thought = read_thought((yield from ask(Ask(searching.think(question, passages, thoughts)))).text)
    if thought is None:
        return hop, None
    hop = replace(hop, thought=thought.text, sufficient=thought.concludes, decided_by="model")
    ends = thought.concludes or repeats(thought.text, [hop.query for hop in hops])
    return hop, None if ends else thought.text


def repeats(query: str, searched: Sequence[str]) -> bool:
    return text_hash(query) in map(text_hash, searched)


def seated(hops: Sequence[Hop], limit: int) -> tuple[Passage, ...]:
    """The best `limit` passages of all hops, texts that repeat once, the best new one of each hop among them."""
    by_text = {text_hash(passage.text): passage for hop in reversed(hops) for passage in reversed(hop.found)}
    rankings = [[text_hash(passage.text) for passage in hop.found] for hop in hops]
    kept = keep_seat(reciprocal_rank_fusion(rankings), best_new(rankings)[::-1], limit, limit)
    return tuple(by_text[key] for key, _ in kept)


def best_new(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Of each ranking the first item that none before it holds, where there is one."""
    seen, first = set[str](), list[str]()
    for ranking in rankings:
        first += [item for item in ranking if item not in seen][:1]
        seen.update(ranking)
    return first


def as_records(hops: Sequence[Hop]) -> list[dict[str, Any]]:
    """The hops as plain data, for the trace of the answer. found: passages; new: those that no earlier hop found."""
    seen, records = set[str](), list[dict[str, Any]]()
    for hop in hops:
        texts = {text_hash(passage.text) for passage in hop.found}
        told = {"sufficient": hop.sufficient, "missing": hop.missing, "thought": hop.thought, "by": hop.decided_by}
        records.append({"query": hop.query, "found": len(texts), "new": len(texts - seen), **told})
        seen |= texts
    return records
