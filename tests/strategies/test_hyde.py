from __future__ import annotations

from typing import Any

import pytest
from scripted import World, draft, passage

from burnish.config import HyDEConfig, SearchConfig, StrategyConfig
from burnish.effects import Ask, Reply
from burnish.errors import EffectFailed, LanguageModelUnavailable
from burnish.results import HypotheticalDocument, Outcome

QUESTION = "How long is the Danube?"
DANUBE = passage("The Danube is 2,850 km long.")
ANSWER = draft("2,850 km", "The Danube is 2,850 km long")


def hyde(**settings: Any) -> StrategyConfig:
    return StrategyConfig(hyde=HyDEConfig(**settings))


def imagined(ask: Ask) -> str:
    return f"An imagined passage, number {ask.seed}, long enough to be searched with."


@pytest.mark.parametrize("n", [1, 3, 5, 16])
def test_it_takes_n_calls_and_one_more(n: int) -> None:
    world = World(found=[DANUBE], hypothesise=imagined, answer=ANSWER)
    assert world.answer(QUESTION, "hyde", hyde(num_hypothetical_docs=n)).text == "2,850 km"
    assert world.kinds == ["hypothesise"] * n + ["answer"]
    assert len(world.searches) == 1


@pytest.mark.parametrize("question", [QUESTION, "كم يبلغ طول نهر الدانوب؟"])
def test_every_imagined_passage_is_asked_for_in_its_own_words(question: str) -> None:
    world = World(found=[DANUBE], hypothesise=imagined, answer=ANSWER)
    world.answer(question, "hyde", hyde(num_hypothetical_docs=16, temperature=0.0))
    assert len(set(world.shown("hypothesise"))) == 16
    assert {call.seed for call in world.calls if call.prompt.kind == "hypothesise"} == set(range(16))


def test_the_search_has_the_question_first_and_the_passages_in_their_order() -> None:
    world = World(found=[DANUBE], hypothesise=imagined, answer=ANSWER)
    world.answer(QUESTION, "hyde", StrategyConfig(search=SearchConfig(top_k=7), hyde=HyDEConfig(max_final_docs=12)))
    [search] = world.searches
    assert [query.text for query in search.queries[1:]] == [imagined(call) for call in world.calls[:3]]
    assert (search.queries[0].text, search.queries[0].role) == (QUESTION, "question")
    assert (search.top_k, search.limit, search.combine) == (7, 12, "rrf")


def test_the_published_mode_averages_the_vectors() -> None:
    world = World(found=[DANUBE], hypothesise=imagined, answer=ANSWER)
    world.answer(QUESTION, "hyde", hyde(mode="mean"))
    assert world.searches[0].combine == "mean"


def test_the_question_can_be_left_out_of_the_search_but_not_when_nothing_else_is_there() -> None:
    world = World(found=[DANUBE], hypothesise=imagined, answer=ANSWER)
    world.answer(QUESTION, "hyde", hyde(use_original_query=False))
    assert {query.role for query in world.searches[0].queries} == {"passage"}
    world = World(found=[DANUBE], hypothesise="short", answer=ANSWER)
    world.answer(QUESTION, "hyde", hyde(use_original_query=False))
    assert [query.text for query in world.searches[0].queries] == [QUESTION]


def test_passages_that_fail_are_done_without_and_kept_for_the_record() -> None:
    def some(ask: Ask) -> str | EffectFailed:
        return LanguageModelUnavailable("down") if ask.seed == 1 else imagined(ask)

    world = World(found=[DANUBE], hypothesise=some, answer=ANSWER)
    answer = world.answer(QUESTION, "hyde")
    assert (answer.text, answer.trace["hypothetical_documents"]) == ("2,850 km", 2)
    assert [(record.position, record.kept) for record in world.records if isinstance(record, HypotheticalDocument)] == [
        (0, True),
        (1, False),
        (2, True),
    ]


def test_with_no_passage_at_all_the_question_itself_is_searched_with() -> None:
    world = World(found=[DANUBE], hypothesise=LanguageModelUnavailable("down"), answer=ANSWER)
    assert world.answer(QUESTION, "hyde").outcome is Outcome.SUCCEEDED
    assert [query.text for query in world.searches[0].queries] == [QUESTION]


@pytest.mark.parametrize(("length", "kept"), [(39, 0), (40, 3), (41, 3)])
def test_a_passage_is_kept_from_forty_characters_on(length: int, kept: int) -> None:
    world = World(found=[DANUBE], hypothesise=f"  {'x' * length}\n", answer=ANSWER)
    assert world.answer(QUESTION, "hyde").trace["hypothetical_documents"] == kept


def test_what_was_imagined_is_never_shown_as_evidence() -> None:
    world = World(found=[DANUBE], hypothesise=imagined, answer=ANSWER)
    answer = world.answer(QUESTION, "hyde")
    assert "imagined" not in world.shown("answer")[0]
    assert answer.evidence == (DANUBE,)


def test_its_counts_are_of_different_texts_and_of_those_really_shown() -> None:
    found = [passage(f"Text {n % 4}.", n + 1) for n in range(10)]
    config = StrategyConfig(search=SearchConfig(max_passages=3))
    answer = World(found=found, hypothesise=imagined, answer=draft("x")).answer(QUESTION, "hyde", config)
    assert (answer.trace["num_retrieved"], answer.trace["num_ranked"], answer.trace["passages"]) == (4, 3, 3)
    assert len(answer.evidence) == 3


def test_a_passage_that_was_cut_is_searched_with_all_the_same() -> None:
    world = World(found=[DANUBE], hypothesise=Reply("x" * 50, truncated=True), answer=ANSWER)
    assert world.answer(QUESTION, "hyde").trace["hypothetical_documents"] == 3
