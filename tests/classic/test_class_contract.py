"""Names, signatures, defaults and keys, as the documents that users come from promise them."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from users import Shelf, Speaker

import burnish
from burnish import (
    EvaluationResult,
    HyDERAG,
    HyDEResult,
    LLMCallError,
    RAGSystemError,
    RecursiveRAG,
    RecursiveRAGConfig,
    RecursiveRAGResult,
    RefinementStep,
    RetrievalError,
    SelfIRAG,
    SelfRAGConfig,
    SelfRAGResult,
    SubAnswer,
    _call_llm,  # pyright: ignore[reportPrivateUsage] public by their old names
    _deduplicate,  # pyright: ignore[reportPrivateUsage]
    _doc_key,  # pyright: ignore[reportPrivateUsage]
    _retrieve_safe,  # pyright: ignore[reportPrivateUsage]
)

NAMES = """
SelfIRAG HyDERAG RecursiveRAG SelfRAGConfig RecursiveRAGConfig SelfRAGResult HyDEResult RecursiveRAGResult
EvaluationResult RefinementStep SubAnswer LLMCallError RetrievalError RAGSystemError
_call_llm _retrieve_safe _deduplicate _doc_key
"""

SIGNATURES: list[tuple[Callable[..., Any], str]] = [
    (SelfIRAG, "rag_system, llm, config=None"),
    (SelfIRAG.query, "self, query, context=None"),
    (SelfIRAG.aquery, "self, query, context=None"),
    (SelfIRAG.add_document, "self, text, metadata=None"),
    (SelfIRAG.get_stats, "self"),
    (
        HyDERAG,
        """rag_system, llm, num_hypothetical_docs=3, use_original_query=True, top_k=5, max_final_docs=10, llm_retries=2,
        max_workers=4""",
    ),
    (HyDERAG.query, "self, query, context=None"),
    (HyDERAG.aquery, "self, query, context=None"),
    (HyDERAG.add_document, "self, text, metadata=None"),
    (HyDERAG.get_stats, "self"),
    (RecursiveRAG, "rag_system, llm, config=None"),
    (RecursiveRAG.query, "self, query, context=None, _depth=0"),
    (RecursiveRAG.aquery, "self, query, context=None"),
    (RecursiveRAG.add_document, "self, text, metadata=None"),
    (RecursiveRAG.get_stats, "self"),
    (_call_llm, "llm, prompt, retries=2, backoff=0.5"),
    (_retrieve_safe, "rag_system, query, top_k=5"),
    (_deduplicate, "docs"),
    (_doc_key, "doc"),
    (
        SelfRAGConfig,
        """max_refinement_iterations=3, confidence_threshold=0.8, enable_answer_refinement=True,
        enable_retrieval_refinement=True, llm_retries=2, fast_mode=True, skip_refinement_on_high_confidence=True""",
    ),
    (EvaluationResult, "relevance=0.5, accuracy=0.5, completeness=0.5, clarity=0.5"),
    (RefinementStep, "iteration, answer, evaluation"),
    (SelfRAGResult, "answer, confidence, iterations, history"),
    (HyDEResult, "answer, hypothetical_docs, num_retrieved, num_ranked"),
    (SubAnswer, "question, answer, depth"),
    (RecursiveRAGResult, "answer, depth, decomposed"),
]

KEYWORDS = """
و أو ثم بعد قبل أسباب نتائج مقارنة الفرق العلاقة التأثير كيف لماذا متى أين
and or causes effects compare difference relationship impact how why when
"""


def promised(written: str) -> list[tuple[str, Any]]:
    return [
        (each.name, each.default)
        for each in inspect.signature(eval(f"lambda {' '.join(written.split())}: 0")).parameters.values()
    ]


@pytest.mark.parametrize("name", NAMES.split())
def test_the_name_is_public(name: str) -> None:
    assert name in burnish.__all__
    assert hasattr(burnish, name)


@pytest.mark.parametrize(("called", "written"), SIGNATURES, ids=lambda each: getattr(each, "__qualname__", ""))
def test_the_promised_parameters_come_first_and_none_that_follows_is_required(
    called: Callable[..., Any], written: str
) -> None:
    parameters = list(inspect.signature(called).parameters.values())
    expected = promised(written)
    assert [(each.name, each.default) for each in parameters[: len(expected)]] == expected
    assert all(each.kind is not inspect.Parameter.KEYWORD_ONLY for each in parameters[: len(expected)])
    varying = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    rest = parameters[len(expected) :]
    assert [each.name for each in rest if each.default is inspect.Parameter.empty and each.kind not in varying] == []


def test_the_recursive_config_has_its_defaults() -> None:
    config = RecursiveRAGConfig()
    assert (config.max_depth, config.max_sub_questions, config.min_query_length, config.llm_retries) == (3, 4, 40, 2)
    assert config.complexity_keywords == KEYWORDS.split()
    assert list(inspect.signature(RecursiveRAGConfig).parameters)[:5] == [
        "max_depth",
        "max_sub_questions",
        "min_query_length",
        "complexity_keywords",
        "llm_retries",
    ]


def test_configs_share_no_list_and_may_be_changed() -> None:
    one, other = RecursiveRAGConfig(), RecursiveRAGConfig()
    one.complexity_keywords.append("versus")
    one.max_depth = 1
    assert (other.complexity_keywords, other.max_depth) == (KEYWORDS.split(), 3)


@pytest.mark.parametrize("kind", [EvaluationResult, RefinementStep, SelfRAGResult, HyDEResult, RecursiveRAGResult])
def test_results_are_plain_dataclasses_that_may_be_changed(kind: Any) -> None:
    assert dataclasses.is_dataclass(kind)
    assert not kind.__dataclass_params__.frozen  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


def test_errors_have_one_root_of_their_own_under_the_one_of_burnish() -> None:
    for error in (LLMCallError, RetrievalError):
        assert issubclass(error, RAGSystemError)
        assert issubclass(error, burnish.BurnishError)
    assert not issubclass(LLMCallError, RetrievalError)


def test_an_evaluation_is_the_geometric_mean_of_its_scores() -> None:
    assert EvaluationResult().confidence == 0.5
    assert EvaluationResult(0.9, 0.1, 0.9, 0.9).confidence == pytest.approx((0.9**3 * 0.1) ** 0.25)  # pyright: ignore[reportUnknownMemberType]
    assert EvaluationResult(1, 1, 1, 0).confidence == 0


def test_an_evaluation_with_an_unknown_score_is_no_middling_one() -> None:
    assert EvaluationResult(1, None, 1, 1).confidence == 0.0


def test_an_evaluation_as_a_dict() -> None:
    told = EvaluationResult(0.123456, 1, 1, 1, ["an issue"], ["a suggestion"]).to_dict()
    assert told["relevance"] == 0.1235
    assert told["confidence"] == round(0.123456**0.25, 4)
    assert (told["issues"], told["suggestions"]) == (["an issue"], ["a suggestion"])
    assert {"relevance", "accuracy", "completeness", "clarity", "confidence", "issues", "suggestions"} <= told.keys()


def steps(*confidences: float) -> list[RefinementStep]:
    evaluations = [EvaluationResult(each, each, each, each) for each in confidences]
    return [RefinementStep(n, f"answer {n}", evaluation) for n, evaluation in enumerate(evaluations, 1)]


def test_a_self_rag_result_goes_by_its_older_names() -> None:
    result = SelfRAGResult("the answer", 0.6, 3, steps(0.2, 0.6, 0.4))
    assert (result.final_answer, result.refinement_steps) == ("the answer", 3)
    assert (round(result.initial_quality, 4), round(result.final_quality, 4)) == (0.2, 0.4)
    assert [step.confidence for step in result.steps] == [step.confidence for step in result.history]


def test_a_result_without_iterations_has_no_quality() -> None:
    result = SelfRAGResult("none", 0.0, 0, [])
    assert (result.initial_quality, result.final_quality, result.steps) == (0.0, 0.0, [])


def test_a_step_tells_its_reason_in_one_line() -> None:
    evaluation = EvaluationResult(0.9, 0.1, 0.25, 0.5, suggestions=["one", "two", "three"])
    step = RefinementStep(2, "an answer", evaluation)
    assert (step.step, step.action) == (2, "evaluate")
    assert step.reason == "confidence=0.33 (R=0.90 A=0.10 C=0.25 Cl=0.50) | suggestions: one; two"
    assert (
        RefinementStep(1, "", EvaluationResult(accuracy=None)).reason == "confidence=0.00 (R=0.50 A=? C=0.50 Cl=0.50)"
    )


def test_reading_the_steps_changes_nothing() -> None:
    result = SelfRAGResult("the answer", 0.6, 1, steps(0.6))
    before = vars(result.history[0]).copy()
    result.steps.clear()
    assert (vars(result.history[0]), len(result.history)) == (before, 1)


RESULTS = [
    (
        SelfRAGResult("the answer", 0.123456, 2, steps(0.2, 0.654321)),
        {"answer": "the answer", "confidence": 0.1235, "iterations": 2, "initial_quality": 0.2, "final_quality": 0.6543}
        | {"history": [{"iteration": 1, "confidence": 0.2}, {"iteration": 2, "confidence": 0.6543}]},
    ),
    (
        HyDEResult("the answer", ["one", "two"], 7, 5),
        {"answer": "the answer", "hypothetical_docs_generated": 2, "num_retrieved": 7, "num_ranked": 5},
    ),
    (
        RecursiveRAGResult("the answer", 0, True, ["one?", "two?"], [SubAnswer("one?", "1", 1)]),
        {"answer": "the answer", "decomposed": True, "depth": 0, "sub_questions": ["one?", "two?"]},
    ),
]


@pytest.mark.parametrize(("result", "promised"), RESULTS, ids=lambda each: type(each).__name__)
def test_a_result_as_a_dict_holds_what_was_promised_and_goes_into_json(result: Any, promised: dict[str, Any]) -> None:
    told = result.to_dict()
    assert {name: told[name] for name in promised} == promised
    assert json.loads(json.dumps(told)) == told


def test_every_result_as_a_dict_tells_more() -> None:
    more = {
        "status",
        "error",
        "sources",
        "llm_calls",
        "retrieval_calls",
        "prompt_tokens",
        "completion_tokens",
        "cost_usd",
    }
    more |= {"elapsed_seconds", "sub_results", "trace"}
    assert [type(result) for result, _ in RESULTS if not more <= result.to_dict().keys()] == []


@pytest.mark.parametrize(
    ("rag", "stats"),
    [
        (
            SelfIRAG(Shelf(), Speaker(), SelfRAGConfig(confidence_threshold=0.85)),
            {"max_refinement_iterations": 3, "confidence_threshold": 0.85, "enable_answer_refinement": True}
            | {"enable_retrieval_refinement": True, "llm_retries": 2, "fast_mode": True},
        ),
        (
            HyDERAG(Shelf(), Speaker(), top_k=7),
            {"num_hypothetical_docs": 3, "use_original_query": True, "top_k": 7, "max_final_docs": 10, "llm_retries": 2}
            | {"max_workers": 4},
        ),
        (
            RecursiveRAG(Shelf(), Speaker(), leaf="hyde"),
            {"max_depth": 3, "max_sub_questions": 4, "min_query_length": 40, "llm_retries": 2, "leaf": "hyde"}
            | {"complexity_keywords": KEYWORDS.split()},
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_stats_are_what_the_class_was_told(rag: Any, stats: dict[str, Any]) -> None:
    assert rag.get_stats() == stats


CLASSES = [SelfIRAG, HyDERAG, RecursiveRAG]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("llm", [None, "", 0, [], {}, False])
def test_a_falsy_model_is_a_value_error(kind: Any, llm: Any) -> None:
    with pytest.raises(ValueError, match=r"requires an LLM|has no method 'generate'"):
        kind(Shelf(), llm)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_model_that_is_empty_or_false_is_a_model_all_the_same(kind: Any) -> None:
    class Empty(Speaker):
        def __len__(self) -> int:
            return 0

        def __bool__(self) -> bool:
            return False

    assert kind(Shelf("A text."), Empty()).query("What does the text say?").answer == "A text."


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("rag_system", [None, object()])
def test_what_cannot_be_searched_is_refused_at_once(kind: Any, rag_system: Any) -> None:
    with pytest.raises(ValueError, match="has no method 'retrieve'"):
        kind(rag_system, Speaker())


@pytest.mark.parametrize("kind", CLASSES)
def test_making_one_asks_nothing_of_anybody(kind: Any) -> None:
    shelf, speaker = Shelf("A text."), Speaker()
    kind(shelf, speaker)
    assert (shelf.queries, speaker.prompts) == ([], [])


@pytest.mark.parametrize("kind", CLASSES)
def test_an_argument_that_nobody_knows_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="max_iterations"):
        kind(Shelf(), Speaker(), max_iterations=3)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_document_is_handed_to_the_retriever_with_its_metadata_or_an_empty_one(kind: Any) -> None:
    shelf = Shelf()
    rag = kind(shelf, Speaker())
    assert rag.add_document("One.", {"source": "atlas"}) == 1
    assert rag.add_document("Two.", metadata=None) == 2
    assert [(each["text"], each["metadata"]) for each in shelf.documents] == [
        ("One.", {"source": "atlas"}),
        ("Two.", {}),
    ]


@pytest.mark.parametrize("kind", CLASSES)
def test_what_the_retriever_raises_for_a_document_is_its_own(kind: Any) -> None:
    class Full(Shelf):
        def add_document(self, text: str, metadata: Any) -> int:
            raise OverflowError("full")

    with pytest.raises(OverflowError, match="full"):
        kind(Full(), Speaker()).add_document("One.")


WRONG: list[tuple[Callable[..., Any], str, Any, str]] = [
    (SelfRAGConfig, "max_refinement_iterations", 0, "between 1 and 10"),
    (SelfRAGConfig, "max_refinement_iterations", -1, "between 1 and 10"),
    (SelfRAGConfig, "max_refinement_iterations", "3", "whole number"),
    (SelfRAGConfig, "confidence_threshold", 1.5, "between 0 and 1"),
    (SelfRAGConfig, "confidence_threshold", float("nan"), "between 0 and 1"),
    (SelfRAGConfig, "confidence_threshold", "high", "must be a number"),
    (SelfRAGConfig, "fast_mode", "no", "true or false"),
    (SelfRAGConfig, "llm_retries", -1, "between 0 and 20"),
    (RecursiveRAGConfig, "max_depth", -1, "between 0 and 6"),
    (RecursiveRAGConfig, "max_sub_questions", 0, "between 1 and 8"),
    (RecursiveRAGConfig, "complexity_keywords", "and", "list of texts"),
    (RecursiveRAGConfig, "llm_retries", -1, "between 0 and 20"),
    (RecursiveRAGConfig, "leaf", "recursive", "must be one of direct"),
]


@pytest.mark.parametrize(("kind", "name", "value", "reason"), WRONG)
def test_a_config_says_what_is_wrong_with_it(kind: Callable[..., Any], name: str, value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"{name}.*{reason}"):
        kind(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_hypothetical_docs", 0),
        ("num_hypothetical_docs", -1),
        ("max_workers", 0),
        ("max_final_docs", 0),
        ("top_k", 0),
        ("llm_retries", -1),
        ("use_original_query", "no"),
    ],
)
def test_hyde_says_what_is_wrong_with_its_arguments(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        HyDERAG(Shelf(), Speaker(), **{name: value})


def test_a_config_that_was_spoilt_later_is_noticed_by_the_next_question() -> None:
    rag = SelfIRAG(Shelf("A text."), Speaker(), SelfRAGConfig())
    rag.config.max_refinement_iterations = 0
    with pytest.raises(ValueError, match="max_refinement_iterations"):
        rag.query("What does the text say?")
