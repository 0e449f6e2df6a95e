from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from scripted import World, draft, passage, scores

from burnish.config import RecursiveConfig, StrategyConfig
from burnish.effects import Ask, Reply, Retrieve, Subquestion, Together
from burnish.errors import EffectFailed, LanguageModelUnavailable
from burnish.results import Outcome, Passage, SubAnswer
from burnish.strategies.cues import is_complex
from burnish.strategies.registry import begin

QUESTION = "What are the causes and effects of flooding, and how do cities prepare?"
CAUSES, EFFECTS, PREPARING = (
    "What causes flooding?",
    "What does flooding lead to?",
    "How do cities prepare for flooding?",
)
FLOODS = passage("Heavy rain causes flooding. Flooding leads to damage. Cities prepare with dams.")
ANSWERS = {
    CAUSES: ("Heavy rain", "Heavy rain causes flooding"),
    EFFECTS: ("Damage", "Flooding leads to damage"),
    PREPARING: ("With dams", "Cities prepare with dams"),
}
MERGED = json.dumps({"answer": "Heavy rain causes flooding, and its effects lead to damage; cities prepare with dams."})


def parts(*questions: str) -> str:
    return json.dumps({"sub_questions": questions}, ensure_ascii=False)


def known(ask: Ask) -> str:
    """The answer to the sub-question that the prompt shows, or none."""
    found = next((answer for part, answer in ANSWERS.items() if f"Question: {part}" in ask.prompt.user), ("", ""))
    return draft(*found, supported="yes" if found[0] else "no")


def flooded(**rules: Any) -> World:
    return World(
        found=[FLOODS], **{"decompose": parts(CAUSES, EFFECTS, PREPARING), "answer": known, "merge": MERGED} | rules
    )


def recursive(**settings: Any) -> StrategyConfig:
    return StrategyConfig(recursive=RecursiveConfig(**settings))


def test_a_simple_question_takes_one_call_and_one_search() -> None:
    world = World(found=[FLOODS], answer=draft("Heavy rain", "Heavy rain causes flooding"))
    assert world.answer("What is it that makes rivers leave their beds?", "recursive").text == "Heavy rain"
    assert (world.kinds, len(world.searches)) == (["answer"], 1)


def test_a_compound_question_is_taken_apart_answered_and_put_together() -> None:
    world = flooded()
    answer = world.answer(QUESTION, "recursive")
    assert answer.text == json.loads(MERGED)["answer"]
    assert (answer.outcome, answer.confidence) == (Outcome.SUCCEEDED, 1.0)
    assert world.kinds == ["decompose", "answer", "answer", "answer", "merge"]
    assert answer.trace["sub_questions"] == [CAUSES, EFFECTS, PREPARING]
    assert [citation.quote for citation in answer.citations] == [quote for _, quote in ANSWERS.values()]
    assert answer.evidence == (FLOODS,)
    assert world.records == [
        SubAnswer(n, part, ANSWERS[part][0], 1, Outcome.SUCCEEDED, 1.0)
        for n, part in enumerate((CAUSES, EFFECTS, PREPARING))
    ]


def test_parts_that_need_nothing_of_each_other_are_asked_together_and_in_their_order() -> None:
    steps = begin(Subquestion(QUESTION, "recursive", StrategyConfig(), depth=0))
    next(steps)
    children = steps.send(Reply(parts(CAUSES, EFFECTS, PREPARING)))
    assert isinstance(children, Together)
    asked = [child.question for child in children.effects if isinstance(child, Subquestion)]
    assert asked == [CAUSES, EFFECTS, PREPARING]


def test_four_identical_sub_questions_are_no_decomposition_and_cost_two_calls() -> None:
    world = flooded(decompose=parts(*[f"{QUESTION[:40]} in all?"] * 4), answer=draft("Heavy rain", "Heavy rain"))
    answer = world.answer(QUESTION, "recursive")
    assert (answer.text, world.kinds) == ("Heavy rain", ["decompose", "answer"])


@pytest.mark.parametrize("spelling", [QUESTION, QUESTION.upper(), f" {QUESTION[:-1]} ?!", QUESTION.replace(" ", "  ")])
def test_a_sub_question_equal_to_the_question_is_not_asked(spelling: str) -> None:
    world = flooded(decompose=parts(spelling, CAUSES, EFFECTS))
    world.answer(QUESTION, "recursive")
    assert [asked.question for asked in world.subquestions] == [CAUSES, EFFECTS]


def test_a_sub_question_equal_to_an_ancestor_is_not_asked() -> None:
    below = "What are the causes and effects of flooding in cities at all?"

    def decompose(ask: Ask) -> str:
        return parts(QUESTION, below.upper(), CAUSES) if below in ask.prompt.user else parts(below, PREPARING)

    world = flooded(decompose=decompose)
    world.answer(QUESTION, "recursive")
    assert Counter(asked.question for asked in world.subquestions) == {below: 1, PREPARING: 1}


