"""SelfRAG, MultiHopRAG and SelfRefiningRAG: the same door, with grades and hops in their results."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from users import Shelf, Speaker, draft, sufficiency

from burnish import (
    Hop,
    LLMCallError,
    MultiHopConfig,
    MultiHopRAG,
    Outcome,
    ReflectionConfig,
    RetrievalError,
    SelfRAG,
    SelfRefiningRAG,
    StrategyConfig,
)

QUESTION = "How long is the Danube?"
DANUBE = "The Danube is 2,850 km long."
RHINE = "The Rhine is 1,233 km long."
WALKE = "The author of React is Jordan Walke."
LABS = "Jordan Walke founded the Aardvark Labs."
FOUNDED = "Which company was founded by the author of React?"
UNSUPPORTED = json.dumps({"context_says": "", "supported": "no", "unsupported": ["1,000 km"]})


def test_self_rag_grades_the_passages_then_the_answers_support_then_its_use() -> None:
    speaker = Speaker()
    result = SelfRAG(Shelf(DANUBE, RHINE), speaker).query(QUESTION)
    assert speaker.kinds == ["relevance", "relevance", "answer", "support", "use"]
    [attempt] = result.attempts
    assert (attempt.relevance, attempt.support, attempt.use, attempt.correct) == (1.0, 1.0, 1.0, "none")
    assert (result.answer, result.queries, len(result.relevance)) == (DANUBE, [QUESTION], 2)
    assert (result.llm_calls, result.status) == (5, Outcome.SUCCEEDED)
    assert json.loads(json.dumps(result.to_dict()))["attempts"][0]["support"] == 1.0


def test_self_rag_writes_again_what_is_not_borne_out_and_searches_again_for_what_is_of_no_use() -> None:
    speaker = Speaker(
        answer=[draft("1,000 km", "1,000 km"), draft("2,850 km", DANUBE)],
        support=[UNSUPPORTED, json.dumps({"context_says": "", "supported": "yes", "unsupported": []})],
    )
    result = SelfRAG(Shelf(DANUBE), speaker).query(QUESTION)
    assert [(each.answer, each.support, each.correct) for each in result.attempts] == [
        ("1,000 km", 0.0, "answer"),
        ("2,850 km", 1.0, "none"),
    ]
    assert result.answer == "2,850 km"


def test_self_rag_returns_its_best_attempt_when_its_retries_are_used_up() -> None:
    config = ReflectionConfig(max_regenerations=0, max_rewrites=1)
    speaker = Speaker(use=json.dumps({"asked": "", "useful": "no"}))
    result = SelfRAG(Shelf(DANUBE), speaker, config).query(QUESTION)
    assert result.queries == [QUESTION, "another query"]
    assert (result.answer, result.status) == (DANUBE, Outcome.SUCCEEDED)
    assert result.confidence <= 0.2


def test_self_rag_with_nothing_relevant_has_not_enough_information() -> None:
    result = SelfRAG(Shelf(RHINE), Speaker(relevance="no"), ReflectionConfig(max_rewrites=0)).query(QUESTION)
    assert (result.answer, result.status, result.attempts) == (
        "There is not enough information.",
        Outcome.ABSTAINED,
        [],
    )


def test_self_rag_is_told_by_its_config_or_the_settings() -> None:
    settings = StrategyConfig(self_rag=ReflectionConfig(max_rewrites=7))
    assert SelfRAG(Shelf(), Speaker(), settings=settings).get_stats()["max_rewrites"] == 7
    both = SelfRAG(Shelf(), Speaker(), ReflectionConfig(mode="graded"), settings=settings)
    assert (both.get_stats()["mode"], both.get_stats()["llm_retries"]) == ("graded", 2)


def hops_of_react(query: str) -> list[str]:
    return [LABS] if "Walke" in query else [WALKE]


def test_multi_hop_searches_for_what_is_missing_before_it_answers() -> None:
    speaker = Speaker(
        sufficiency=[sufficiency("no", "company founded by Jordan Walke", "the company"), sufficiency("yes")],
        answer=draft("Aardvark Labs", LABS),
    )
    shelf = Shelf(finds=hops_of_react)
    result = MultiHopRAG(shelf, speaker).query(FOUNDED)
    assert speaker.kinds == ["sufficiency", "sufficiency", "answer"]
    assert shelf.queries == result.queries == [FOUNDED, "company founded by Jordan Walke"]
    assert result.hops[0] == Hop(FOUNDED, 1, 1, False, "the company", "", "model")
    assert (result.answer, len(result.sources), result.retrieval_calls) == ("Aardvark Labs", 2, 2)
    assert json.loads(json.dumps(result.to_dict()))["hops"][1]["sufficient"] is True


def test_multi_hop_makes_no_more_searches_than_told() -> None:
    speaker = Speaker(sufficiency=[sufficiency("no", f"query {n}") for n in range(9)])
    result = MultiHopRAG(Shelf(finds=hops_of_react), speaker, max_iterations=2).query(FOUNDED)
    assert (len(result.hops), result.retrieval_calls) == (2, 2)


def test_multi_hop_may_search_with_each_thought() -> None:
    speaker = Speaker(
        thought=["The author of React is Jordan Walke.", "So the answer is: Aardvark Labs."],
        answer=draft("Aardvark Labs", LABS),
    )
    rag = MultiHopRAG(Shelf(finds=hops_of_react), speaker, mode="interleaved")
    result = rag.query(FOUNDED)
    assert [hop.thought for hop in result.hops] == [WALKE, "So the answer is: Aardvark Labs."]
    assert (result.answer, rag.get_stats()["mode"]) == ("Aardvark Labs", "interleaved")


def test_multi_hop_takes_its_mode_from_the_settings_too() -> None:
    settings = StrategyConfig(multi_hop=MultiHopConfig(mode="interleaved"))
    assert MultiHopRAG(Shelf(), Speaker(), settings=settings).get_stats()["mode"] == "interleaved"


@pytest.mark.parametrize(
    "make",
    [
        lambda: MultiHopRAG(Shelf(), Speaker(), 0),
        lambda: MultiHopRAG(Shelf(), Speaker(), mode="other"),
        lambda: MultiHopRAG(Shelf(), Speaker(), llm_retries=-1),
        lambda: SelfRAG(Shelf(), Speaker(), llm_retries=-1),
        lambda: SelfRAG(Shelf(), None),
        lambda: SelfRefiningRAG(Speaker(), None),
    ],
)
def test_what_cannot_be_used_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|requires an LLM|has no method"):
        make()


@dataclass
class Document:
    page_content: str


class VectorStore:
    """As LangChain's."""

    def __init__(self, *found: Any) -> None:
        self.searches: list[tuple[str, int]] = []
        self._found = found

    def similarity_search(self, query: str, k: int = 4) -> list[Any]:
        self.searches.append((query, k))
        return [Document(text) if isinstance(text, str) else text for text in self._found][:k]


