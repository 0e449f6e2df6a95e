from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scripted import World, draft, judgement, passage, scores

from burnish.config import SearchConfig, SelfIRAGConfig, StrategyConfig
from burnish.effects import Ask, Reply, Retrieve
from burnish.errors import EffectFailed, LanguageModelUnavailable, ReplyUnreadable, RetrievalFailed
from burnish.results import Evaluation, Outcome, Passage, RefinementStep

QUESTION = "How long is the Danube?"
DANUBE = passage("The Danube is 2,850 km long and ends in the Black Sea.")
QUOTE = "The Danube is 2,850 km long"
UNREADABLE = "As a language model I would rather talk."


def config(**settings: Any) -> StrategyConfig:
    return StrategyConfig(self_irag=SelfIRAGConfig(**settings))


SLOW = config(fast_mode=False)


def judged(answer: str, each: float, **more: Any) -> str:
    return draft(answer, QUOTE, **scores(each), **more)


def steps(world: World) -> list[RefinementStep]:
    return [record for record in world.records if isinstance(record, RefinementStep)]


def test_fast_mode_accepts_a_good_answer_after_one_call() -> None:
    world = World(found=[DANUBE], answer_and_judge=judged("2,850 km", 5))
    answer = world.answer(QUESTION, "self_irag")
    assert (answer.text, answer.confidence) == ("2,850 km", 1.0)
    assert (len(world.calls), len(world.searches)) == (1, 1)


def test_slow_mode_accepts_a_good_answer_after_two_calls() -> None:
    world = World(found=[DANUBE], answer=draft("2,850 km", QUOTE), judge=judgement(5))
    assert world.answer(QUESTION, "self_irag", SLOW).confidence == 1.0
    assert world.kinds == ["answer", "judge"]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_at_worst_fast_mode_takes_one_call_and_one_search_an_iteration(n: int) -> None:
    world = World(found=[DANUBE], answer_and_judge=judged("Black Sea", 2, issues=["no length"], suggestions=["length"]))
    answer = world.answer(QUESTION, "self_irag", config(max_refinement_iterations=n))
    assert (answer.trace["iterations"], len(world.calls), len(world.searches)) == (n, n, n)


def test_without_early_stopping_every_iteration_is_run_and_the_best_answer_wins() -> None:
    replies = [judged("2,850 km", 5), judged("Black Sea", 4), judged("Danube", 2)]
    world = World(found=[DANUBE], answer_and_judge=replies)
    answer = world.answer(QUESTION, "self_irag", config(early_stopping=False))
    assert (answer.text, answer.trace["iterations"], answer.trace["best_iteration"]) == ("2,850 km", 3, 1)
    assert (len(world.calls), len(world.searches)) == (3, 3)


def test_without_early_stopping_it_still_does_not_repeat_itself_where_nothing_may_be_refined() -> None:
    world = World(found=[DANUBE], answer_and_judge=judged("2,850 km", 5))
    nothing = {"enable_answer_refinement": False, "enable_retrieval_refinement": False}
    world.answer(QUESTION, "self_irag", config(early_stopping=False, **nothing))
    assert len(world.calls) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_at_worst_slow_mode_takes_two_calls_an_iteration(n: int) -> None:
    rewritten = draft("Black Sea", QUOTE)
    world = World(found=[DANUBE], answer=rewritten, rewrite=rewritten, judge=judgement(2, issues=["no length"]))
    world.answer(QUESTION, "self_irag", config(max_refinement_iterations=n, fast_mode=False))
    assert len(world.calls) == 2 * n
    assert world.kinds.count("rewrite") == n - 1


def test_fast_replies_without_scores_are_judged_alone_within_twice_the_iterations() -> None:
    world = World(found=[DANUBE], answer_and_judge=draft("Black Sea", QUOTE), judge=judgement(2, issues=["no length"]))
    world.answer(QUESTION, "self_irag")
    assert len(world.calls) <= 6
    assert "answer" not in world.kinds


def test_fast_mode_falls_back_to_two_steps_when_it_cannot_read_the_reply() -> None:
    world = World(found=[DANUBE], answer_and_judge=UNREADABLE, answer=draft("2,850 km", QUOTE), judge=judgement(5))
    assert world.answer(QUESTION, "self_irag").text == "2,850 km"
    assert world.kinds == ["answer_and_judge", "answer", "judge"]


