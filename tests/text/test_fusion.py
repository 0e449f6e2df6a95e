from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import InvalidInput
from burnish.text.fusion import keep_seat, reciprocal_rank_fusion

rankings_of_letters = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=5)


def test_scores_are_the_published_formula() -> None:
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"]]))
    assert fused == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


def test_what_two_rankings_agree_on_comes_first() -> None:
    assert [item for item, _ in reciprocal_rank_fusion([["a", "b"], ["c", "b"]])] == ["b", "a", "c"]


def test_ties_keep_the_order_of_first_appearance() -> None:
    assert [item for item, _ in reciprocal_rank_fusion([["x", "b"], ["a", "c"]])] == ["x", "a", "b", "c"]


def test_a_weight_gives_a_ranking_a_louder_voice_and_zero_silences_it() -> None:
    assert reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 2])[0][0] == "b"
    assert dict(reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 0]))["b"] == 0


def test_an_item_repeated_in_a_ranking_counts_once() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_weights_must_be_one_per_ranking() -> None:
    with pytest.raises(InvalidInput, match="1 weights for 2 rankings"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=[1])


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []


def test_the_own_best_hit_displaces_the_last_stranger() -> None:
    fused = [("a", 0.9), ("b", 0.8), ("c", 0.7), ("own", 0.1)]
    assert keep_seat(fused, ["own", "c"], seats=1, n=3) == [("a", 0.9), ("b", 0.8), ("own", 0.1)]


def test_an_own_hit_that_is_already_in_changes_nothing() -> None:
    fused = [("a", 0.9), ("own", 0.8), ("c", 0.7)]
    assert keep_seat(fused, ["own"], seats=1, n=2) == fused[:2]


def test_an_own_hit_missing_from_the_fused_ranking_is_put_last() -> None:
    assert keep_seat([("a", 0.9), ("b", 0.8)], ["own"], seats=1, n=2) == [("a", 0.9), ("own", 0.0)]


@given(rankings_of_letters, st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(0, 4), st.integers(0, 6))
def test_the_seated_are_always_among_the_first_n(rankings: list[list[str]], own: list[str], seats: int, n: int) -> None:
    fused = reciprocal_rank_fusion([*rankings, own])
    kept = [item for item, _ in keep_seat(fused, own, seats, n)]
    assert len(kept) == min(n, len(fused)) == len(set(kept))
    assert set(own[: min(seats, n)]) <= set(kept)
    order = [item for item, _ in fused]
    assert kept == sorted(kept, key=order.index)
