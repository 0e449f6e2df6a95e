"""No evidence, no answer; and what the evidence does not bear out is not trusted."""

from __future__ import annotations

from typing import Literal

import pytest
from scripted import World, draft, passage, scores, sufficiency, support, use

from burnish.config import HyDEConfig, SearchConfig, StrategyConfig
from burnish.effects import Ask, Reply
from burnish.errors import EffectFailed, LanguageModelUnavailable, ReplyUnreadable, RetrievalFailed
from burnish.prompts import wording
from burnish.results import Outcome, Passage
from burnish.strategies.evidence import cite, distinct
from burnish.strategies.registry import STRATEGY_NAMES

QUESTION = "How long is the Danube?"
DANUBE = passage("The Danube is 2,850 km long.", start=100)
GOOD = draft("2,850 km", "The Danube is 2,850 km long")
HYPOTHESIS = "A passage that is long enough to be searched with, about a river."
EMPTY_WORLDS = ["direct", "self_irag", "recursive", "multi_hop", "auto"]
QUERY = '{"query": "river length"}'


@pytest.mark.parametrize("strategy", EMPTY_WORLDS)
def test_with_nothing_found_the_model_is_never_asked(strategy: str) -> None:
    world = World(found=())
    answer = world.answer(QUESTION, strategy)
    assert (answer.outcome, answer.confidence, answer.evidence, world.calls) == (Outcome.ABSTAINED, None, (), [])


def test_hyde_asks_only_for_what_it_searches_with_when_nothing_is_found() -> None:
    world = World(found=(), hypothesise=HYPOTHESIS)
    assert world.answer(QUESTION, "hyde").outcome is Outcome.ABSTAINED
    assert set(world.kinds) == {"hypothesise"}


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
@pytest.mark.parametrize(
    ("question", "language"),
    [(QUESTION, "en"), ("كم يبلغ طول نهر الدانوب؟", "ar"), ("Quelle est la longueur du Danube et des autres ?", "en")],
)
def test_it_abstains_in_the_language_of_the_question(
    strategy: str, question: str, language: Literal["en", "ar"]
) -> None:
    answer = World(found=(), hypothesise=HYPOTHESIS, rephrase=QUERY, choose="").answer(question, strategy)
    assert answer.text == wording.NO_EVIDENCE[language]


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_a_search_that_is_down_is_a_failure_and_no_abstention(strategy: str) -> None:
    world = World(found=RetrievalFailed("down"), hypothesise=HYPOTHESIS)
    with pytest.raises(RetrievalFailed):
        world.answer(QUESTION, strategy)


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_a_model_that_is_down_is_a_failure_and_no_abstention(strategy: str) -> None:
    down = LanguageModelUnavailable("down")
    world = World(found=[DANUBE], hypothesise=down, answer=down, answer_and_judge=down, relevance=down, rephrase=down)
    with pytest.raises(LanguageModelUnavailable):
        world.answer(QUESTION, strategy)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_with_more_room() -> None:
    world = World(found=[DANUBE], answer=["I would say 2,850 km.", GOOD])
    assert world.answer(QUESTION).text == "2,850 km"
    first, second = world.calls
    assert second.prompt.user.startswith(first.prompt.user)
    assert second.prompt.max_tokens == 2 * first.prompt.max_tokens


def test_two_unreadable_replies_are_a_failure_since_the_documents_may_hold_the_answer() -> None:
    world = World(found=[DANUBE], answer="I would say 2,850 km.")
    with pytest.raises(ReplyUnreadable):
        world.answer(QUESTION)
    assert len(world.calls) == 2


def test_a_reply_that_was_cut_is_asked_for_once_more_and_half_an_answer_is_better_than_none() -> None:
    cut = Reply('{"quote": "The Danube is 2,850 km long", "answer": "The Danube is 2,850', truncated=True)
    world = World(found=[DANUBE], answer=[cut, GOOD])
    assert world.answer(QUESTION).text == "2,850 km"
    world = World(found=[DANUBE], answer=[cut, "nothing that can be read"])
    assert world.answer(QUESTION).text == "The Danube is 2,850"