def test_a_fast_reply_cut_within_its_answer_is_done_again_in_two_steps() -> None:
    cut = Reply('{"quote": "The Danube is 2,850 km long", "answer": "The Dan', truncated=True)
    world = World(found=[DANUBE], answer_and_judge=cut, answer=draft("2,850 km", QUOTE), judge=judgement(5))
    assert world.answer(QUESTION, "self_irag").text == "2,850 km"


def test_a_model_that_never_makes_sense_costs_three_calls_and_fails() -> None:
    world = World(found=[DANUBE], answer_and_judge=UNREADABLE, answer=UNREADABLE)
    with pytest.raises(ReplyUnreadable):
        world.answer(QUESTION, "self_irag")
    assert len(world.calls) == 3


def test_the_text_returned_is_the_text_that_was_judged_and_the_best_of_all_wins() -> None:
    replies = [
        judged("The Danube ends in the Black Sea", 2, issues=["no length"]),
        judged("2,850 km", 3.8, issues=["too short"]),
        judged("The Danube is 2,850 km long and ends", 3, issues=["unclear"]),
    ]
    world = World(found=[DANUBE], answer_and_judge=replies)
    answer = world.answer(QUESTION, "self_irag")
    by_text = {step.answer: step.confidence for step in steps(world)}
    assert (answer.text, answer.trace["best_iteration"]) == ("2,850 km", 2)
    assert by_text[answer.text] == answer.confidence == max(confidence or 0 for confidence in by_text.values())


def test_a_rewrite_is_judged_before_it_can_win_and_a_worse_one_does_not() -> None:
    world = World(
        found=[DANUBE],
        answer=draft("2,850 km", QUOTE),
        rewrite=draft("It ends in the Black Sea", QUOTE),
        judge=[judgement(3, issues=["terse"]), judgement(2)],
    )
    answer = world.answer(QUESTION, "self_irag", config(fast_mode=False, max_refinement_iterations=2))
    assert answer.text == "2,850 km"
    assert world.kinds == ["answer", "judge", "rewrite", "judge"]
    assert "It ends in the Black Sea" in world.shown("judge")[1]


def test_of_equals_the_earliest_wins() -> None:
    world = World(found=[DANUBE], answer_and_judge=[judged("2,850 km", 3), judged("Black Sea", 3), judged("km", 3)])
    assert world.answer(QUESTION, "self_irag").trace["best_iteration"] == 1


def test_a_judge_that_cannot_be_read_gives_unknown_and_never_one_half() -> None:
    world = World(found=[DANUBE], answer=draft("2,850 km", QUOTE), judge=UNREADABLE)
    answer = world.answer(QUESTION, "self_irag", SLOW)
    assert (answer.text, answer.outcome, answer.confidence) == ("2,850 km", Outcome.SUCCEEDED, None)
    assert [step.confidence for step in steps(world)] == [None]
    assert len(world.calls) == 3, "with nothing said against the answer there is nothing to improve"


def test_unknown_never_beats_known() -> None:
    world = World(
        found=[DANUBE],
        answer=draft("2,850 km", QUOTE),
        rewrite=draft("Black Sea", QUOTE),
        judge=[judgement(1, issues=["terse"]), UNREADABLE],
    )
    answer = world.answer(QUESTION, "self_irag", SLOW)
    assert (answer.text, answer.confidence) == ("2,850 km", 0.2)
    assert [step.confidence for step in steps(world)] == [0.2, None]


@pytest.mark.parametrize(
    "bad",
    [
        {"relevance": 30, "accuracy": 20, "completeness": 10, "clarity": 40},
        {"relevance": True, "accuracy": True, "completeness": True, "clarity": True},
        {"relevance": None, "accuracy": 5, "completeness": 5, "clarity": 5},
        {"relevance": "high", "accuracy": 5, "completeness": 5, "clarity": 5},
        {"accuracy": 5, "completeness": 5, "clarity": 5},
        {"relevance": -1, "accuracy": 5, "completeness": 5, "clarity": 5},
    ],
)
def test_scores_that_say_nothing_do_not_end_the_search_for_a_good_answer(bad: dict[str, Any]) -> None:
    world = World(found=[DANUBE], answer_and_judge=draft("2,850 km", QUOTE, **bad), judge=judgement(4))
    answer = world.answer(QUESTION, "self_irag")
    assert answer.confidence == 0.8
    assert world.kinds == ["answer_and_judge", "judge"]


