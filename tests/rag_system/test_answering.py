"""Answering never raises, never makes an answer of nothing, and never shows what an exception said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import (
    CATS,
    FAILED,
    SECRET,
    Broken,
    Lists,
    Model,
    Piece,
    Words,
    always,
    counts,
    fails,
    streamed,
    system_of_cats,
    users_system,
)

SEARCH_FAILED = "❌ Search error occurred."
NOTHING = "No relevant information found."


def agenerate(rag: RAGSystem, *arguments: Any, **named: Any) -> str:
    return asyncio.run(rag.agenerate(*arguments, **named))


def astream(rag: RAGSystem, *arguments: Any, **named: Any) -> str:
    return "".join(asyncio.run(streamed(rag, *arguments, **named)))


FORMS: list[Callable[..., str]] = [RAGSystem.generate, RAGSystem.ask, agenerate, astream]


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__)
def ask(request: pytest.FixtureRequest) -> Callable[..., str]:
    return request.param


def test_an_answer_is_what_the_model_says_of_what_was_found(ask: Callable[..., str]) -> None:
    model = Model("They sleep.")
    rag = system_of_cats(model)
    assert ask(rag, "What do cats do?") == "They sleep."
    [prompt] = model.prompts
    assert "<documents>\ncats purr\ncats sleep all day\ncats hunt\n</documents>" in prompt
    assert "Question: What do cats do?" in prompt
    assert counts(rag) == (1, 1, 0)


def test_sources_stand_below_each_document_once(ask: Callable[..., str]) -> None:
    told = ask(system_of_cats(), "What do cats do?", include_sources=True)
    assert told == "fourteen days\n\n📚 Sources:\n• a  (score: 0.25)\n• b  (score: 0.25)"


def test_sources_are_told_in_the_answers_language() -> None:
    rag = users_system(Lists([Piece("القطط تنام", "a")]), Model("تنام."))
    assert rag.generate("ماذا تفعل القطط", include_sources=True) == "تنام.\n\n📚 المصادر:\n• a  (الدرجة: 0.33)"


@pytest.mark.parametrize(
    ("chunks", "most", "block"),
    [
        ([], 3, ""),
        ([(SimpleNamespace(text="x"), 0.5)], 3, "📚 Sources:\n• unknown  (score: 0.50)"),
        ([(SimpleNamespace(document_id=7), 0.456)], 3, "📚 Sources:\n• 7  (score: 0.46)"),
        ([({"doc_id": "a\nb"}, 1.0)], 3, "📚 Sources:\n• a b  (score: 1.00)"),
        ([(Piece("", f"d{n}"), 1.0) for n in range(5)], 2, "📚 Sources:\n• d0  (score: 1.00)\n• d1  (score: 1.00)"),
    ],
)
def test_the_sources_of_any_chunks_are_told(chunks: list[Scored], most: int, block: str) -> None:
    assert system_of_cats()._format_sources(chunks, most) == block  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("question", ["", "  \n", None, 7])
def test_what_is_no_question_is_no_failure_and_no_search(ask: Callable[..., str], question: Any) -> None:
    rag = system_of_cats()
    assert ask(rag, question) == "⚠️ Please enter a valid question."
    assert counts(rag) == (1, 0, 0)
    assert rag.vector_db.searches == []


def test_with_nothing_found_the_model_is_not_asked(ask: Callable[..., str]) -> None:
    model = Model()
    rag = users_system(Lists(), model)
    assert ask(rag, "What do dogs do?", include_sources=True) == NOTHING
    assert counts(rag) == (1, 0, 1)
    assert model.asked == []


@pytest.mark.parametrize("context", ["", "  ", None])
def test_an_empty_context_is_nothing_found(ask: Callable[..., str], context: Any) -> None:
    model = Model()
    builder = SimpleNamespace(build=always(context))
    rag = RAGSystem(Lists(CATS), model, Words(), builder, enable_query_expansion=False)
    assert ask(rag, "cats") == NOTHING
    assert model.asked == []


def test_a_search_that_fails_is_told_apart(ask: Callable[..., str], caplog: pytest.LogCaptureFixture) -> None:
    rag = users_system(Broken())
    assert ask(rag, "cats", include_sources=True) == SEARCH_FAILED
    assert counts(rag) == (1, 0, 1)
    assert "sk-SECRET" not in caplog.text


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("context_manager", SimpleNamespace(build=fails)),
        ("context_manager", SimpleNamespace()),
        ("llm", Model(ValueError(SECRET))),
        ("llm", Model({"error": SECRET})),
        ("llm", Model(f"Error: {SECRET}")),
        ("llm", Model(f"❌ Error: {SECRET}")),
        ("llm", Model(None)),
        ("llm", Model("  ")),
        ("llm", Model(7)),
        ("llm", SimpleNamespace()),
        ("_custom_prompt", fails),
        ("prompt_router", SimpleNamespace(build=fails)),
        ("vector_db", SimpleNamespace()),
    ],
)
def test_whatever_fails_is_a_message_and_never_its_words(
    ask: Callable[..., str], part: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rag = system_of_cats()
    setattr(rag, part, value)
    told = ask(rag, "cats", include_sources=True)
    assert told == FAILED
    assert counts(rag) == (1, 0, 1)
    assert "sk-SECRET" not in caplog.text


@pytest.mark.parametrize(
    ("question", "language", "configured", "told"),
    [
        ("cats", None, None, FAILED),
        ("cats", "ar", None, "❌ حدث خطأ: تعذّر توليد الإجابة."),
        ("cats", None, "ar", "❌ حدث خطأ: تعذّر توليد الإجابة."),
        ("cats", "en", "ar", FAILED),
        ("ما هي القطط cats", None, None, "❌ حدث خطأ: تعذّر توليد الإجابة."),
        ("cats", "fr", None, FAILED),
    ],
)
def test_messages_speak_the_wanted_language(
    ask: Callable[..., str], question: str, language: str | None, configured: str | None, told: str
) -> None:
    rag = system_of_cats(Model(ValueError()), RAGConfig(prompt_language=configured))
    assert ask(rag, question, language=language) == told


def test_the_configured_language_reaches_the_prompt_and_an_explicit_one_goes_before() -> None:
    model = Model()
    rag = system_of_cats(model, RAGConfig(prompt_language="ar"))
    rag.generate("cats")
    rag.generate("cats", language="en")
    assert ["أجب باللغة العربية." in prompt for prompt in model.prompts] == [True, False]
    assert "Answer in English." in model.prompts[1]


# The model


class Wide:
    def __init__(self) -> None:
        self.options: list[dict[str, Any]] = []

    def generate(self, prompt: str, **options: Any) -> str:
        self.options.append(options)
        return "fine"


def test_options_go_to_the_model(ask: Callable[..., str]) -> None:
    model = Wide()
    assert ask(system_of_cats(model), "cats", temperature=0.2, max_tokens=200) == "fine"
    assert model.options == [{"temperature": 0.2, "max_tokens": 200}]


def test_options_that_the_model_does_not_take_are_left_out_and_told_of(
    ask: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(system_of_cats(), "cats", temperature=0.2) == "fourteen days"
    assert "takes no temperature" in caplog.text


class Messages:
    """A client whose first parameter is a list of messages."""

    def generate(self, messages: Any = None, prompt: str | None = None) -> dict[str, Any]:
        assert prompt is None
        assert [message["role"] for message in messages] == ["user"]
        return {"content": f"read {len(messages[0]['content']) > 100}"}


class Agenerate:
    async def agenerate(self, prompt: str) -> str:
        return "awaited"


class GenerateAsync(Model):
    async def generate_async(self, prompt: str) -> str:
        return "awaited"


class Coroutine:
    async def generate(self, prompt: str) -> str:
        return "awaited"


class Chain:
    """A client of a well-known library: `generate` takes lists of messages, `invoke` one text."""

    def generate(self, messages: list[Any]) -> Any:
        raise AssertionError

    def invoke(self, prompt: str) -> Any:
        return SimpleNamespace(content=f"invoked {prompt.startswith('You answer')}")

    async def ainvoke(self, prompt: str) -> Any:
        return self.invoke(prompt)


@pytest.mark.parametrize(
    ("model", "plain", "awaited"),
    [
        (Messages(), "read True", "read True"),
        (Agenerate(), "awaited", "awaited"),
        (GenerateAsync("plain"), "plain", "awaited"),
        (Chain(), "invoked True", "invoked True"),
        (Coroutine(), "awaited", "awaited"),
        (always("called"), "called", "called"),
        (SimpleNamespace(invoke=always(SimpleNamespace(content="invoked"))), "invoked", "invoked"),
        (Model({"text": "held"}), "held", "held"),
        (Model({"choices": [{"message": {"content": "chosen"}}]}), "chosen", "chosen"),
    ],
)
def test_models_of_every_form_are_understood(model: Any, plain: str, awaited: str) -> None:
    assert system_of_cats(model).generate("cats") == plain
    assert asyncio.run(system_of_cats(model).agenerate("cats")) == awaited


def test_a_plain_call_works_while_an_event_loop_runs() -> None:
    async def within() -> str:
        return system_of_cats(Coroutine()).generate("cats")

    assert asyncio.run(within()) == "awaited"


def test_more_blocking_answers_are_under_way_than_the_loops_own_threads_allow() -> None:
    import threading

    together = threading.Barrier(40, timeout=30)

    def meets(prompt: str) -> str:
        together.wait()
        return "met"

    async def ask_all() -> list[str]:
        rag = system_of_cats(Model(meets))
        return list(await asyncio.gather(*(rag.agenerate(f"cats {n}") for n in range(40))))

    assert asyncio.run(ask_all()) == ["met"] * 40


def test_many_threads_count_rightly() -> None:
    rag = system_of_cats()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(rag.generate, ["cats", ""] * 300))
    assert counts(rag) == (600, 300, 0)
    rag.reset_stats()
    assert counts(rag) == (0, 0, 0)


def test_resetting_the_counts_of_questions_keeps_those_of_documents() -> None:
    rag = users_system()
    rag.add_text("cats purr")
    rag.generate("cats")
    rag.reset_stats()
    assert (counts(rag), rag.stats["total_documents"], rag.stats["total_chunks"]) == ((0, 0, 0), 1, 1)
