from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.text.normalise import (
    clean,
    content_words,
    fold,
    fold_with_offsets,
    numbers,
    text_hash,
    without_proclitics,
    words,
)

# Characters that act on their neighbours: marks, joiners, jamo, and forms that NFKC takes apart.
TRICKY = (
    "eéا\u0653\u0654\u064b\u0640\u200c\u200f\u0301\u0345ﹰﹱﷺ\u1100\u1161\u11a8ㄱㅏㄳ\uffa1\uffc2ｶﾞ´½ßİ \t\n\u00a0aA1١"
)
any_text = st.text(alphabet=st.one_of(st.characters(), st.sampled_from(TRICKY)))


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("الْقَاهِرَةُ", "القاهره"),
        ("آدم أحمد إلى ٱلله", "ادم احمد الي الله"),
        ("عـــربي \u202bنص\u202c \u200fهنا", "عربي نص هنا"),
        ("هٰذا قُرْآنٌ ۖ كريم", "هذا قران كريم"),
        ("فارسی کتاب", "فارسي كتاب"),
        ("ﻣﺪﺭﺳﺔ", "مدرسه"),
        ("١٢٣ ۴۵۶ ７８９ १२", "123 456 789 12"),
        ("٣٫١٤ و ١٬٢٠٠", "3.14 و 1,200"),
        ("  Straße\u00a0\n ﬁne\tÉTÉ ", "strasse fine été"),
        ("zero\u200bwidth", "zero width"),
        ("", ""),
        (" \u200f\n", ""),
    ],
)
def test_folding_takes_away_what_writers_vary(written: str, folded: str) -> None:
    assert fold(written) == folded


def test_accents_that_tell_words_apart_stay() -> None:
    assert fold("résumé") != fold("resume")


@given(any_text)
@example("ي\u0654")
@example("e\u200c\u0301")
@example("e\u0654\u0301")
@example("e\u06dd\u0301")
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(any_text)
def test_equivalent_spellings_fold_alike(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(text)


@given(any_text)
@example("e\u06dd\u0301")
@example("a\ufcf2\u0301")
def test_offsets_belong_to_the_same_fold_and_never_go_back(text: str) -> None:
    folded, offsets = fold_with_offsets(text)
    assert folded == fold(text)
    assert len(offsets) == len(folded)
    assert offsets == sorted(offsets)
    assert all(0 <= offset < len(text) for offset in offsets)


def test_offsets_point_at_the_character_that_was_written() -> None:
    text = "  ﬁn de\u0301jà الكِتَابُ"
    folded, offsets = fold_with_offsets(text)
    assert folded == "fin déjà الكتاب"
    assert [text[offset] for offset in offsets] == list("ﬁﬁn dejà الكتاب")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Obama's state-of-the-art max_depth", ("obama", "s", "state", "of", "the", "art", "max", "depth")),
        ("12,000 and 3.14, v3.11.2.", ("12000", "and", "3.14", "v3", "11.2")),
        ("1,234,567.89", ("1234567.89",)),
        ("1,2,3 and 3,14", ("1", "2", "3", "and", "3", "14")),
        ("5kg in the 1990s", ("5", "kg", "in", "the", "1990", "s")),
        ("B52 COVID-19", ("b52", "covid", "19")),
        ("عام 1990 و1995 بالsoftware", ("عام", "1990", "و", "1995", "بال", "software")),
        ("ما معنى كلمة «software»؟", ("ما", "معني", "كلمه", "software")),
        ("١٬٢٠٠ دينار، ونصف", ("1200", "دينار", "ونصف")),
        ("हिन्दी भाषा। ภาษาไทย", ("हिन्दी", "भाषा", "ภาษาไทย")),
        ("東京タワー", ("東", "京", "タ", "ワ", "ー")),
        ("... !? —", ()),
    ],
)
def test_words_follow_the_documented_rule(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@given(any_text)
def test_words_are_the_same_before_and_after_folding(text: str) -> None:
    assert words(fold(text)) == words(text)


def test_words_hold_no_part_of_a_longer_word() -> None:
    assert "and" not in words("standard")
    assert "ثم" not in words("ثمن")


def test_content_words_leave_stop_words_out_but_keep_negation() -> None:
    assert content_words("It isn't the capital of Spain", "en") == ("isn", "capital", "spain")
    assert content_words("He was not there", "en") == ("not",)
    assert content_words("في المدرسة وفي البيت", "ar") == ("مدرسه", "بيت")


def test_languages_without_a_stop_list_keep_all_their_words() -> None:
    assert content_words("the an und", "und") == ("the", "an", "und")


def test_an_arabic_word_matches_itself_with_article_and_proclitics() -> None:
    spellings = ["كتاب", "الكتاب", "والكتاب", "بالكتاب", "للكتاب", "وللكتاب", "فكالكتاب"]
    assert len({content_words(word, "ar") for word in spellings}) == 1


@pytest.mark.parametrize(("word", "bare"), [("ولد", "ولد"), ("الولد", "ولد"), ("وفي", "وفي"), ("software", "software")])
def test_proclitics_go_only_while_three_letters_remain(word: str, bare: str) -> None:
    assert without_proclitics(word) == bare


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,200 and 1200 and ١٢٠٠ and ١٬٢٠٠", ("1200",) * 4),
        ("50% 50.0 ٥٠٪ 050", ("50",) * 4),
        ("from 1990-1995, -3", ("1990", "1995", "3")),
        ("1990 و١٩٩٥", ("1990", "1995")),
        ("2020-05-07", ("2020", "5", "7")),
        ("0.50 .5 3.10", ("0.5", "5", "3.1")),
        ("version 3.10.0", ("3.10.0",)),
        ("5kg 1990s 2nd $7", ("5", "1990", "2", "7")),
        ("B52 covid19 none", ()),
    ],
)
def test_numbers_have_one_spelling_each(text: str, expected: tuple[str, ...]) -> None:
    assert numbers(text) == expected


def test_duplicates_share_a_hash_and_a_shared_header_is_not_enough() -> None:
    header = "A header that is the same in every one of the chunks of this long document. " * 3
    assert text_hash("الْقَاهِرَة  ١") == text_hash("القاهره 1")
    assert text_hash(header + "one") != text_hash(header + "two")
    assert len(text_hash("")) == 64


def test_cleaning_unifies_newlines_and_drops_what_cannot_be_stored() -> None:
    dirty = "\ufeffa\x00b\r\nc\rd\u2028e\tf\ud800g\x07h\x85i\uffff"
    assert clean(dirty) == "ab\nc\nd\ne\tfgh\ni"


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_cleaned_text_is_stable_and_encodes_as_utf8_without_nul(text: str) -> None:
    cleaned = clean(text)
    assert b"\0" not in cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned
