from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.text.language import detect_language, search_config


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who founded Tesla?", "en"),
        ("Vincent van Gogh", "en"),
        ("What does كلمة mean in Arabic?", "en"),
        ("What is the meaning of الْحَمْدُ لِلَّهِ in prayer?", "en"),
        ("ما معنى كلمة software؟", "ar"),
        ("ما هو Transformer architecture؟", "ar"),
        ("مَنْ هُوَ", "ar"),
        ("Qui est le président de la France ?", "und"),
        ("Wer ist der Kanzler von Deutschland?", "und"),
        ("¿Quién fue el presidente de España?", "und"),
        ("Кто написал этот роман?", "und"),
        ("東京はどこですか", "und"),
        ("2 + 2 = ؟", "und"),
        ("", "und"),
    ],
)
def test_the_language_is_the_one_most_words_are_in(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_each_language_has_a_search_configuration() -> None:
    assert [search_config(language) for language in ("en", "ar", "und", "fr")] == [
        "english",
        "arabic",
        "simple",
        "simple",
    ]


@pytest.mark.parametrize("name", ["xquad", "arcd", "hotpotqa", "musique", "scifact"])
def test_published_questions_are_all_recognised(evaldata: Path, name: str) -> None:
    lines = (evaldata / "dev" / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    wrong = [item["question"] for item in questions if detect_language(item["question"]) != item["lang"]]
    assert wrong == []