def test_an_answer_outlives_a_judge_that_is_down() -> None:
    down = LanguageModelUnavailable("down")
    world = World(found=[DANUBE], answer=draft("2,850 km", QUOTE), judge=down)
    answer = world.answer(QUESTION, "self_irag", SLOW)
    assert (answer.text, answer.outcome, answer.confidence) == ("2,850 km", Outcome.SUCCEEDED, None)


@pytest.mark.parametrize("failure", [LanguageModelUnavailable("down"), RetrievalFailed("down")])
def test_a_step_that_fails_later_leaves_what_there_is_and_says_so(failure: EffectFailed) -> None:
    searches = 0

    def found(_request: Retrieve) -> list[Passage] | EffectFailed:
        nonlocal searches
        searches += 1
        return failure if searches > 1 and isinstance(failure, RetrievalFailed) else [DANUBE]

    replies = [judged("2,850 km", 3, suggestions=["more"]), failure]
    answer = World(found=found, answer_and_judge=replies).answer(QUESTION, "self_irag")  # pyright: ignore[reportArgumentType]
    assert (answer.text, answer.confidence) == ("2,850 km", pytest.approx(0.6))
    assert answer.trace["stopped_by"] == type(failure).__name__


def test_an_empty_answer_with_full_marks_is_no_answer_and_does_not_end_the_search() -> None:
    empty = judged("", 5, suggestions=["length of the Danube"])
    world = World(found=[DANUBE], answer_and_judge=[empty, judged("2,850 km", 5)])
    answer = world.answer(QUESTION, "self_irag")
    assert (answer.text, answer.trace["iterations"]) == ("2,850 km", 2)
    assert [step.confidence for step in steps(world)] == [None, 1.0]
    assert "<answer>" not in world.calls[1].prompt.user, "nothing cannot be improved"


def test_nothing_but_empty_answers_is_an_abstention() -> None:
    world = World(found=[DANUBE], answer_and_judge=judged("", 5, suggestions=["length of the Danube"]))
    answer = world.answer(QUESTION, "self_irag")
    assert (answer.outcome, answer.confidence) == (Outcome.ABSTAINED, None)
    assert len(world.calls) == 2, "the second search found nothing to try again with"


def test_an_answer_that_the_judge_calls_unsupported_is_withheld_when_the_evidence_lacks_it() -> None:
    world = World(found=[DANUBE], answer_and_judge=draft("The Rhine", "", "no", **scores(5)))
    answer = world.answer(QUESTION, "self_irag")
    assert (answer.outcome, answer.trace["withheld"]) == (Outcome.ABSTAINED, "The Rhine")


def test_the_next_search_adds_the_first_two_suggestions_to_the_question_itself() -> None:
    replies = [judged("km", 2, suggestions=["one", "two", "three"]), judged("long", 2, suggestions=["four"])]
    world = World(found=[DANUBE], answer_and_judge=[*replies, judged("2,850 km", 5)])
    world.answer(QUESTION, "self_irag")
    searched = [search.queries[0].text for search in world.searches]
    assert searched == [QUESTION, f"{QUESTION} one two", f"{QUESTION} four"]


def test_passages_of_earlier_searches_stay_beside_the_new_ones() -> None:
    sea = passage("It ends in the Black Sea.", 2)

    def found(request: Retrieve) -> list[Passage]:
        return [sea] if "sea" in request.queries[0].text else [DANUBE]

    world = World(found=found, answer_and_judge=[judged("km", 2, suggestions=["sea"]), judged("2,850 km", 5)])
    answer = world.answer(QUESTION, "self_irag")
    assert set(answer.evidence) == {DANUBE, sea}
    assert DANUBE.text in world.calls[1].prompt.user
    assert sea.text in world.calls[1].prompt.user


def test_no_more_passages_are_gathered_than_a_prompt_shows() -> None:
    def found(request: Retrieve) -> list[Passage]:
        return [passage(f"{request.queries[0].text} text {n}", n) for n in range(1, 6)]

    config = StrategyConfig(search=SearchConfig(max_passages=4))
    replies = [judged("km", 2, suggestions=["sea"]), judged("text 1", 5)]
    answer = World(found=found, answer_and_judge=replies).answer(QUESTION, "self_irag", config)
    asked_for = [QUESTION in passage.text and "sea" not in passage.text for passage in answer.evidence]
    assert (len(answer.evidence), sum(asked_for)) == (4, 2)