def test_the_model_saying_that_it_found_nothing_is_an_abstention_with_what_it_was_shown() -> None:
    for nothing in (draft("", "", "no"), '{"quote": null, "answer": null, "supported": "no"}'):
        answer = World(found=[DANUBE], answer=nothing).answer(QUESTION)
        assert (answer.outcome, answer.text) == (Outcome.ABSTAINED, wording.NO_EVIDENCE["en"])
        assert answer.evidence == (DANUBE,)


def test_a_quote_becomes_a_citation_with_its_place_in_the_document() -> None:
    second = passage("It ends in the Black Sea.", 2, start=500)
    answer = World(found=[DANUBE, second], answer=draft("the Black Sea", "ends in the black sea")).answer(QUESTION)
    [citation] = answer.citations
    assert (citation.quote, citation.document_id, citation.chunk_id) == ("ends in the Black Sea", "d2", "c2")
    assert (citation.start, citation.end) == (503, 524)


@pytest.mark.parametrize("quote", ["", "The Danube is about 2,850 km long", "2,580 km", "is the"])
@pytest.mark.parametrize("strategy", ["direct", "self_irag", "hyde"])
def test_without_a_verbatim_quote_there_is_no_citation_and_confidence_is_held_down(strategy: str, quote: str) -> None:
    both = draft("2,850 km", quote, **scores(5))
    world = World(found=[DANUBE], answer=both, answer_and_judge=both, hypothesise=HYPOTHESIS)
    answer = world.answer(QUESTION, strategy)
    assert (answer.outcome, answer.confidence, answer.citations) == (Outcome.SUCCEEDED, 0.5, ())


@pytest.mark.parametrize("strategy", ["direct", "self_irag", "hyde"])
@pytest.mark.parametrize("wrong", ["2,950 km", "The Danube is 2,850 km long, since 1998", "285 km"])
def test_a_number_that_the_evidence_lacks_holds_confidence_down_whatever_the_judge_says(
    strategy: str, wrong: str
) -> None:
    both = draft(wrong, "The Danube is 2,850 km long", **scores(5))
    world = World(found=[DANUBE], answer=both, answer_and_judge=both, hypothesise=HYPOTHESIS)
    confidence = world.answer(QUESTION, strategy).confidence
    assert confidence is not None
    assert confidence <= 0.25


def test_numbers_agree_in_any_spelling_and_script() -> None:
    arabic = passage("يبلغ طول نهر الدانوب ٢٬٨٥٠ كيلومتراً.", language="ar")
    quote = "يبلغ طول نهر الدانوب"
    answer = World(found=[arabic], answer=draft("2850 كيلومتراً", quote)).answer("كم يبلغ طول نهر الدانوب؟")
    assert (answer.confidence, len(answer.citations)) == (1.0, 1)


def test_an_answer_that_cannot_be_compared_has_no_confidence_rather_than_a_middling_one() -> None:
    answer = World(found=[DANUBE], answer=draft("طوله كبير جدا", "The Danube")).answer("كم يبلغ طول نهر الدانوب؟")
    assert (answer.outcome, answer.confidence) == (Outcome.SUCCEEDED, None)


def test_an_answer_that_calls_itself_unsupported_is_withheld_unless_its_words_and_quote_stand_there() -> None:
    invented = World(found=[DANUBE], answer=draft("It is the Rhine", "It is the Rhine", "no")).answer(QUESTION)
    assert (invented.outcome, invented.trace["withheld"]) == (Outcome.ABSTAINED, "It is the Rhine")
    modest = World(found=[DANUBE], answer=draft("2,850 km", "2,850 km long", "no")).answer(QUESTION)
    assert (modest.outcome, modest.confidence) == (Outcome.SUCCEEDED, 0.2)
    unquoted = World(found=[DANUBE], answer=draft("2,850 km", "", "no")).answer(QUESTION)
    assert unquoted.outcome is Outcome.ABSTAINED


def test_texts_that_repeat_are_shown_once_and_a_shared_header_is_no_repetition() -> None:
    header = "General terms and conditions of the Example Company, version 7, in force since the first of January. " * 2
    clauses = [passage(f"{header}Clause {n}.", n) for n in range(1, 6)]
    spaced = passage(f"{header.upper()}  Clause\n1. ", 9)
    assert distinct([*clauses, spaced]) == tuple(clauses)
    world = World(found=[*clauses, spaced], answer=draft("x"))
    world.answer(QUESTION)
    assert world.shown("answer")[0].count("<passage ") == 5


