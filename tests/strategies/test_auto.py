from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripted import World, draft, passage, scores

from burnish.config import AutoConfig, RecursiveConfig, StrategyConfig
from burnish.effects import Ask, Reply, Subquestion, Together
from burnish.errors import LanguageModelUnavailable, RetrievalFailed
from burnish.results import Outcome
from burnish.strategies.registry import begin

DANUBE = passage("The Danube is 2,850 km long and rises in the Black Forest.")
GOOD = draft("2,850 km", "The Danube is 2,850 km long", **scores(5))
PLAIN = "How long is the Danube?"
SEVERAL = "How long is the Danube, and when and where does it rise?"
HOPS = "How long is the river that the city of Vienna is built on?"
OTHER_WORDS = "Why do rivers swell in spring?"
OPEN = "Up to how many kilometres a day did rowing boats once cover going down the long Danube?"
ALL = ("direct", "self_irag", "hyde", "recursive", "self_rag", "multi_hop")
EXAMPLES = Path(__file__).parents[2] / "examples" / "questions.jsonl"


def config(**settings: Any) -> StrategyConfig:
    return StrategyConfig(auto=AutoConfig(**settings))


def choice(strategy: str, reason: str = "it fits") -> str:
    return json.dumps({"reason": reason, "strategy": strategy})


def choosing(**rules: Any) -> World:
    everything = {
        "answer": GOOD,
        "answer_and_judge": GOOD,
        "hypothesise": "An imagined passage that is long enough to be searched with.",
        "decompose": json.dumps({"sub_questions": ["How long is the Danube?", "Where does it rise?"]}),
        "merge": '{"answer": "2,850 km"}',
        "sufficiency": '{"sufficient": "yes"}',
        "relevance": "yes",
        "support": '{"supported": "yes"}',
        "use": '{"useful": "yes"}',
    }
    return World(found=[DANUBE], **everything | rules)


@pytest.mark.parametrize(
    ("question", "chosen", "kinds"),
    [
        (PLAIN, "self_irag", ["answer_and_judge"]),
        (SEVERAL, "recursive", ["decompose", "answer", "answer", "merge"]),
        (
            "Why do rivers swell in spring, and how do they fall?",
            "recursive",
            ["decompose", "answer", "answer", "merge"],
        ),
        (HOPS, "multi_hop", ["sufficiency", "answer"]),
        (OTHER_WORDS, "hyde", ["hypothesise"] * 3 + ["answer"]),
        ("كم يبلغ طول نهر الدانوب؟", "self_irag", ["answer_and_judge"]),
        ("ما الرقم الداخلي للموظفة التي تدير المكتبة المتنقلة؟", "multi_hop", ["sufficiency", "answer"]),
        (
            "متى افتُتحت القناة أمام الملاحة، وكم يبلغ طول النهر بالكيلومترات؟",
            "recursive",
            ["decompose", "answer", "answer", "merge"],
        ),
    ],
)
def test_the_questions_own_words_choose_without_a_call(question: str, chosen: str, kinds: list[str]) -> None:
    world = choosing()
    answer = world.answer(question, "auto")
    assert (answer.trace["chosen"], answer.trace["by"]) == (chosen, "features")
    assert answer.trace["reason"]
    assert world.kinds == kinds


def test_the_answer_is_that_of_the_chosen_strategy_with_its_trace() -> None:
    chosen, automatic = (choosing().answer(PLAIN, strategy) for strategy in ("self_irag", "auto"))
    assert (automatic.text, automatic.confidence, automatic.citations) == (
        chosen.text,
        chosen.confidence,
        chosen.citations,
    )
    assert {**automatic.trace, **chosen.trace} == automatic.trace


@pytest.mark.parametrize("chosen", ALL)
def test_where_the_words_leave_it_open_the_model_chooses(chosen: str) -> None:
    world = choosing(choose=choice(chosen, "it says so"))
    answer = world.answer(OPEN, "auto", config(candidates=ALL))
    told = (answer.trace["chosen"], answer.trace["reason"], answer.trace["by"])
    assert told == (chosen, "it says so", "model")
    assert world.kinds.count("choose") == 1
    assert answer.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    "question",
    [
        OPEN,
        "How long is the river that Vienna is built on, and when and why was the city founded?",
        "Where can I meet the person who leads the project?",
        "Wie lang ist die Donau?",
    ],
    ids=["long", "several and hops", "hops and other words", "another language"],
)
def test_the_model_is_asked_where_cues_disagree_are_missing_or_cannot_be_read(question: str) -> None:
    world = choosing(choose=choice("self_irag"))
    assert world.answer(question, "auto").trace["by"] == "model"


