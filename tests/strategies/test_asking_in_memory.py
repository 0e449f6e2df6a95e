"""`burnish.query` and `burnish.aquery` with objects of the caller's, well-behaved and not."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scripted import draft, judgement, passage, scores

import burnish
from burnish.config import HyDEConfig, SearchConfig, StrategyConfig
from burnish.errors import InvalidInput
from burnish.prompts import wording
from burnish.results import Answer, Outcome, Passage
from burnish.strategies.registry import STRATEGY_NAMES

QUESTION = "How long is the Danube?"
DANUBE = passage("The Danube is 2,850 km long.")
GOOD = draft("2,850 km", "The Danube is 2,850 km long", **scores(5))


class Search:
    """Finds what it is told for a query, or the same for every one."""

    def __init__(self, found: Any = (DANUBE,)) -> None:
        self.queries: list[str] = []
        self._found: Callable[[str], Any] = found if callable(found) else lambda _query: found

    def retrieve(self, query: str, top_k: int) -> Any:
        self.queries.append(query)
        assert top_k == 5
        return self._found(query)


class Model:
    """Says what it is told to a prompt, or the same to every one."""

    def __init__(self, says: Any = GOOD) -> None:
        self.prompts: list[str] = []
        self._says: Callable[[str], Any] = says if callable(says) else lambda _prompt: says

    def generate(self, prompt: str) -> Any:
        self.prompts.append(prompt)
        return self._says(prompt)


class Asynchronous(Search):
    """Search and model in one, with coroutines beside the plain methods, which must not be called."""

    def retrieve(self, query: str, top_k: int) -> Any:
        raise AssertionError(f"not awaited: {query}, {top_k}")

    def generate(self, prompt: str) -> Any:
        raise AssertionError(f"not awaited: {prompt}")

    async def aretrieve(self, query: str, top_k: int) -> Sequence[Passage]:
        await asyncio.sleep(0)
        return super().retrieve(query, top_k)

    async def agenerate(self, prompt: str) -> str:
        await asyncio.sleep(0)
        return GOOD if prompt else ""


def asked(question: str = QUESTION, **settings: Any) -> Answer:
    objects: dict[str, Any] = {"retriever": Search(), "language_model": Model()}
    return burnish.query(question, **objects | settings)


def asked_on_a_loop(question: str = QUESTION, **settings: Any) -> Answer:
    objects: dict[str, Any] = {"retriever": Search(), "language_model": Model()}
    return asyncio.run(burnish.aquery(question, **objects | settings))


both_ways = pytest.mark.parametrize("ask", [asked, asked_on_a_loop], ids=["query", "aquery"])
Asking = Callable[..., Answer]


@both_ways
@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_every_strategy_is_asked_by_its_name(ask: Asking, strategy: str) -> None:
    checked = json.dumps({**json.loads(GOOD), "useful": "yes", "sufficient": "yes"})

    def says(prompt: str) -> str:
        return "yes" if "yes or no" in prompt else checked

    assert ask(strategy=strategy, language_model=Model(says)).text == "2,850 km"


def test_coroutines_are_awaited_where_they_are_offered() -> None:
    both = Asynchronous()
    assert asked_on_a_loop(retriever=both, language_model=both, strategy="hyde").text == "2,850 km"


def test_plain_methods_do_not_block_the_loop() -> None:
    async def answer() -> str:
        loop_is_free = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait_for_the_loop(_prompt: str) -> str:
            free = threading.Event()
            loop.call_soon_threadsafe(lambda: (loop_is_free.set(), free.set()))
            assert free.wait(timeout=30)
            return GOOD

        answer = await burnish.aquery(QUESTION, retriever=Search(), language_model=Model(wait_for_the_loop))
        assert loop_is_free.is_set()
        return answer.text

    assert asyncio.run(answer()) == "2,850 km"


@both_ways
@pytest.mark.parametrize("found", [ConnectionError("key=sk-SECRET"), TypeError("no top_k")])
def test_a_retriever_that_raises_gives_a_failed_answer(ask: Asking, found: Exception, caplog: Any) -> None:
    def fail(_query: str) -> Sequence[Passage]:
        raise found

    model = Model()
    answer = ask(retriever=Search(fail), language_model=model)
    assert (answer.outcome, answer.text, answer.confidence) == (Outcome.FAILED, wording.FAILED["en"], None)
    assert (answer.trace["stopped_by"], model.prompts) == ("RetrievalFailed", [])
    assert "sk-SECRET" not in repr(answer)
    assert "RetrievalFailed" in caplog.text


@both_ways
@pytest.mark.parametrize("found", [[5], [b"a text"], [("two", "texts")], [object()], {"count": 0}, None, 5, [None]])
def test_what_cannot_be_read_is_a_failure_and_not_an_empty_context(ask: Asking, found: Any) -> None:
    answer = ask(retriever=Search(found))
    assert (answer.outcome, answer.trace["stopped_by"]) == (Outcome.FAILED, "UnknownShape")


@both_ways
@pytest.mark.parametrize("found", [[DANUBE.text], [{"text": DANUBE.text}], [(DANUBE, 0.5)], {"results": [DANUBE.text]}])
def test_passages_come_in_the_shapes_of_other_libraries(ask: Asking, found: Any) -> None:
    answer = ask(retriever=Search(found))
    assert (answer.text, [passage.text for passage in answer.evidence]) == ("2,850 km", [DANUBE.text])


@both_ways
@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ({"error": "quota"}, "LanguageModelRefused"),
        ("Error: connection lost", "LanguageModelUnavailable"),
        (None, "LanguageModelFailed"),
        (b"bytes", "LanguageModelFailed"),
        (5, "LanguageModelFailed"),
    ],
)
def test_what_is_no_answer_is_a_failure_and_not_an_answer(ask: Asking, said: Any, failure: str) -> None:
    answer = ask(language_model=Model(said))
    assert (answer.outcome, answer.trace["stopped_by"]) == (Outcome.FAILED, failure)


@both_ways
def test_it_fails_in_the_language_of_the_question(ask: Asking) -> None:
    answer = ask("كم يبلغ طول النهر؟", language_model=Model(None))
    assert answer.text == wording.FAILED["ar"]


def test_passages_may_come_from_a_generator() -> None:
    assert asked(retriever=Search(iter([DANUBE]))).text == "2,850 km"


@both_ways
def test_the_cap_on_calls_ends_a_question(ask: Asking) -> None:
    model = Model(draft("Black Sea", "", **scores(2), issues=["no length"]))
    answer = ask(language_model=model, config=StrategyConfig(max_calls=2))
    assert (answer.outcome, len(model.prompts)) == (Outcome.BUDGET_EXCEEDED, 2)


@pytest.mark.parametrize("question", ["", "  \n", None, 5, b"bytes"])
def test_a_question_that_is_none_is_refused(question: Any) -> None:
    with pytest.raises(InvalidInput, match="not empty"):
        burnish.query(question, retriever=Search(), language_model=Model())


def test_objects_without_their_method_are_refused_before_anything_is_done() -> None:
    with pytest.raises(InvalidInput, match="Search has no method 'generate'"):
        asked(language_model=Search())
    with pytest.raises(InvalidInput, match="NoneType has no method 'retrieve'"):
        asked(retriever=None)


def test_a_model_that_has_no_length_is_a_model_all_the_same() -> None:
    class Empty(Model):
        def __len__(self) -> int:
            return 0

    assert asked(language_model=Empty()).text == "2,850 km"


def test_the_model_is_told_the_shape_of_the_reply() -> None:
    model = Model()
    asked(language_model=model)
    [prompt] = model.prompts
    schema = json.loads(prompt.partition("of this schema: ")[2].partition("\n")[0])
    assert list(schema["properties"])[:3] == ["quote", "answer", "supported"]
    assert prompt.endswith(f"Question: {QUESTION}")


@pytest.mark.parametrize("mode", ["per_document", "mean"])
def test_hyde_merges_by_rank_and_the_questions_own_hits_keep_a_seat(mode: Any) -> None:
    """The imagined passages find other things with higher scores; what the question itself found stays."""

    def found(query: str) -> list[Passage]:
        if query == QUESTION:
            return [DANUBE]
        return [Passage(f"o{n}", "other", "", f"Off topic {n}.", 0, 9, "en", 99.0) for n in range(5)]

    def says(prompt: str) -> str:
        return GOOD if "<passage" in prompt else f"An imagined passage of more than forty characters: {len(prompt)}"

    search = Search(found)
    config = StrategyConfig(hyde=HyDEConfig(mode=mode, max_final_docs=3), search=SearchConfig(max_passages=3))
    answer = asked(retriever=search, language_model=Model(says), strategy="hyde", config=config)
    assert DANUBE in answer.evidence
    assert len(answer.evidence) == 3
    assert len(search.queries) == 4


def test_texts_that_several_queries_find_come_once_and_first() -> None:
    def found(query: str) -> list[Passage]:
        shared = passage("the danube is 2,850 km  long.", 7)
        return [DANUBE, passage("Own.", 2)] if query == QUESTION else [passage(f"By {query[-3:]}.", 3), shared]

    def says(prompt: str) -> str:
        return GOOD if "<passage" in prompt else "An imagined passage of more than forty characters."

    answer = asked(retriever=Search(found), language_model=Model(says), strategy="hyde")
    texts = [passage.text for passage in answer.evidence]
    assert texts[0] == DANUBE.text
    assert "the danube is 2,850 km  long." not in texts


def test_a_two_step_answer_is_judged_through_the_same_door() -> None:
    def says(prompt: str) -> str:
        return judgement(5) if "<answer>2,850 km</answer>" in prompt.rpartition("Question:")[2] else GOOD

    config = StrategyConfig.from_mapping({"self_irag": {"fast_mode": False}})
    assert asked(language_model=Model(says), config=config).confidence == 1.0


@both_ways
def test_a_journal_makes_a_second_asking_free(ask: Asking) -> None:
    journal: dict[str, Any] = {}
    model, search = Model(), Search()
    first = ask(journal=journal, language_model=model, retriever=search)
    assert ask(journal=journal, language_model=model, retriever=search) == first
    assert (len(model.prompts), len(search.queries)) == (1, 1)