def answering_from(*found: Passage) -> World:
    """A world in which every strategy comes to its answer."""
    return World(
        found=found,
        answer=GOOD,
        answer_and_judge=draft("2,850 km", "The Danube is 2,850 km long", **scores(5)),
        hypothesise=HYPOTHESIS,
        relevance="yes",
        support=support(),
        use=use(),
        sufficiency=sufficiency("yes"),
    )


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_eight_clauses_under_one_header_are_all_shown_and_copies_of_one_text_once(strategy: str) -> None:
    header = "General terms and conditions for the carriage of goods on the Danube, which is 2,850 km long. " * 2
    clauses = [passage(f"{header}Clause {n}: terms.", n) for n in range(8)]
    copies = [passage(f"  {clauses[0].text.upper()} ", n) for n in range(8, 12)]
    config = StrategyConfig(search=SearchConfig(top_k=12, max_passages=12), hyde=HyDEConfig(max_final_docs=12))
    world = answering_from(*clauses, *copies)
    answer = world.answer(QUESTION, strategy, config)
    assert answer.evidence == tuple(clauses)
    assert len(header) > 120
    written_from = next(call for call in world.calls if call.prompt.kind in ("answer", "answer_and_judge"))
    assert written_from.prompt.user.count("<passage ") == 8


def test_of_texts_that_repeat_the_best_keeps_its_place() -> None:
    one, two, three = passage("one", 1), passage("two", 2), passage("three", 3)
    assert distinct([one, two, passage("ONE", 4), three, passage(" two", 5)]) == (one, two, three)


def test_an_answer_shows_the_passages_that_the_model_was_shown() -> None:
    found = [passage(f"Text number {n}.", n) for n in range(1, 9)]
    config = StrategyConfig(search=SearchConfig(top_k=8, max_passages=3))
    world = World(found=found, answer=draft("x"))
    answer = world.answer(QUESTION, config=config)
    assert answer.evidence == tuple(found[:3])
    assert world.searches[0].top_k == 8
    assert all(text.text in world.shown("answer")[0] for text in found[:3])
    assert found[3].text not in world.shown("answer")[0]


def test_grading_drops_what_does_not_help_and_keeps_what_it_cannot_tell() -> None:
    found = [passage(f"Text {n}.", n) for n in range(1, 7)]
    grades = {
        "Text 1.": Reply("yes"),
        "Text 2.": Reply("no"),
        "Text 3.": Reply("maybe"),
        "Text 4.": LanguageModelUnavailable("down"),
        "Text 5.": Reply("no", {"yes": 0.6, "no": 0.4}),
        "Text 6.": Reply("yes", {"yes": 0.1, "no": 0.2}),
    }

    def grade(ask: Ask) -> Reply | EffectFailed:
        return next(reply for text, reply in grades.items() if text in ask.prompt.user)

    config = StrategyConfig(search=SearchConfig(top_k=6, max_passages=6, grade_passages=True))
    for strategy in ("direct", "hyde", "self_irag"):
        world = World(found=found, relevance=grade, answer=GOOD, hypothesise=HYPOTHESIS, answer_and_judge=draft("", ""))
        kept = [passage.text for passage in world.answer(QUESTION, strategy, config).evidence]
        assert kept == ["Text 1.", "Text 3.", "Text 4.", "Text 5."]


def test_citing_nothing_gives_nothing() -> None:
    assert cite("", [DANUBE]) is None
    assert cite("Danube", []) is None


@pytest.mark.parametrize("answer", ["Yes", "no.", "نعم"])
def test_a_bare_yes_or_no_cannot_be_compared_and_so_has_no_confidence_of_its_own(answer: str) -> None:
    said = World(found=[DANUBE], answer=draft(answer, "The Danube is 2,850 km long")).answer(QUESTION)
    assert (said.text, said.confidence, len(said.citations)) == (answer, None, 1)


def test_nothing_that_a_store_cannot_hold_gets_out_of_a_reply() -> None:
    world = World(found=[DANUBE], answer='{"quote": "The\\u0000 Danube", "answer": "2,850\\u0000 km\\ud800"}')
    answer = world.answer(QUESTION)
    assert answer.text == "2,850 km"