def test_repetitions_do_not_use_up_the_places_of_others() -> None:
    world = flooded(decompose=parts(CAUSES, CAUSES, "what causes FLOODING", CAUSES, EFFECTS))
    world.answer(QUESTION, "recursive")
    assert [asked.question for asked in world.subquestions] == [CAUSES, EFFECTS]


def test_more_sub_questions_than_the_cap_are_cut_and_the_model_is_told_the_cap() -> None:
    world = flooded(
        decompose=parts(*(f"What is part number {n}?" for n in range(9))), answer=draft("Heavy rain", "rain")
    )
    answer = world.answer(QUESTION, "recursive", recursive(max_sub_questions=3))
    assert answer.trace["sub_questions"] == [f"What is part number {n}?" for n in range(3)]
    assert "two to 3 questions" in next(call.prompt.system for call in world.calls if call.prompt.kind == "decompose")


@pytest.mark.parametrize("most", [1, 2, 3, 7, 20, 40])
@pytest.mark.parametrize("depth", [0, 1, 3, 6])
def test_a_tree_that_would_grow_for_ever_stays_within_its_nodes_and_its_depth(most: int, depth: int) -> None:
    def grow(ask: Ask) -> str:
        stem = ask.prompt.user.removeprefix("Question: ").partition("?")[0]
        return parts(*(f"{stem} and how and why {n}?" for n in range(4)))

    world = flooded(decompose=grow, answer=draft("Heavy rain", "Heavy rain"), merge="no")
    world.answer(QUESTION, "recursive", recursive(max_nodes=most, max_depth=depth))
    assert 1 + len(world.subquestions) <= most
    assert max((asked.depth for asked in world.subquestions), default=0) <= depth


def test_a_question_at_the_greatest_depth_is_answered_directly() -> None:
    world = flooded(answer=draft("Heavy rain", "Heavy rain"))
    world.answer(QUESTION, "recursive", recursive(max_depth=0))
    assert world.kinds == ["answer"]


@pytest.mark.parametrize(
    "plan", ["no list at all", parts(), parts(CAUSES), "[]", "null", '{"sub_questions": [[1], 2]}']
)
def test_a_plan_of_fewer_than_two_parts_is_answered_directly(plan: str) -> None:
    world = flooded(decompose=plan, answer=draft("Heavy rain", "Heavy rain"))
    assert world.answer(QUESTION, "recursive").text == "Heavy rain"
    assert world.subquestions == []


def test_a_planner_that_is_down_is_done_without() -> None:
    world = flooded(decompose=LanguageModelUnavailable("down"), answer=draft("Heavy rain", "Heavy rain"))
    assert world.answer(QUESTION, "recursive").text == "Heavy rain"


def test_a_dependent_part_waits_and_is_asked_with_the_earlier_answer_filled_in() -> None:
    def answer(ask: Ask) -> str:
        return (
            draft("Jane Austen.", "Jane Austen") if "wrote Emma" in ask.prompt.user else draft("Steventon", "Steventon")
        )

    world = World(
        found=[passage("Jane Austen was born in Steventon.")],
        decompose=parts("Who wrote Emma?", "Where was #1 born?", "Is #2 the town where #1 lived?"),
        answer=answer,
        merge="no",
    )
    world.answer("Who wrote Emma, and where and how and why was the author born?", "recursive")
    asked = [asked.question for asked in world.subquestions]
    assert asked == ["Who wrote Emma?", "Where was Jane Austen born?", "Is Steventon the town where Jane Austen lived?"]
    assert all(asked.ancestors for asked in world.subquestions)


def test_a_part_that_becomes_the_question_itself_once_it_is_filled_in_is_not_asked() -> None:
    question = "How and why and when did Jane Austen write Emma?"
    world = World(
        found=[passage("Jane Austen wrote Emma.")],
        decompose=parts("Who wrote Emma?", "How and why and when did #1 write Emma?"),
        answer=draft("Jane Austen", "Jane Austen wrote Emma"),
    )
    assert world.answer(question, "recursive").outcome is Outcome.ABSTAINED
    assert [asked.question for asked in world.subquestions] == ["Who wrote Emma?"]


def test_an_answer_that_looks_like_a_reference_is_not_filled_in_again() -> None:
    def answer(ask: Ask) -> str:
        return draft("#2 of all", "#2 of all") if "first" in ask.prompt.user else draft("rank #1", "rank #1")

    world = World(
        found=[passage("It is #2 of all, at rank #1.")],
        decompose=parts("What is first?", "What is second?", "Compare #1 with #2."),
        answer=answer,
        merge="no",
    )
    world.answer(QUESTION, "recursive")
    assert world.subquestions[2].question == "Compare #2 of all with rank #1."


