from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.text.quotes import find_quote, grounding

PASSAGE = "Opened in 1889, the Eiffel\n Tower — “La dame de fer” — is 330 metres tall; it draws 6,200,000 visitors."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("the Eiffel Tower", "the Eiffel\n Tower"),
        ("'...THE EIFFEL TOWER...'", "the Eiffel\n Tower"),
        ("«La dame de fer»", "La dame de fer"),
        ("330 metres tall", "330 metres tall"),
        ("6200000 visitors", "6,200,000 visitors"),
        ("1889", "1889"),
        (PASSAGE, PASSAGE[:-1]),
    ],
)
def test_a_verbatim_quote_is_placed_in_the_original(quote: str, found: str) -> None:
    span = find_quote(quote, PASSAGE)
    assert span is not None
    assert PASSAGE[slice(*span)] == found


@pytest.mark.parametrize(
    "quote",
    [
        "Eiffel ... tall",
        "the Eiffel Bridge",
        "iffel Tow",
        "it",
        "of the",
        "",
        "...",
        "331 metres tall",
        "33",
        "Tower Eiffel",
    ],
)
def test_what_is_not_verbatim_or_says_nothing_is_no_citation(quote: str) -> None:
    assert find_quote(quote, PASSAGE) is None


def test_arabic_spelling_does_not_matter_and_vowel_marks_stay_in_the_slice() -> None:
    passage = "قال: وُلِدَ الكَاتِبُ فِي القَاهِرَةِ عامَ ١٩٥٠م."
    span = find_quote("ولد الكاتب في القاهره عام 1950", passage)
    assert span is not None
    assert passage[slice(*span)] == "وُلِدَ الكَاتِبُ فِي القَاهِرَةِ عامَ ١٩٥٠"


def test_a_quote_that_ends_the_passage_ends_with_its_last_word() -> None:
    assert find_quote("last wörd", "the last wo\u0308rd \n") == (4, 14)


@given(st.lists(st.sampled_from(["Cairo", "the", "كِتَابٌ", "3.50", "½", "ﬁne", "x-ray", "漢字"]), min_size=1), st.data())
def test_any_run_of_words_of_a_passage_is_found_in_it(chosen: list[str], data: st.DataObject) -> None:
    passage = "  ".join(chosen)
    first = data.draw(st.integers(0, len(chosen) - 1))
    last = data.draw(st.integers(first, len(chosen) - 1))
    quote = " ".join(chosen[first : last + 1])
    span = find_quote(quote, passage)
    assert span is not None or set(chosen[first : last + 1]) == {"the"}
    if span is not None:
        assert find_quote(passage[slice(*span)], passage) == span


def test_grounding_is_the_share_of_content_words_found() -> None:
    evidence = ["Marie Curie was born in Warsaw.", "She won two Nobel prizes."]
    assert grounding("Curie was born in Warsaw", evidence, "en") == 1
    assert grounding("Curie was born in Paris", evidence, "en") == pytest.approx(2 / 3)
    assert grounding("Bananas are yellow", evidence, "en") == 0
    assert grounding("Curie", [], "en") == 0


def test_a_number_that_the_evidence_lacks_holds_the_score_down() -> None:
    evidence = ["The bridge was opened in 1932 and is 1,149 metres long."]
    assert grounding("The bridge was opened in 1932", evidence, "en") == 1
    assert grounding("The bridge is ١١٤٩ metres long", evidence, "en") == 1
    assert grounding("The bridge was opened in 1933", evidence, "en") == 0.25


def test_a_number_may_be_spelled_out_on_either_side() -> None:
    assert grounding("She won 2 prizes", ["She won two prizes"], "en") == 1
    assert grounding("She won two prizes", ["She won 2 prizes"], "en") == 1
    assert grounding("فاز بثلاث جوائز", ["فاز ب3 جوائز"], "ar") == 1


def test_arabic_answers_match_through_article_and_spelling() -> None:
    assert grounding("القاهرةُ عاصمة مصر", ["إن قاهره المعز هي عاصمةُ جمهورية مصر"], "ar") == 1


def test_another_script_cannot_be_compared() -> None:
    assert grounding("باريس عاصمة فرنسا", ["Paris is the capital of France"], "ar") is None
    assert grounding("Paris is the capital", ["باريس عاصمة فرنسا"], "en") is None
    assert grounding("Москва", ["Moscow is a city"], "und") is None


def test_names_and_figures_compare_across_scripts_where_they_stand() -> None:
    assert grounding("Microsoft", ["أسست شركة Microsoft عام ١٩٧٥"], "en") == 1
    assert grounding("1975", ["أسست شركة Microsoft عام ١٩٧٥"], "und") == 1
    assert grounding("1976", ["أسست شركة Microsoft عام ١٩٧٥"], "und") == 0


def test_an_answer_without_content_is_not_scored() -> None:
    assert grounding("It is.", ["It is."], "en") is None
    assert grounding("", ["text"], "en") is None


@pytest.mark.parametrize(
    ("quote", "held"),
    [
        ("The Danube is 2,850 km lo", "The Danube is 2,850 km"),
        ("The Danube is 2,850 km long and ends in the Black Se", "The Danube is 2,850 km long and ends in the Black"),
        ("يبلغ طول نهر الدانوب ٢٨٥٠ كيلو", "يبلغ طول نهر الدانوب ٢٨٥٠"),
    ],
)
def test_a_quote_that_was_cut_within_a_word_is_found_without_it(quote: str, held: str) -> None:
    passage = "The Danube is 2,850 km long and ends in the Black Sea. يبلغ طول نهر الدانوب ٢٨٥٠ كيلومتراً."
    span = find_quote(quote, passage)
    assert span
    assert passage[slice(*span)] == held


@pytest.mark.parametrize("quote", ["The Danube is brown", "The Danube is 2,850 mi wide", "A Danube is 2,850 km long"])
def test_no_more_than_the_last_of_five_words_may_be_another(quote: str) -> None:
    assert find_quote(quote, "The Danube is 2,850 km long and ends in the Black Sea.") is None
