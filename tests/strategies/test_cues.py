"""What the words of a question tell; how long and how complex it is, is tried in test_recursive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.strategies.cues import is_in_other_words, needs_hops

HOPS = [
    "What is the telephone extension of the person who leads the digitisation project?",
    "In which village was the man who established the Nawras Foundation born?",
    "Where was the director of film Majestic Hotel Cellars born?",
    "What team was Anna Benson’s husband on?",
    "Where was Osbert Sitwell's sibling educated?",
    "When did the city where the author of Pacem in Terris died become its own country?",
    "Who lived longer, Friedrich Gogarten or Giangiacomo Feltrinelli?",
    "Which film was released more recently, No Path Through Fire or Bright Leaf?",
    "ARE THE TWO HOTELS IN THE SAME TOWN, THE GRAND AND THE ROYAL?",
    "ما الرقم الداخلي للموظفة التي تدير المكتبة المتنقلة؟",
    "في أي مدينة وُلد العالِم الذي تحمل قاعة البصريات في متحف العلوم اسمه؟",
    "مَن صَمَّمَ مبنى المكتبة الـتي يتلقى فيها المتطوعون تدريبهم؟",
]
NO_HOPS = [
    "Who is the author of Emma?",
    "What is the name of the man who established the Nawras Foundation?",
    "What is the term for a task that a computer can solve?",
    "Who was the president?",
    "Which actor played the part?",
    "When did the Harbour Library open?",
    "In which year was the Nawras Foundation established?",
    "ما هي الدولة التي تقع جنوب لبنان؟",
    "من هو الزعيم البروتستانتي الأوروبي الآخر الذي تعلم في جامعة باريس؟",
    "من الذي كتب القصة؟",
    "ما الذي حدث؟",
    "التي",
    "who",
    "",
    "؟",
]
OTHER_WORDS = [
    "I forgot my umbrella in one of your buildings. Where can it be picked up?",
    "How soon after a business trip must I hand in my bills?",
    "What is the thing called that keeps a door open?",
    "What is the word for a fear of heights?",
    "Why do leaves turn red in autumn?",
    "لماذا يرتفع ماء البحر ثم ينخفض كل يوم؟",
    "كيف يمكنني إعادة كتاب؟",
    "ماذا يسمى الخوف من الأماكن العالية؟",
]
OWN_WORDS = [
    "Why did the Western Roman Empire fall?",
    "Why was the rule of 2019 changed?",
    "When was the Institute of Mines founded?",
    "ما طول نهر النيل؟",
    "على أي نهر تقع المدينة؟",
    "",
]


@pytest.mark.parametrize("question", HOPS)
def test_a_question_about_a_thing_that_must_be_found_first_or_about_two_is_known(question: str) -> None:
    assert needs_hops(question)


@pytest.mark.parametrize("question", NO_HOPS)
def test_what_is_asked_for_itself_is_no_hop(question: str) -> None:
    assert not needs_hops(question)


@pytest.mark.parametrize("question", OTHER_WORDS)
def test_everyday_words_and_reasons_for_what_has_no_name_are_known(question: str) -> None:
    assert is_in_other_words(question)


@pytest.mark.parametrize("question", OWN_WORDS)
def test_a_question_that_names_its_subject_is_in_its_documents_words(question: str) -> None:
    assert not is_in_other_words(question)


@pytest.mark.parametrize("piece", ["more ", "the of a ", "'s ", "a ", "x", "التي "])
def test_a_question_made_to_exhaust_the_cues_is_read_only_as_far_as_it_tells(piece: str) -> None:
    question = "Which " + piece * 100_000 + "or the river that is built on by me?"
    assert needs_hops(question) == needs_hops(question[:1500])
    assert not is_in_other_words(question)


@pytest.mark.parametrize(
    ("name", "language", "least", "most"),
    [
        ("musique", "en", 0.65, 1.0),
        ("2wiki", "en", 0.85, 1.0),
        ("hotpotqa", "en", 0.35, 1.0),
        ("xquad", "en", 0.0, 0.08),
        ("xquad", "ar", 0.0, 0.08),
        ("arcd", "ar", 0.0, 0.03),
    ],
)
def test_published_questions_of_several_hops_are_told_from_those_of_one(
    evaldata: Path, name: str, language: str, least: float, most: float
) -> None:
    lines = (evaldata / "dev" / name / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [each["question"] for each in map(json.loads, lines) if each["lang"] == language]
    share = sum(map(needs_hops, questions)) / len(questions)
    print(f"{name} {language}: {share:.3f} of {len(questions)}")
    assert least <= share <= most
