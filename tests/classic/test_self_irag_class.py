"""SelfIRAG does what its documents say, step by step."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from users import AsyncSpeaker, Shelf, Speaker, asked_in, draft, judged, judgement

from burnish import Outcome, SearchConfig, SelfIRAG, SelfRAGConfig, SelfRAGResult, StrategyConfig

QUESTION = "How long is the Danube?"
DANUBE = "The Danube is 2,850 km long."
OTHER = "The Danube ends in the Black Sea."
QUOTE = "2,850 km long"
GOOD = judged("2,850 km", 0.9, QUOTE)
WEAK = judged(
    "Black Sea", 0.4, "ends in the Black Sea", issues=["no length"], suggestions=["Danube length", "river", "x"]
)


def asked(*replies: Any, shelf: Shelf | None = None, question: str = QUESTION, **config: Any) -> tuple[Any, ...]:
    """The result, what the model was shown, and what the shelf was searched with."""
    shelf, speaker = shelf or Shelf(DANUBE, OTHER), Speaker(fast=list(replies))
    result = SelfIRAG(shelf, speaker, SelfRAGConfig(**config)).query(question)
    return result, speaker, shelf


def test_an_answer_that_reaches_the_threshold_ends_the_loop() -> None:
    result, speaker, shelf = asked(GOOD, confidence_threshold=0.9)
    assert isinstance(result, SelfRAGResult)
    assert (result.answer, result.iterations, round(result.confidence, 4)) == ("2,850 km", 1, 0.9)
    assert (speaker.kinds, shelf.queries, shelf.top_ks) == (["fast"], [QUESTION], [5])
    assert result.status is Outcome.SUCCEEDED


@pytest.mark.parametrize(("skip", "iterations"), [(True, 1), (False, 3)])
def test_a_confident_answer_ends_the_loop_where_it_may_skip_refinement(skip: bool, iterations: int) -> None:
    result, speaker, shelf = asked(GOOD, WEAK, WEAK, skip_refinement_on_high_confidence=skip)
    assert (result.iterations, len(speaker.kinds), len(shelf.queries)) == (iterations,) * 3
    assert (result.answer, round(result.confidence, 4)) == ("2,850 km", 0.9)


def test_a_later_answer_may_still_be_better_than_a_confident_one() -> None:
    fair = judged("2,850", 0.8, QUOTE)
    result, _, _ = asked(fair, GOOD, fair, skip_refinement_on_high_confidence=False)
    assert (result.answer, round(result.confidence, 4)) == ("2,850 km", 0.9)
    assert asked(fair, GOOD)[0].answer == "2,850"


def test_the_older_flag_is_a_yes_or_no() -> None:
    with pytest.raises(ValueError, match="early_stopping"):
        SelfRAGConfig(skip_refinement_on_high_confidence="no")  # pyright: ignore[reportArgumentType] that is the test


def test_an_answer_just_below_it_does_not() -> None:
    result, _, _ = asked(GOOD, confidence_threshold=0.91)
    assert result.iterations == 3


def test_the_best_iteration_wins_wherever_it_stands() -> None:
    result, _, _ = asked(WEAK, judged("2,850 km", 0.7, QUOTE, issues=["unit"]), WEAK)
    assert (result.answer, result.iterations, round(result.confidence, 4)) == ("2,850 km", 3, 0.7)
    assert result.confidence == max(step.confidence for step in result.history)
    assert [step.answer for step in result.history] == ["Black Sea", "2,850 km", "Black Sea"]
    assert (round(result.initial_quality, 4), round(result.final_quality, 4)) == (0.4, 0.4)


def test_the_next_search_adds_the_first_two_suggestions_to_the_question() -> None:
    result, _, shelf = asked(WEAK, WEAK, GOOD)
    assert shelf.queries == [QUESTION, f"{QUESTION} Danube length river", f"{QUESTION} Danube length river"]
    assert [step.query for step in result.history] == shelf.queries


def test_the_search_stays_as_it_is_where_it_is_not_to_be_refined() -> None:
    _, _, shelf = asked(WEAK, GOOD, enable_retrieval_refinement=False)
    assert shelf.queries == [QUESTION, QUESTION]


@pytest.mark.parametrize(("refine", "shown"), [(True, True), (False, False)])
def test_the_next_answer_leans_on_the_one_before_where_it_is_to_be_refined(refine: bool, shown: bool) -> None:
    _, speaker, _ = asked(WEAK, GOOD, enable_answer_refinement=refine)
    assert ("<answer>Black Sea</answer> Problems: no length" in asked_in(speaker.prompts[1])) is shown


def test_nothing_is_repeated_where_neither_may_be_refined() -> None:
    result, _, _ = asked(WEAK, GOOD, enable_answer_refinement=False, enable_retrieval_refinement=False)
    assert (result.iterations, result.answer) == (1, "Black Sea")


def test_without_fast_mode_the_answer_and_its_judgement_are_two_calls() -> None:
    speaker = Speaker(answer=draft("2,850 km", QUOTE), judge=judgement(5))
    result = SelfIRAG(Shelf(DANUBE), speaker, SelfRAGConfig(fast_mode=False)).query(QUESTION)
    assert (speaker.kinds, result.answer, result.confidence) == (["answer", "judge"], "2,850 km", 1.0)


def test_fast_mode_falls_back_to_two_steps_where_its_reply_cannot_be_read() -> None:
    speaker = Speaker(fast="I would say it is long.", answer=draft("2,850 km", QUOTE), judge=judgement(5))
    result = SelfIRAG(Shelf(DANUBE), speaker).query(QUESTION)
    assert (speaker.kinds, result.answer) == (["fast", "answer", "judge"], "2,850 km")


def test_the_prompts_and_the_fallback_are_in_the_language_of_the_question() -> None:
    result, speaker, _ = asked(GOOD, question="كم يبلغ طول نهر الدانوب؟")
    assert "أنت تجيب عن الأسئلة" in speaker.prompts[0]
    assert result.status is Outcome.SUCCEEDED
    nothing, _, _ = asked(GOOD, question="كم يبلغ طول نهر الدانوب؟", shelf=Shelf())
    assert nothing.answer == "لا تحتوي الوثائق على إجابة لهذا السؤال."


def test_with_nothing_found_there_is_not_enough_information() -> None:
    result, speaker, _ = asked(GOOD, shelf=Shelf())
    assert (result.answer, result.status, result.confidence) == (
        "There is not enough information.",
        Outcome.ABSTAINED,
        0.0,
    )
    assert speaker.prompts == []


def test_a_context_is_handed_to_a_retriever_that_takes_one() -> None:
    class Shelves(Shelf):
        def retrieve(self, query: str, top_k: int, context: Any = None) -> Any:
            return [f"{DANUBE} {context}"]

    result = SelfIRAG(Shelves(), Speaker()).query(QUESTION, {"user": 7})
    assert result.answer == f"{DANUBE} {{'user': 7}}"
    assert SelfIRAG(Shelf(DANUBE), Speaker()).query(QUESTION, {"user": 7}).answer == DANUBE


def test_an_asynchronous_form_of_the_model_is_used_by_itself() -> None:
    speaker = AsyncSpeaker()
    result = asyncio.run(SelfIRAG(Shelf(DANUBE), speaker).aquery(QUESTION))
    assert (result.answer, speaker.awaited) == (DANUBE, 1)


def test_the_sources_say_where_the_answer_stands() -> None:
    shelf = Shelf()
    shelf.add_document(DANUBE, {"source": "atlas", "page": 3})
    [source] = SelfIRAG(shelf, Speaker(fast=GOOD)).query(QUESTION).sources
    assert (source.document_id, source.title, source.text) == ("atlas", "atlas", DANUBE)
    assert (source.metadata, source.quotes, source.score) == ({"source": "atlas", "page": 3}, (QUOTE,), 1.0)


def test_the_counts_the_tokens_and_the_cost_are_those_of_the_model() -> None:
    def metered(text: str, cost: float | None) -> dict[str, Any]:
        told = {"usage": {"prompt_tokens": 100, "completion_tokens": 20}, "cost": cost}
        return {"text": text, **told}

    result, _, _ = asked(metered(WEAK, 0.25), metered(GOOD, 0.5))
    assert (result.llm_calls, result.retrieval_calls) == (2, 2)
    assert (result.prompt_tokens, result.completion_tokens, result.cost_usd) == (200, 40, 0.75)
    assert result.elapsed_seconds > 0
    unknown, _, _ = asked(metered(WEAK, None), metered(GOOD, 0.5))
    assert (unknown.cost_usd, unknown.prompt_tokens) == (None, 200)


def test_settings_say_what_the_config_does_not() -> None:
    """HyDE as the retriever, by configuration."""
    speaker, shelf = Speaker(fast=GOOD), Shelf(DANUBE)
    settings = StrategyConfig(search=SearchConfig(retriever="hyde", top_k=2))
    result = SelfIRAG(shelf, speaker, settings=settings).query(QUESTION)
    assert speaker.kinds == ["passage", "passage", "passage", "fast"]
    assert (shelf.queries[0], len(shelf.queries), set(shelf.top_ks), result.answer) == (QUESTION, 4, {2}, "2,850 km")


def test_a_cap_on_cost_ends_a_question() -> None:
    dear = {"text": WEAK, "cost": 2.0}
    rag = SelfIRAG(Shelf(DANUBE, OTHER), Speaker(fast=dear), settings=StrategyConfig(max_cost_usd=1.0))
    result = rag.query(QUESTION)
    assert (result.status, result.llm_calls, result.cost_usd) == (Outcome.BUDGET_EXCEEDED, 1, 2.0)
    assert result.error == "BudgetExceeded: the question reached its cap of 1.0 US dollars"
