"""Other wordings: the model's, cleaned of what is said around them; else synonyms; never another language's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from burnish.errors import InvalidInput
from burnish.rag_system.expansion import QueryExpander
from burnish.rag_system.synonyms import SYNONYMS, replacements
from burnish.text.language import detect_language
from burnish.text.normalise import fold
from tests.rag_system.parts import Lists, Model, users_system

QUESTION = "What was the revenue in 2023?"


def variants(reply: Any, query: str = QUESTION, most: int = 3) -> list[str]:
    expander = QueryExpander(Model(rephrased=reply), max_variants=most, fallback_synonyms=False)
    first, *others = expander.expand(query)
    assert first == query
    assert asyncio.run(expander.aexpand(query)) == [first, *others]
    return others


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("total income 2023\nsales of 2023", ["total income 2023", "sales of 2023"]),
        ("1. total income\n2. sales\n3. turnover", ["total income", "sales", "turnover"]),
        ("1) total income\n(2) sales\n3 - turnover", ["total income", "sales", "turnover"]),
        ("- total income\n* sales\n• turnover", ["total income", "sales", "turnover"]),
        ('**1. total income**\n2. "sales"\n3. «turnover»', ["total income", "sales", "turnover"]),
        ("Variant 1: total income\nVariant 2: sales", ["total income", "sales"]),
        ("2023 revenue figures\n1.5 million in sales\n24. December sales", None),
        ("1. 2023 revenue figures\n2. 10 year turnover", ["2023 revenue figures", "10 year turnover"]),
        ("Here are some alternatives:\n1. total income\n2. sales", ["total income", "sales"]),
        ("Sure! I can help.\ntotal income\nI hope this helps", ["total income"]),
        ("Certainly, below are three\n\n1. total income", ["total income"]),
        ('["total income", "sales"]', ["total income", "sales"]),
        ('```json\n{"queries": ["total income", "sales"]}\n```', ["total income", "sales"]),
        ("<think>1. hm\n2. well</think>total income", ["total income"]),
        ("a\nb\nc\nd\ne", ["a", "b", "c"]),
        ("total income\nTOTAL  Income\nWhat was the revenue in 2023?", ["total income"]),
        ("الإيرادات في 2023\ntotal income", ["total income"]),
        ("...\n---\ntotal income", ["total income"]),
        ("x " * 400, []),
        ("", []),
    ],
)
def test_a_reply_is_read_as_the_wordings_that_it_holds(reply: str, expected: list[str] | None) -> None:
    assert variants(reply) == (reply.split("\n") if expected is None else expected)


def test_arabic_wordings_are_read_and_english_ones_left_out() -> None:
    reply = "إليك بعض الصيغ:\n١. كم بلغت الإيرادات في ٢٠٢٣\n2. the revenue\n٣. دخل عام ٢٠٢٣"
    assert variants(reply, "ما إيرادات ٢٠٢٣؟") == ["كم بلغت الإيرادات في ٢٠٢٣", "دخل عام ٢٠٢٣"]


def test_the_prompt_is_in_the_questions_language_and_counts() -> None:
    model = Model(rephrased="")
    QueryExpander(model, 2).expand("ما الإيرادات؟")
    QueryExpander(model, 4).expand("What revenue? <|im_start|>")
    assert "أعد صياغة عبارة البحث التالية بعدد 2" in model.asked[0]
    assert "in 4 different ways" in model.asked[1]
    assert "<|" not in model.asked[1]


@pytest.mark.parametrize("reply", [ConnectionError("sk-SECRET"), {"error": "sk-SECRET"}, "Error: sk-SECRET", None, 7])
def test_a_model_that_fails_is_done_without(reply: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert QueryExpander(Model(rephrased=reply)).expand("the phone") == ["the phone", "the telephone", "the mobile"]
    assert "sk-SECRET" not in caplog.text
    assert "not rephrased" in caplog.text


def test_synonyms_fill_up_what_the_model_left_open() -> None:
    assert QueryExpander(Model(rephrased="the number"), 2).expand("the phone") == [
        *("the phone", "the number", "the telephone"),
    ]


def test_a_model_that_takes_no_options_is_asked_without_and_one_that_does_with_them() -> None:
    class Wide:
        options: dict[str, Any] | None = None

        def generate(self, prompt: str, max_tokens: int = 0, **_: Any) -> str:
            Wide.options = {"max_tokens": max_tokens}
            return "the number"

    assert QueryExpander(Model(rephrased="the number"), 1).expand("the phone")[1] == "the number"
    assert QueryExpander(Wide(), 1).expand("the phone")[1] == "the number"
    assert Wide.options == {"max_tokens": 300}


@pytest.mark.parametrize(
    ("expander", "query", "expected"),
    [
        (QueryExpander(), "", [""]),
        (QueryExpander(), "  ", ["  "]),
        (QueryExpander(max_variants=0), "the phone", ["the phone"]),
        (QueryExpander(fallback_synonyms=False), "the phone", ["the phone"]),
        (
            QueryExpander(Model(rephrased="x"), use_llm=False, max_variants=1),
            "the phone",
            ["the phone", "the telephone"],
        ),
        (QueryExpander(), "no such word", ["no such word"]),
    ],
)
def test_the_question_always_comes_back(expander: QueryExpander, query: str, expected: list[str]) -> None:
    assert expander.expand(query) == expected


@pytest.mark.parametrize("most", [-1, 1.5, True])
def test_a_number_of_variants_that_is_none_is_refused(most: Any) -> None:
    with pytest.raises(InvalidInput):
        QueryExpander(max_variants=most)
    with pytest.raises(InvalidInput):
        users_system(Lists(), expansion=True, query_expansion_variants=most)


# Synonyms


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is the phone number?", ["What is the telephone number?", "What is the mobile number?"]),
        ("Phone fees", ["Telephone fees", "Mobile fees"]),
        ("smartphone phoney", []),
        ("ما هو رقم الهاتف؟", ["ما هو رقم التلفون؟", "ما هو رقم الجوال؟"]),
        ("للموظف", ["للعامل"]),
        ("وبالإجازة", ["وبالعطلة"]),
        ("البَرِيد", ["الإيميل"]),
        ("", []),
    ],
)
def test_a_word_is_replaced_by_words_of_its_own_language(query: str, expected: list[str]) -> None:
    assert replacements(query) == expected


def test_a_question_in_two_languages_has_each_word_replaced_in_its_own() -> None:
    for variant in replacements("Phone الهاتف number"):
        first, second, _ = variant.split()
        assert (detect_language(first), detect_language(second)) == ("en", "ar")


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_table_holds_one_language_a_side(language: str) -> None:
    words = {word for key, others in SYNONYMS[language].items() for word in (key, *others)}
    assert len(words) > 150
    assert {detect_language(word) == "ar" for word in words} == {language == "ar"}
    assert all(fold(key) == key for key in SYNONYMS[language])
    assert all(fold(other) != key for key, others in SYNONYMS[language].items() for other in others)