@pytest.mark.parametrize(
    "plan",
    [
        ("Where was #1 born?", "Who wrote Emma?"),
        ("Who wrote Emma?", "Where was #2 born?"),
        ("Who wrote Emma?", "Where was #3 born?"),
        ("Who wrote Emma?", "Where was #0 born?"),
        ("Who wrote Emma?", "Who wrote Emma?", "Who is the author?", "Where was #3 born?"),
    ],
)
def test_a_plan_whose_references_do_not_hold_is_void(plan: tuple[str, ...]) -> None:
    world = flooded(decompose=parts(*plan), answer=draft("Heavy rain", "Heavy rain"))
    world.answer(QUESTION, "recursive")
    assert (world.subquestions, world.kinds) == ([], ["decompose", "answer"])


def test_references_stay_good_when_only_the_last_parts_are_cut() -> None:
    world = flooded(decompose=parts(CAUSES, "What about #1?", EFFECTS, PREPARING))
    world.answer(QUESTION, "recursive", recursive(max_sub_questions=2))
    assert [asked.question for asked in world.subquestions] == [CAUSES, "What about Heavy rain?"]


def test_a_number_sign_of_the_questions_own_is_no_reference() -> None:
    question = "Which song was #1 in 1999, and how and why did it get there?"
    world = flooded(decompose=parts("Which songs came out in 1999?", "How did the #1 song get there?"))
    world.answer(question, "recursive")
    assert world.subquestions == []


def test_a_part_whose_earlier_answer_is_missing_is_not_asked_and_no_stepping_stone_is_the_answer() -> None:
    world = World(
        found=[passage("Jane Austen wrote Emma.")],
        decompose=parts("Who wrote Emma?", "Where was #1 born?"),
        answer=[draft("Jane Austen", "Jane Austen"), draft("", "", "no")],
    )
    answer = world.answer("Who wrote Emma, and where and how and why was the author born?", "recursive")
    assert answer.outcome is Outcome.ABSTAINED
    assert "merge" not in world.kinds
    world = flooded(decompose=parts("Is it known at all?", "Where was #1 born?"))
    assert world.answer(QUESTION, "recursive").outcome is Outcome.ABSTAINED
    assert [asked.question for asked in world.subquestions] == ["Is it known at all?"]


def test_when_no_part_has_an_answer_it_abstains_without_merging() -> None:
    world = flooded(answer=draft("", "", "no"))
    answer = world.answer(QUESTION, "recursive")
    assert (answer.outcome, answer.confidence) == (Outcome.ABSTAINED, None)
    assert "merge" not in world.kinds


def test_when_every_part_fails_it_fails_without_merging() -> None:
    world = flooded(answer=LanguageModelUnavailable("down"))
    with pytest.raises(LanguageModelUnavailable):
        world.answer(QUESTION, "recursive")
    assert "merge" not in world.kinds
    assert [record.outcome for record in world.records if isinstance(record, SubAnswer)] == [Outcome.FAILED] * 3


def test_parts_that_have_an_answer_are_merged_without_the_others_and_half_an_answer_is_half_sure() -> None:
    def only_causes(ask: Ask) -> str | EffectFailed:
        return LanguageModelUnavailable("down") if PREPARING in ask.prompt.user else known(ask)

    world = flooded(
        decompose=parts(CAUSES, PREPARING),
        answer=only_causes,
        merge=json.dumps({"answer": "Heavy rain causes flooding."}),
    )
    answer = world.answer(QUESTION, "recursive")
    assert (answer.outcome, answer.confidence, answer.trace["answered"]) == (Outcome.SUCCEEDED, 0.5, 1)
    assert PREPARING not in world.shown("merge")[0]


@pytest.mark.parametrize(
    "merge",
    [
        LanguageModelUnavailable("down"),
        '{"answer": ""}',
        '{"note": "here you are"}',
        '{"answer": "Penguins rule a distant archipelago of ice and commerce."}',
        '{"answer": "Heavy rain causes flooding, damage in 1987; cities prepare with dams."}',
    ],
    ids=["down", "empty", "unreadable", "invented", "a number of its own"],
)
def test_a_merge_that_fails_or_says_what_the_parts_do_not_gives_the_answers_one_after_the_other(merge: Any) -> None:
    answer = flooded(merge=merge).answer(QUESTION, "recursive")
    assert answer.text == "Heavy rain\n\nDamage\n\nWith dams"
    assert (answer.outcome, answer.trace["merged_by"]) == (Outcome.SUCCEEDED, "concatenation")


def test_a_merge_in_plain_words_is_taken_too() -> None:
    plain = "Heavy rain causes flooding, which leads to damage; cities prepare with dams."
    assert flooded(merge=plain).answer(QUESTION, "recursive").text == plain