@pytest.mark.parametrize(
    "said",
    ["no idea", "[]", choice("magic"), choice("direct"), '{"strategy": null}', LanguageModelUnavailable("down")],
    ids=str,
)
def test_a_choice_that_cannot_be_had_or_read_is_the_default_after_one_call(said: Any) -> None:
    world = choosing(choose=said)
    answer = world.answer(OPEN, "auto")
    assert (answer.trace["chosen"], answer.trace["by"]) == ("self_irag", "default")
    assert world.kinds == ["choose", "answer_and_judge"]


def test_a_choice_is_read_in_the_ways_models_write_names() -> None:
    for written in ("multi_hop", "Multi-Hop", " multi hop ", "MULTI_HOP."):
        world = choosing(choose=choice(written))
        assert world.answer(OPEN, "auto").trace["chosen"] == "multi_hop"


def test_without_the_model_what_is_open_is_the_default() -> None:
    world = choosing()
    answer = world.answer(OPEN, "auto", config(ask_model=False, candidates=("direct", "hyde"), default="direct"))
    assert (answer.trace["chosen"], answer.trace["by"], world.kinds) == ("direct", "default", ["answer"])


def test_a_strategy_that_is_no_candidate_is_not_chosen() -> None:
    world = choosing(choose=choice("hyde"))
    answer = world.answer(HOPS, "auto", config(candidates=("self_irag", "hyde")))
    assert (answer.trace["chosen"], answer.trace["by"]) == ("hyde", "model")
    assert "multi_hop" not in world.shown("choose")[0]
    assert dict(world.calls[0].prompt.schema or {})["properties"]["strategy"]["enum"] == ["self_irag", "hyde"]


def test_of_one_candidate_there_is_nothing_to_choose() -> None:
    world = choosing()
    answer = world.answer(OPEN, "auto", config(candidates=("multi_hop",), default="multi_hop"))
    assert (answer.trace["chosen"], answer.trace["by"], "choose" in world.kinds) == ("multi_hop", "default", False)


def test_below_other_questions_a_recursive_choice_keeps_its_depth_and_its_ancestors() -> None:
    deep = StrategyConfig(recursive=RecursiveConfig(max_depth=3))
    steps = begin(Subquestion(SEVERAL, "auto", deep, depth=2, ancestors=("how long is the danube",)))
    effect = next(steps)
    assert isinstance(effect, Ask)
    plan = json.dumps({"sub_questions": ["How long is the Danube?", "When does it rise?", "Where does it rise?"]})
    children = steps.send(Reply(plan))
    assert isinstance(children, Together)
    asked = [child for child in children.effects if isinstance(child, Subquestion)]
    assert [child.question for child in asked] == ["When does it rise?", "Where does it rise?"]
    assert {(child.depth, child.strategy, child.ancestors[0]) for child in asked} == {
        (3, "recursive", "how long is the danube")
    }


def test_what_fails_in_the_chosen_strategy_fails() -> None:
    with pytest.raises(RetrievalFailed):
        World(found=RetrievalFailed("down")).answer(PLAIN, "auto")


def test_with_nothing_found_it_abstains_and_still_tells_its_choice() -> None:
    answer = World(found=()).answer(PLAIN, "auto")
    assert (answer.outcome, answer.trace["chosen"]) == (Outcome.ABSTAINED, "self_irag")


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [("simple", "self_irag"), ("vocabulary_gap", "hyde"), ("compound", "recursive"), ("two_hop", "multi_hop")],
)
def test_of_the_example_questions_none_is_chosen_wrongly_by_its_words(kind: str, chosen: str) -> None:
    lines = map(json.loads, EXAMPLES.read_text("utf-8").splitlines())
    questions = [line["question"] for line in lines if line["kind"] == kind]
    choices = [choosing(choose="").answer(question, "auto").trace for question in questions]
    by_words = [trace["chosen"] for trace in choices if trace["by"] == "features"]
    assert set(by_words) == {chosen}
    assert len(by_words) >= len(questions) / 2
