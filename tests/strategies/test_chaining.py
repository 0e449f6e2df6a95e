"""Strategies made of one another by configuration: HyDE as a retriever, and any strategy as a leaf of `recursive`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted import World, draft, passage, scores, sufficiency, support, use

from burnish.config import LEAVES, HyDEConfig, RecursiveConfig, SearchConfig, SelfIRAGConfig, StrategyConfig
from burnish.effects import Ask
from burnish.errors import LanguageModelUnavailable
from burnish.results import HypotheticalDocument, Outcome

QUESTION = "How long is the Danube?"
SEVERAL = "How long is the Danube, and when and where does it rise?"
PARTS = ("How long is the Danube?", "Where does the Danube rise?")
DANUBE = passage("The Danube is 2,850 km long and rises in the Black Forest.")
GOOD = draft("2,850 km", "The Danube is 2,850 km long", **scores(5))
IMAGINED = "A passage, as long as it needs to be, about a river and its course."
WITH_HYDE = StrategyConfig(search=SearchConfig(retriever="hyde", top_k=4), hyde=HyDEConfig(num_hypothetical_docs=2))


def chained(**rules: Any) -> World:
    everything: dict[str, Any] = {
        "answer": GOOD,
        "answer_and_judge": GOOD,
        "hypothesise": IMAGINED,
        "decompose": json.dumps({"sub_questions": PARTS}),
        "merge": '{"answer": "2,850 km"}',
        "sufficiency": sufficiency("yes"),
        "relevance": "yes",
        "support": support(),
        "use": use(),
        "choose": '{"strategy": "self_irag"}',
    }
    return World(found=[DANUBE], **everything | rules)


@pytest.mark.parametrize("strategy", ["direct", "self_irag", "self_rag", "multi_hop", "auto"])
def test_hyde_is_the_retriever_of_every_strategy_that_searches(strategy: str) -> None:
    world = chained()
    answer = world.answer(QUESTION, strategy, WITH_HYDE)
    assert answer.text == "2,850 km"
    [search] = world.searches
    assert [(query.text, query.role) for query in search.queries] == [
        (QUESTION, "question"),
        (IMAGINED, "passage"),
        (IMAGINED, "passage"),
    ]
    assert (search.top_k, search.limit, search.combine) == (4, 4, "rrf")
    assert world.kinds.count("hypothesise") == 2


def test_it_is_the_retriever_of_the_leaves_too() -> None:
    world = chained()
    world.answer(SEVERAL, "recursive", WITH_HYDE)
    assert [search.queries[0].text for search in world.searches] == list(PARTS)
    assert {len(search.queries) for search in world.searches} == {3}


def test_without_it_nothing_is_imagined() -> None:
    world = chained()
    world.answer(QUESTION, "self_irag")
    assert [len(search.queries) for search in world.searches] == [1]
    assert "hypothesise" not in world.kinds


def test_hyde_itself_imagines_once_whatever_the_retriever() -> None:
    world = chained()
    world.answer(QUESTION, "hyde", WITH_HYDE)
    assert world.kinds == ["hypothesise", "hypothesise", "answer"]


@pytest.mark.parametrize("strategy", ["self_irag", "self_rag", "multi_hop"])
def test_every_search_of_a_run_imagines_anew_and_every_passage_has_a_place_in_the_record(strategy: str) -> None:
    again = "length of the Danube"
    world = chained(
        answer_and_judge=[draft("km", "km", **scores(2), suggestions=[again]), GOOD],
        relevance=["no", "yes"],
        rephrase=json.dumps({"query": again}),
        sufficiency=[sufficiency("no", "", again), sufficiency("yes")],
    )
    question = QUESTION if strategy != "multi_hop" else "How long is the river that the city of Vienna is built on?"
    world.answer(question, strategy, WITH_HYDE)
    imagined = [record.position for record in world.records if isinstance(record, HypotheticalDocument)]
    assert imagined == [0, 1, 2, 3]
    assert again in world.shown("hypothesise")[2]
    assert [call.seed for call in world.calls if call.prompt.kind == "hypothesise"] == [0, 1, 0, 1]


def test_the_published_mode_is_kept() -> None:
    averaging = StrategyConfig(search=SearchConfig(retriever="hyde"), hyde=HyDEConfig(mode="mean"))
    world = chained()
    world.answer(QUESTION, "direct", averaging)
    assert world.searches[0].combine == "mean"


def test_with_nothing_imagined_the_question_is_searched_with() -> None:
    world = chained(hypothesise=LanguageModelUnavailable("down"))
    assert world.answer(QUESTION, "direct", WITH_HYDE).outcome is Outcome.SUCCEEDED
    assert [query.text for query in world.searches[0].queries] == [QUESTION]


def test_passages_found_with_imagined_ones_are_graded_where_that_is_wanted() -> None:
    graded = StrategyConfig(search=SearchConfig(retriever="hyde", grade_passages=True))
    world = chained(relevance="no")
    assert world.answer(QUESTION, "direct", graded).outcome is Outcome.ABSTAINED
    assert QUESTION in world.shown("relevance")[0]


@pytest.mark.parametrize("leaf", LEAVES)
def test_any_strategy_may_answer_the_leaves(leaf: Any) -> None:
    def said(ask: Ask) -> str:
        return (
            GOOD if "How long" in ask.prompt.user.rpartition("Question")[2] else draft("Black Forest", "Black Forest")
        )

    world = chained(answer=said, merge='{"answer": "2,850 km, Black Forest"}')
    answer = world.answer(SEVERAL, "recursive", StrategyConfig(recursive=RecursiveConfig(leaf=leaf)))
    own = {
        "direct": "answer",
        "self_irag": "answer_and_judge",
        "hyde": "hypothesise",
        "self_rag": "support",
        "multi_hop": "answer",
    }
    assert answer.trace["sub_questions"] == list(PARTS)
    assert answer.outcome is Outcome.SUCCEEDED
    assert own[leaf] in world.kinds
    alone = chained()
    alone.answer(QUESTION, "recursive", StrategyConfig(recursive=RecursiveConfig(leaf=leaf)))
    direct = chained()
    direct.answer(QUESTION, leaf)
    assert alone.calls == direct.calls, "a simple question is the leaf's own"


def test_decompose_then_verify_each_leaf() -> None:
    """The seeds' chain: recursive over SelfIRAG, each tuned by its own part of the configuration."""
    poor = draft("km", "km", **scores(2), issues=["no figure"])
    settings = StrategyConfig(
        recursive=RecursiveConfig(leaf="self_irag", max_depth=2),
        self_irag=SelfIRAGConfig(max_refinement_iterations=2),
    )
    world = chained(answer_and_judge=[poor, GOOD, poor, GOOD])
    answer = world.answer(SEVERAL, "recursive", settings)
    assert world.kinds.count("answer_and_judge") == 4
    assert answer.confidence == 1.0