def test_a_rewrite_is_told_the_answer_its_faults_and_the_numbers_that_stand_nowhere() -> None:
    replies = [judged("It is 3,000 km long", 3, issues=["the length is wrong"]), judged("2,850 km", 5)]
    world = World(found=[DANUBE], answer_and_judge=replies)
    world.answer(QUESTION, "self_irag")
    shown = world.calls[1].prompt.user
    assert "<answer>It is 3,000 km long</answer>" in shown
    assert "the length is wrong; 3000 stands in no passage" in shown


def test_without_answer_refinement_nothing_earlier_is_shown_and_only_news_is_asked() -> None:
    refining = config(enable_answer_refinement=False)
    world = World(found=[DANUBE], answer_and_judge=judged("km", 2, issues=["terse"], suggestions=["length"]))
    answer = world.answer(QUESTION, "self_irag", refining)
    assert answer.trace["iterations"] == 2, "the third search would be the second again"
    assert all("<answer>" not in user for user in world.shown("answer_and_judge"))


def test_without_retrieval_refinement_the_question_alone_is_searched_with() -> None:
    refining = config(enable_retrieval_refinement=False)
    world = World(found=[DANUBE], answer_and_judge=judged("km", 2, issues=["terse"], suggestions=["length"]))
    world.answer(QUESTION, "self_irag", refining)
    assert {search.queries[0].text for search in world.searches} == {QUESTION}


def test_without_either_refinement_one_iteration_is_all() -> None:
    refining = config(enable_answer_refinement=False, enable_retrieval_refinement=False)
    world = World(found=[DANUBE], answer_and_judge=judged("km", 2, issues=["terse"], suggestions=["length"]))
    assert world.answer(QUESTION, "self_irag", refining).trace["iterations"] == 1


@pytest.mark.parametrize(("threshold", "iterations"), [(0.0, 1), (0.59, 1), (0.61, 3), (1.0, 3)])
def test_the_threshold_ends_it(threshold: float, iterations: int) -> None:
    world = World(found=[DANUBE], answer_and_judge=judged("2,850 km", 3, issues=["terse"]))
    answer = world.answer(QUESTION, "self_irag", config(confidence_threshold=threshold))
    assert answer.trace["iterations"] == iterations


def test_every_iteration_leaves_an_audit_row() -> None:
    world = World(found=[DANUBE], answer_and_judge=[judged("km", 2, suggestions=["sea"]), judged("2,850 km", 5)])
    world.answer(QUESTION, "self_irag")
    first, second = steps(world)
    assert (first.iteration, first.query, first.answer) == (1, QUESTION, "km")
    assert (second.iteration, second.query, second.answer) == (2, f"{QUESTION} sea", "2,850 km")
    assert first.evaluation.suggestions == ("sea",)
    assert (first.evaluation.relevance, first.evaluation.grounding) == (0.4, 1.0)


def test_hostile_judgements_never_raise() -> None:
    for hostile in (
        "[]",
        "5",
        "null",
        '"relevance": 0.9.1',
        '{"relevance": []}',
        "{" * 3000,
        '{"suggestions": [1, null]}',
    ):
        world = World(found=[DANUBE], answer=draft("2,850 km", QUOTE), judge=hostile)
        assert world.answer(QUESTION, "self_irag", SLOW).text == "2,850 km"


def test_confidence_is_the_geometric_mean_held_down_by_the_evidence() -> None:
    evaluation = Evaluation(relevance=1.0, accuracy=0.1, completeness=1.0, clarity=1.0)
    assert evaluation.confidence == pytest.approx(0.1**0.25)
    assert replace(evaluation, grounding=0.3).confidence == 0.3
    assert replace(evaluation, supported=False).confidence == 0.2
    assert replace(evaluation, accuracy=None).confidence is None
    assert replace(evaluation, accuracy=0.0).confidence == 0.0
    assert RefinementStep(1, "q", "a", evaluation).confidence == evaluation.confidence


def test_the_fast_prompt_is_the_same_for_the_same_question_so_that_it_can_be_replayed() -> None:
    def run() -> list[Ask]:
        world = World(found=[DANUBE], answer_and_judge=judged("km", 2, suggestions=["sea"]))
        world.answer(QUESTION, "self_irag")
        return world.calls

    assert run() == run()
