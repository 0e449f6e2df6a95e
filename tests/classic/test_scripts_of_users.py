"""The example scripts that users of these classes bring with them run as they stand; only their imports are adapted."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from users import Shelf, Speaker, asked_in, judged, parts

from burnish import (
    ContextBuilder,
    HyDERAG,
    LLMCallError,
    LoadedDocument,
    MemoryStore,
    RAGSystem,
    RecursiveRAG,
    RecursiveRAGConfig,
    SelfIRAG,
    SelfRAGConfig,
    SentenceChunker,
    _call_llm,  # pyright: ignore[reportPrivateUsage] public by its old name
)
from tests.world.word_embedder import WordEmbedder

WORD = re.compile(r"\w{4,}")


class Library(Shelf):
    """Finds the documents that share a longer word with the query, those with the most first."""

    def retrieve(self, query: str, top_k: int) -> list[tuple[str, float, dict[str, Any]]]:
        wanted = set(WORD.findall(query.lower()))
        counted = [(len(wanted & set(WORD.findall(each["text"].lower()))), each) for each in self.documents]
        found = sorted((each for each in counted if each[0]), key=lambda each: -each[0])
        return [(each["text"], count / len(wanted), each["metadata"]) for count, each in found[:top_k]]


def take_apart(prompt: str) -> str:
    """Splits at "and how" and the first "and", as a model would."""
    question = asked_in(prompt).rpartition("Question: ")[2].partition("\n")[0]
    first, _, second = question.partition(" and how ")
    causes = re.sub(r"causes and effects", "causes", first).rstrip("?, ") + "?"
    effects = re.sub(r"causes and effects", "effects", first).rstrip("?, ") + "?"
    return parts(causes, effects, f"How {second}") if second else parts(causes, effects)


def imagine(prompt: str) -> str:
    """The words of the question, which a passage that answers it holds as well."""
    question = re.findall(r": (.*)", prompt)[-1]
    return f"{question} {question}"


@pytest.fixture
def my_rag() -> Library:
    return Library(
        "Deep learning is a subset of machine learning that uses neural networks.",
        "Regular exercise has benefits for the heart, for sleep and for mood.",
        "The causes of the Industrial Revolution were coal, capital and new machines.",
        "The effects of the Industrial Revolution included urbanisation and new classes.",
        "The causes of climate change are greenhouse gases; its effects are heat, drought and biodiversity loss.",
        "Photosynthesis turns light, water and carbon dioxide into sugar.",
        "طرق الدفع المتاحة هي البطاقة والتحويل المصرفي والدفع عند الاستلام.",
    )


@pytest.fixture
def my_llm() -> Speaker:
    return Speaker(parts=take_apart, passage=imagine)


def test_quick_start(my_rag: Library, my_llm: Speaker, capsys: pytest.CaptureFixture[str]) -> None:
    cfg = SelfRAGConfig(max_refinement_iterations=3, confidence_threshold=0.85, fast_mode=True)
    self_rag = SelfIRAG(rag_system=my_rag, llm=my_llm, config=cfg)
    result = self_rag.query("What is deep learning?")
    print(result.answer, f"confidence={result.confidence:.2f}")

    hyde = HyDERAG(rag_system=my_rag, llm=my_llm, num_hypothetical_docs=3)
    result = hyde.query("What are the benefits of exercise?")
    print(result.answer)

    rec_cfg = RecursiveRAGConfig(max_depth=3, max_sub_questions=4)
    rec_rag = RecursiveRAG(rag_system=my_rag, llm=my_llm, config=rec_cfg)
    result = rec_rag.query("What are the causes and effects of the Industrial Revolution?")
    print(result.answer)
    print(result.sub_questions)

    deep, exercise, industrial, sub_questions = capsys.readouterr().out.splitlines()
    assert deep == "Deep learning is a subset of machine learning that uses neural networks. confidence=1.00"
    assert exercise.startswith("Regular exercise")
    assert "coal" in industrial
    assert sub_questions == (
        "['What are the causes of the Industrial Revolution?', 'What are the effects of the Industrial Revolution?']"
    )


def test_results_are_printed(my_rag: Library, my_llm: Speaker, capsys: pytest.CaptureFixture[str]) -> None:
    result = SelfIRAG(my_rag, my_llm).query("What does deep learning use?")
    print(f"Confidence: {result.confidence:.2%}")
    print(
        f"Improved from {result.initial_quality:.2f} → {result.final_quality:.2f} over {result.iterations} iterations"
    )
    for step in result.steps:
        print(f"  Step {step.step}: {step.reason}")
    print(json.dumps(result.to_dict(), indent=2))

    hyde = HyDERAG(my_rag, my_llm).query("How does photosynthesis work?")
    print(f"Generated {len(hyde.hypothetical_docs)} hypothetical docs")
    print(f"Retrieved {hyde.num_retrieved} unique real docs, used {hyde.num_ranked} for generation")

    out = capsys.readouterr().out
    assert "Confidence: 100.00%\nImproved from 1.00 → 1.00 over 1 iterations\n" in out
    assert "  Step 1: confidence=1.00 (R=1.00 A=1.00 C=1.00 Cl=1.00)\n" in out
    assert "Generated 3 hypothetical docs\nRetrieved 1 unique real docs, used 1 for generation\n" in out


def test_results_without_an_answer_are_printed_too(my_llm: Speaker, capsys: pytest.CaptureFixture[str]) -> None:
    result = SelfIRAG(Library(), my_llm).query("What does deep learning use?")
    print(f"{result.answer} {result.confidence:.2%} {result.initial_quality:.2f} → {result.final_quality:.2f}")
    for step in result.steps:
        print(f"  Step {step.step}: {step.reason}")
    assert capsys.readouterr().out.splitlines() == [
        "There is not enough information. 0.00% 0.00 → 0.00",
        "  Step 1: confidence=0.00 (R=? A=? C=? Cl=?)",
    ]


def test_example_1_self_irag_with_full_audit_logging(capsys: pytest.CaptureFixture[str]) -> None:
    my_rag = Library()
    weak = judged("It uses layers.", 0.5, "multi-layered neural networks", suggestions=["classical machine learning"])
    good = judged("It uses multi-layered neural networks.", 0.9, "multi-layered neural networks")
    my_llm = Speaker(fast=[weak, good])

    config = SelfRAGConfig(
        max_refinement_iterations=4,
        confidence_threshold=0.82,
        enable_answer_refinement=True,
        enable_retrieval_refinement=True,
        fast_mode=True,
        llm_retries=3,
    )
    rag = SelfIRAG(rag_system=my_rag, llm=my_llm, config=config)
    rag.add_document("Neural networks are computing systems inspired by the brain...", {"source": "AI_textbook"})
    rag.add_document("Deep learning uses multi-layered neural networks...", {"source": "ML_guide"})
    result = rag.query("How does deep learning differ from classical machine learning?")

    print("=== Answer ===")
    print(result.answer)
    print("\n=== Iteration History ===")
    for step in result.steps:
        print(f"  Iteration {step.step}: confidence={step.confidence:.2f} | {step.reason}")
    print(f"\nQuality delta: {result.initial_quality:.2f} → {result.final_quality:.2f}")
    print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))

    out = capsys.readouterr().out
    assert out.startswith("=== Answer ===\nIt uses multi-layered neural networks.\n\n=== Iteration History ===\n")
    assert (
        "  Iteration 1: confidence=0.50 | confidence=0.50 (R=0.50 A=0.50 C=0.50 Cl=0.50) | suggestions: classical"
        in out
    )
    assert "Quality delta: 0.50 → 0.90\n" in out
    assert "ML_guide" in {source.metadata["source"] for source in result.sources}


def test_example_2_hyde_with_retrieval_statistics(my_llm: Speaker, capsys: pytest.CaptureFixture[str]) -> None:
    hyde = HyDERAG(
        rag_system=Library(),
        llm=my_llm,
        num_hypothetical_docs=4,
        use_original_query=True,
        top_k=6,
        max_final_docs=12,
        max_workers=4,
    )
    hyde.add_document("Plants convert light energy from sunlight into chemical energy...", {"topic": "biology"})
    result = hyde.query("Explain the process by which plants produce energy from sunlight.")

    print(result.answer)
    print(
        f"\n[Stats] hypothetical docs: {len(result.hypothetical_docs)}, "
        f"retrieved: {result.num_retrieved}, used: {result.num_ranked}"
    )
    print("\n[Hypothetical docs used as search vectors:]")
    for i, doc in enumerate(result.hypothetical_docs, 1):
        print(f"  {i}. {doc[:150]}...")

    out = capsys.readouterr().out
    assert out.startswith("Plants convert light energy from sunlight into chemical energy...\n")
    assert "[Stats] hypothetical docs: 4, retrieved: 1, used: 1\n" in out
    assert out.count("...\n") == 5


def test_example_3_recursive_for_complex_multi_part_questions(
    my_llm: Speaker, capsys: pytest.CaptureFixture[str]
) -> None:
    config = RecursiveRAGConfig(max_depth=3, max_sub_questions=4, min_query_length=40, llm_retries=2)
    rec_rag = RecursiveRAG(rag_system=Library(), llm=my_llm, config=config)
    rec_rag.add_document("The Industrial Revolution began in Britain in the 1760s...", {"era": "18th_century"})
    rec_rag.add_document("The effects of industrialisation included urbanisation...", {"era": "19th_century"})
    result = rec_rag.query(
        "What were the causes and effects of the Industrial Revolution "
        "and how did they compare to the Agricultural Revolution?"
    )

    print(result.answer)
    if result.decomposed:
        print(f"\nDecomposed into {len(result.sub_questions)} sub-questions:")
        for i, (q, a) in enumerate(zip(result.sub_questions, result.sub_answers, strict=False), 1):
            print(f"\n  [{i}] Q: {q}")
            print(f"       A: {a.answer[:200]}...")
    print(result.to_dict())

    out = capsys.readouterr().out
    assert "Decomposed into 3 sub-questions:\n\n  [1] Q: What were the causes of the Industrial Revolution?" in out
    assert "       A: The Industrial Revolution began in Britain in the 1760s......" in out


def test_example_4_async_service_with_all_three_strategies(my_rag: Library, my_llm: Speaker) -> None:
    app = FastAPI()
    self_rag = SelfIRAG(my_rag, my_llm, config=SelfRAGConfig(fast_mode=True))
    hyde_rag = HyDERAG(my_rag, my_llm, num_hypothetical_docs=3)
    rec_rag = RecursiveRAG(my_rag, my_llm)

    @app.get("/query/self")
    async def self_answer(q: str) -> Any:
        result = await self_rag.aquery(q)
        return result.to_dict()

    @app.get("/query/hyde")
    async def hyde_answer(q: str) -> Any:
        result = await asyncio.to_thread(hyde_rag.query, q)
        return result.to_dict()

    @app.get("/query/recursive")
    async def recursive_answer(q: str) -> Any:
        result = await asyncio.to_thread(rec_rag.query, q)
        return result.to_dict()

    @app.get("/stats")
    def stats() -> Any:
        return self_rag.get_stats()

    client = TestClient(app)
    for strategy in ("self", "hyde", "recursive"):
        told = client.get(f"/query/{strategy}", params={"q": "What is deep learning?"}).json()
        assert told["answer"] == "Deep learning is a subset of machine learning that uses neural networks."
        assert told["status"] == "succeeded"
    assert client.get("/stats").json()["max_refinement_iterations"] == 3
    assert [self_answer.__name__, hyde_answer.__name__, recursive_answer.__name__, stats.__name__]


def test_example_5_chaining_recursive_and_self_irag(
    my_rag: Library, my_llm: Speaker, capsys: pytest.CaptureFixture[str]
) -> None:
    rec = RecursiveRAG(my_rag, my_llm, config=RecursiveRAGConfig(max_depth=2, max_sub_questions=3))
    self_rag = SelfIRAG(my_rag, my_llm, config=SelfRAGConfig(max_refinement_iterations=2, fast_mode=True))
    complex_query = "What are the causes and effects of climate change, and how do they relate to biodiversity loss?"

    rec_result = rec.query(complex_query)
    if rec_result.decomposed:
        print(f"Decomposed into {len(rec_result.sub_questions)} sub-questions")
        refined_answers: list[str] = []
        for sq in rec_result.sub_questions:
            verified = self_rag.query(sq)
            refined_answers.append(f"Q: {sq}\nA: {verified.answer} (confidence={verified.confidence:.2f})")
            print(f"  ✓ '{sq[:60]}' → confidence={verified.confidence:.2f}")
        print("\n=== Refined composite answer ===")
        print("\n\n".join(refined_answers))
    else:
        print(rec_result.answer)

    out = capsys.readouterr().out
    assert out.startswith(
        "Decomposed into 3 sub-questions\n  ✓ 'What are the causes of climate change?' → confidence=1.00\n"
    )
    assert out.count("A: The causes of climate change are greenhouse gases") == 3


def test_example_5_by_configuration_is_one_object_and_one_question(my_rag: Library, my_llm: Speaker) -> None:
    rec = RecursiveRAG(my_rag, my_llm, config=RecursiveRAGConfig(max_depth=2, max_sub_questions=3), leaf="self_irag")
    result = rec.query(
        "What are the causes and effects of climate change, and how do they relate to biodiversity loss?"
    )
    assert [part.history[0].confidence for part in result.sub_results] == [1.0, 1.0, 1.0]
    assert my_llm.kinds.count("fast") == 3


def test_simple_real_example(my_rag: Library, my_llm: Speaker) -> None:
    config = SelfRAGConfig(max_refinement_iterations=3, confidence_threshold=0.85, fast_mode=True)
    self_rag = SelfIRAG(rag_system=my_rag, llm=my_llm, config=config)
    first = self_rag.query("ما هي طرق الدفع المتاحة؟")
    hyde = HyDERAG(
        rag_system=my_rag, llm=my_llm, num_hypothetical_docs=4, use_original_query=True, top_k=5, max_final_docs=12
    )
    second = hyde.query("ما هي طرق الدفع المتاحة؟")
    recursive_rag = RecursiveRAG(
        rag_system=my_rag, llm=my_llm, config=RecursiveRAGConfig(max_depth=3, max_sub_questions=4, min_query_length=40)
    )
    third = recursive_rag.query("ما هي طرق الدفع المتاحة؟")
    expected = "طرق الدفع المتاحة هي البطاقة والتحويل المصرفي والدفع عند الاستلام."
    assert {first.answer, second.answer, third.answer} == {expected}


def test_simple_real_example_over_the_rag_system(my_llm: Speaker) -> None:
    rag_system = RAGSystem(
        llm=my_llm,
        vector_db=MemoryStore(WordEmbedder()),
        chunker=SentenceChunker(),
        context_manager=ContextBuilder(),
    )
    rag_system.add_documents([LoadedDocument("طرق الدفع المتاحة هي البطاقة والتحويل المصرفي والدفع عند الاستلام.")])
    self_rag = SelfIRAG(rag_system=rag_system, llm=my_llm, config=SelfRAGConfig(confidence_threshold=0.85))
    assert self_rag.add_document("التوصيل مجاني لكل الطلبات.", {"source": "faq"}) == 1
    classes = (self_rag, HyDERAG(rag_system=rag_system, llm=my_llm), RecursiveRAG(rag_system=rag_system, llm=my_llm))
    for rag in classes:
        result = rag.query("ما هي طرق الدفع المتاحة؟")
        assert result.answer == "طرق الدفع المتاحة هي البطاقة والتحويل المصرفي والدفع عند الاستلام."
        assert asyncio.run(rag.aquery("ما هي طرق الدفع المتاحة؟")).answer == result.answer
    assert self_rag.query("هل التوصيل مجاني؟").sources[0].metadata["source"] == "faq"


def test_complete_example_of_all_three(capsys: pytest.CaptureFixture[str], my_llm: Speaker) -> None:
    backend = Library(
        "Quantum entanglement links the states of particles.",
        "Black holes are regions from which no light escapes.",
        "The causes of World War I were alliances; those of World War II were revenge and ambition.",
    )
    self_rag = SelfIRAG(backend, my_llm, config=SelfRAGConfig(confidence_threshold=0.85))
    r1 = self_rag.query("What is quantum entanglement?")
    print(r1.final_answer, r1.final_quality)
    hyde = HyDERAG(backend, my_llm, num_hypothetical_docs=4)
    r2 = hyde.query("stuff about black holes")
    recursive = RecursiveRAG(backend, my_llm)
    r3 = recursive.query("Compare the causes and effects of World War I and World War II.")
    assert capsys.readouterr().out == "Quantum entanglement links the states of particles. 1.0\n"
    assert r2.answer == "Black holes are regions from which no light escapes."
    assert "alliances" in r3.answer


def test_custom_error_handling_at_the_level_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    class MyLLM:
        def generate(self, prompt: str) -> str:
            raise PermissionError(f"no access for {prompt!r}")

    try:
        _call_llm(MyLLM(), "Your prompt here", retries=3)
    except LLMCallError as e:
        print(f"LLM permanently unavailable: {e}")
    assert "no access for 'Your prompt here'" in capsys.readouterr().out