def test_a_merged_text_is_trusted_no_further_than_it_agrees_with_its_parts() -> None:
    half = json.dumps({"answer": "Heavy rain, damage, dams; elephants sing operas."})
    confidence = flooded(merge=half).answer(QUESTION, "recursive").confidence
    assert confidence is not None
    assert 0.5 <= confidence < 0.7


def test_it_is_no_surer_than_its_least_sure_part_and_unknown_if_one_is() -> None:
    def unquoted(ask: Ask) -> str:
        return draft("Heavy rain") if CAUSES in ask.prompt.user else known(ask)

    assert flooded(answer=unquoted).answer(QUESTION, "recursive").confidence == 0.5

    def in_another_script(ask: Ask) -> str:
        return draft("مطر غزير") if CAUSES in ask.prompt.user else known(ask)

    assert flooded(answer=in_another_script).answer(QUESTION, "recursive").confidence is None


def test_leaves_may_be_answered_by_another_strategy() -> None:
    def both(ask: Ask) -> str:
        return json.dumps(json.loads(known(ask)) | scores(5))

    world = flooded(answer_and_judge=both)
    answer = world.answer(QUESTION, "recursive", recursive(leaf="self_irag"))
    assert answer.confidence == 1.0
    assert world.kinds.count("answer_and_judge") == 3


def test_evidence_of_all_parts_is_joined_and_repeated_once() -> None:
    shared, own = passage("Heavy rain causes flooding.", 1), passage("Cities prepare with dams.", 2)

    def found(request: Retrieve) -> list[Passage]:
        return [shared, own] if request.queries[0].text == PREPARING else [shared]

    world = World(found=found, decompose=parts(CAUSES, PREPARING), answer=known, merge=MERGED)
    assert world.answer(QUESTION, "recursive").evidence == (shared, own)


SIMPLE = [
    "What is the standard height of the tallest building in the world?",
    "Show the history of the Netherlands' oldest orchard in a word",
    "Handing over the sandwich to the landlord in Portland, Oregon",
    "What is the showtime of the movie that everybody somehow knew?",
    "How far is it from the moon to the sun in a straight line?",
    "كم ثمن جهاز مكيف الهواء الذي يباع في متجر المدينة؟",
    "من هو وزير الصناعة في حكومة المملكة المتحدة سنة ١٩٩٠؟",
    "كيف يعمل وزير الخارجية في مكتبه الجديد بالعاصمة؟",
    "ما هو وقت إقلاع الطائرة المتجهة إلى مدينة القاهرة غداً؟",
    "What are causes and effects?",
]
COMPLEX = [
    "What are the causes and effects of the Industrial Revolution?",
    "HOW did it begin, AND -- WHY did it ever come to an end?",
    "Compare the wages of the two; when were they the highest ever?",
    "ما هي أسباب ونتائج الثورة الصناعية وكيف أثرت على المجتمع؟",
    "مَا هِيَ أَسْبَابُ الثَّوْرَةِ الصِّنَاعِيَّةِ وَنَتَائِجُهَا وَكَيْفَ أَثَّرَتْ؟",
    "ما الفرق بين الأسباب المباشرة للحرب والأسباب البعيدة لها؟",
    "لماذا سقطت الدولة ومتى حدث ذلك بالتفصيل في التاريخ؟",
    "مـــا العلاقة بين التضخم والبطالة في الدول النامية اليوم؟",
    "متى افتُتحت القناة أمام الملاحة، وكم يبلغ طول النهر بالكيلومترات؟",
    "متى أُنشئ مختبر المخطوطات في المدينة، وفي أي قرية وُلد مؤسسه؟",
]


@pytest.mark.parametrize("question", SIMPLE)
def test_a_simple_question_is_known_as_simple(question: str) -> None:
    assert not is_complex(question, RecursiveConfig())


@pytest.mark.parametrize("question", COMPLEX)
def test_a_compound_question_is_known_as_compound(question: str) -> None:
    assert is_complex(question, RecursiveConfig())


def test_length_counts_from_the_configured_one_on() -> None:
    question = f"how and {'x' * 32}"
    assert len(question) == 40
    assert is_complex(question, RecursiveConfig())
    assert not is_complex(question[:-1], RecursiveConfig())


def test_the_same_keyword_twice_is_one() -> None:
    assert not is_complex("how long and", RecursiveConfig(min_query_length=1, complexity_keywords=("how", "How")))
    assert not is_complex("how how how", RecursiveConfig(min_query_length=1))


def test_keywords_may_be_phrases_and_empty_ones_match_nothing() -> None:
    config = RecursiveConfig(min_query_length=1, complexity_keywords=("as well as", "in contrast to", "", "?!"))
    assert is_complex("A as well as B, in contrast to C", config)
    assert not is_complex("as it is well known as such, in stark contrast to C", config)
    assert not is_complex("", config)