def test_the_self_refining_steps_work_one_by_one() -> None:
    speaker = Speaker(sufficiency=[sufficiency("no"), sufficiency("yes"), sufficiency("no", "company of Jordan Walke")])
    store = VectorStore(WALKE, LABS, DANUBE, RHINE)
    rag = SelfRefiningRAG(speaker, store, max_iterations=2)
    docs = rag.retrieve(FOUNDED)
    assert docs == [Document(WALKE), Document(LABS), Document(DANUBE)]
    assert store.searches == [(FOUNDED, 3)]
    assert [rag.is_sufficient(FOUNDED, [doc.page_content for doc in docs]) for _ in range(2)] == [False, True]
    assert rag.generate_next_query(FOUNDED, docs) == "company of Jordan Walke"
    assert WALKE in speaker.shown("sufficiency")[0]


def test_without_a_context_nothing_suffices_and_nobody_is_asked() -> None:
    speaker = Speaker()
    assert not SelfRefiningRAG(speaker, VectorStore()).is_sufficient(FOUNDED, [])
    assert speaker.prompts == []


def test_a_next_query_is_made_up_where_the_verdict_has_none() -> None:
    assert SelfRefiningRAG(Speaker(), VectorStore()).generate_next_query(FOUNDED, [WALKE]) == "another query"


def test_the_self_refining_run_gives_the_answer_alone() -> None:
    store = VectorStore(DANUBE)
    rag = SelfRefiningRAG(Speaker(answer=draft("2,850 km", DANUBE)), store)
    assert rag.run(QUESTION) == "2,850 km"
    assert asyncio.run(rag.aquery(QUESTION)).answer == "2,850 km"


def test_a_self_refining_model_may_be_a_plain_function() -> None:
    speaker = Speaker()
    assert SelfRefiningRAG(speaker.generate, VectorStore(DANUBE)).run(QUESTION) == DANUBE


def test_a_step_that_fails_raises() -> None:
    rag = SelfRefiningRAG(Speaker(sufficiency=ValueError("no")), VectorStore(5))
    with pytest.raises(LLMCallError, match="generate raised ValueError: no"):
        rag.is_sufficient(FOUNDED, [WALKE])
    with pytest.raises(RetrievalError, match="cannot be read"):
        rag.retrieve(FOUNDED)
    unreadable = SelfRefiningRAG(Speaker(sufficiency="I cannot say."), VectorStore())
    with pytest.raises(LLMCallError, match="cannot be read"):
        unreadable.is_sufficient(FOUNDED, [WALKE])
