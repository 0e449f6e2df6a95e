"""What examples/README.md promises of the corpus and of the questions over it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from burnish.config import COMPLEXITY_KEYWORDS, RecursiveConfig
from burnish.strategies.registry import STRATEGY_NAMES
from burnish.text.language import detect_language
from burnish.text.normalise import fold, words
from burnish.world.documents import Document, read_path

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = EXAMPLES / "corpus"
LANGUAGES = ("en", "ar")
KINDS = ("simple", "vocabulary_gap", "compound", "two_hop", "unanswerable")
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@cache
def corpus() -> dict[str, Document]:
    read = list(read_path(CORPUS))
    documents = [item for item in read if isinstance(item, Document)]
    assert len(documents) == len(read), "a file of the corpus cannot be read"
    return {document.document_id: document for document in documents}


def is_arabic(document_id: str) -> bool:
    return ".ar." in document_id or document_id.endswith("-ar")


def stands_in(answer: str, text: str) -> bool:
    return f" {' '.join(words(answer))} " in f" {' '.join(words(text))} "


def needed(question: dict[str, Any]) -> list[list[str]]:
    """Of each list one must stand in the answer."""
    gold = question["gold"]
    return gold["all_of"] if "all_of" in gold else [gold["answers"]] if gold["answers"] else []


def keywords_of(question: str) -> set[str]:
    bare = set(words(question))
    found = {key for key in COMPLEXITY_KEYWORDS if bare & {fold(key), "و" + fold(key)}}
    return found | ({"و"} if any(word.startswith("و") for word in bare) else set())


def by_name(kind: str | None = None, *, unless: str | None = None) -> list[Any]:
    chosen = [question for question in QUESTIONS if kind in (None, question["kind"]) and question["kind"] != unless]
    return [pytest.param(question, id=question["custom_id"]) for question in chosen]


def test_the_corpus_has_at_least_34_documents_and_a_third_of_them_are_in_arabic() -> None:
    arabic = [document_id for document_id in corpus() if is_arabic(document_id)]
    assert len(corpus()) >= 34
    assert 1 / 3 <= len(arabic) / len(corpus()) <= 1 / 2


def test_the_readme_counts_the_documents_and_the_files() -> None:
    arabic = sum(is_arabic(document_id) for document_id in corpus())
    files = sum(path.is_file() for path in CORPUS.rglob("*"))
    readme = " ".join((EXAMPLES / "README.md").read_text(encoding="utf-8").split())
    assert f"{len(corpus())} documents in {files} files" in readme
    assert f"{len(corpus()) - arabic} documents in English and {arabic} in Arabic" in readme


def test_the_corpus_is_in_six_formats_and_has_three_pdfs_and_three_word_documents() -> None:
    suffixes = Counter(path.suffix for path in CORPUS.rglob("*") if path.is_file())
    assert set(suffixes) == {".md", ".txt", ".html", ".pdf", ".docx", ".jsonl"}
    assert suffixes[".pdf"] >= 3
    assert suffixes[".docx"] >= 3
    assert suffixes[".jsonl"] == 1


@pytest.mark.parametrize("suffix", [".html", ".docx", ".md", ".txt"])
def test_a_format_is_there_in_arabic(suffix: str) -> None:
    assert any(is_arabic(document_id) and document_id.endswith(suffix) for document_id in corpus())


def test_every_document_is_short_has_a_title_and_is_in_the_language_of_its_name() -> None:
    for document_id, document in corpus().items():
        assert document.title.strip(), document_id
        assert 60 <= len(document.text.split()) <= 250, (document_id, len(document.text.split()))
        assert detect_language(document.text) == ("ar" if is_arabic(document_id) else "en"), document_id


def test_some_arabic_is_written_with_vowel_marks_and_some_with_arabic_digits() -> None:
    arabic = " ".join(document.text for document_id, document in corpus().items() if is_arabic(document_id))
    assert "وُلِدَ القُبطانُ" in arabic
    assert "١٩٣٤" in arabic


def test_documents_under_one_header_differ_only_after_120_characters() -> None:
    sheets = [
        fold(corpus()[f"branches/{path.name}"].text) for path in CORPUS.glob("branches/*.md") if ".ar." not in path.name
    ]
    assert len(sheets) == len(set(sheets)) == 4
    assert len({sheet[:120] for sheet in sheets}) == 1


def test_markup_navigation_and_scripts_are_no_part_of_a_text() -> None:
    for document_id in ("policies/loan-rules-2024.html", "branches/central-library.ar.html"):
        text = corpus()[document_id].text
        assert "<" not in text
        assert "window.visits" not in text
        assert "document.title" not in text


def test_the_cells_of_a_word_table_are_part_of_its_text() -> None:
    assert stands_in("80 dirhams", corpus()["prices/price-list-2025.docx"].text)


def test_both_pages_of_a_pdf_are_read() -> None:
    text = corpus()["projects/digitisation-2024.pdf"].text
    assert stands_in("48,300 pages", text)
    assert stands_in("1.1 million dirhams", text)


def test_building_the_documents_again_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, EXAMPLES / "build_documents.py", "--corpus", tmp_path], check=True)
    built = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    kept = {path.relative_to(CORPUS): path for suffix in ("pdf", "docx") for path in CORPUS.rglob(f"*.{suffix}")}
    assert built.keys() == kept.keys()
    assert [path for path in kept if kept[path].read_bytes() != built[path]] == []


def test_there_are_at_least_28_questions_with_names_and_texts_of_their_own() -> None:
    assert len(QUESTIONS) >= 28
    assert len({question["custom_id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({fold(question["question"]) for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", by_name())
def test_a_question_has_the_documented_fields(question: dict[str, Any]) -> None:
    assert question.keys() == {"custom_id", "question", "strategy", "language", "kind", "gold", "demo"}
    assert question["strategy"] in STRATEGY_NAMES
    assert question["kind"] in KINDS
    assert question["language"] == detect_language(question["question"])
    assert question["gold"].keys() == {"documents", "all_of" if question["kind"] == "compound" else "answers"}
    assert isinstance(question["demo"], bool)


def test_every_kind_is_asked_at_least_twice_in_each_language_and_every_strategy_at_least_once() -> None:
    kinds = Counter((question["kind"], question["language"]) for question in QUESTIONS)
    strategies = Counter((question["strategy"], question["language"]) for question in QUESTIONS)
    assert all(kinds[kind, language] >= 2 for kind in KINDS for language in LANGUAGES)
    assert all(strategies[strategy, language] >= 1 for strategy in STRATEGY_NAMES for language in LANGUAGES)


def test_the_demo_asks_eight_questions_by_every_strategy_in_both_languages() -> None:
    demo = [question for question in QUESTIONS if question["demo"]]
    assert Counter(question["language"] for question in demo) == {"en": 5, "ar": 3}
    assert {question["strategy"] for question in demo} == set(STRATEGY_NAMES)
    assert {question["kind"] for question in demo} == set(KINDS) - {"unanswerable"}


@pytest.mark.parametrize("question", by_name(unless="unanswerable"))
def test_the_gold_answer_stands_in_the_gold_documents(question: dict[str, Any]) -> None:
    texts = [corpus()[document_id].text for document_id in question["gold"]["documents"]]
    assert needed(question)
    for accepted in needed(question):
        assert any(stands_in(answer, text) for answer in accepted for text in texts), accepted


@pytest.mark.parametrize("question", [*by_name("simple"), *by_name("vocabulary_gap")])
def test_each_gold_document_of_a_one_fact_question_tells_the_answer_alone(question: dict[str, Any]) -> None:
    for document_id in question["gold"]["documents"]:
        assert any(stands_in(answer, corpus()[document_id].text) for answer in question["gold"]["answers"]), document_id


@pytest.mark.parametrize("question", by_name("two_hop"))
def test_a_two_hop_question_rests_on_two_documents_and_the_first_does_not_tell_the_answer(
    question: dict[str, Any],
) -> None:
    first, *others = question["gold"]["documents"]
    assert others
    assert not any(stands_in(answer, corpus()[first].text) for answer in question["gold"]["answers"])


@pytest.mark.parametrize("question", by_name("compound"))
def test_a_compound_question_is_one_that_the_recursive_strategy_takes_apart(question: dict[str, Any]) -> None:
    assert question["strategy"] in ("recursive", "auto")
    assert len(question["question"]) > RecursiveConfig().min_query_length
    assert len(keywords_of(question["question"])) >= 2
    assert len(question["gold"]["all_of"]) == 2


@pytest.mark.parametrize("question", by_name("unanswerable"))
def test_an_unanswerable_question_has_no_gold(question: dict[str, Any]) -> None:
    assert question["gold"] == {"answers": [], "documents": []}
