"""Replies are filed by request: what changes in a strategy costs only what was changed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import asks_all, call, child, drive, echo, never, search

from burnish.config import HyDEConfig, StrategyConfig
from burnish.effects import Ask, Effect, Prompt, SearchQuery, Together
from burnish.engine import request_digest

ONE = Ask(Prompt("answer", "system", "user", 10, {"type": "object", "maxItems": 2}, ("yes", "no")), 0.5, 7)


def test_a_step_put_in_front_leaves_the_others_their_replies() -> None:
    _, before = drive(asks_all([call("a"), call("b")]), echo)
    _, performed = drive(asks_all([call("new"), call("a"), call("b")]), echo, before)
    assert [reply.text for reply in performed.values()] == ["new"]


def test_a_step_taken_out_or_moved_costs_nothing() -> None:
    _, before = drive(asks_all([call("a"), call("b"), call("c")]), echo)
    answer, performed = drive(asks_all([call("c"), call("a")]), never, before)
    assert (answer.text, performed) == ("c a", {})


def test_what_ran_alone_keeps_its_reply_when_it_runs_together() -> None:
    _, before = drive(asks_all([call("a"), call("b")]), echo)
    answer, performed = drive(asks_all([Together((call("a"), call("b")))]), never, before)
    assert (answer.text, performed) == ("a b", {})


def test_another_scope_has_replies_of_its_own() -> None:
    _, before = drive(asks_all([call("a")]), echo, scope="one model")
    _, performed = drive(asks_all([call("a")]), echo, before, scope="another model")
    assert len(performed) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, seed=8),
        replace(ONE, seed=None),
        replace(ONE, temperature=0.6),
        replace(ONE, prompt=replace(ONE.prompt, user="user ")),
        replace(ONE, prompt=replace(ONE.prompt, system="")),
        replace(ONE, prompt=replace(ONE.prompt, kind="rewrite")),
        replace(ONE, prompt=replace(ONE.prompt, max_tokens=11)),
        replace(ONE, prompt=replace(ONE.prompt, schema=None)),
        replace(ONE, prompt=replace(ONE.prompt, choices=())),
    ],
)
def test_every_parameter_of_a_call_counts(other: Ask) -> None:
    assert request_digest(other) != request_digest(ONE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (search("q"), replace(search("q"), top_k=4)),
        (search("q"), replace(search("q"), limit=4)),
        (search("q"), replace(search("q"), combine="mean")),
        (search("q"), replace(search("q"), queries=(SearchQuery("q", "passage"),))),
        (child("q"), replace(child("q"), strategy="other")),
        (child("q"), replace(child("q"), ancestors=("p",))),
        (child("q"), replace(child("q"), config=StrategyConfig(hyde=HyDEConfig(temperature=0.1)))),
        (child("q"), child("q", depth=2)),
    ],
)
def test_every_parameter_of_a_search_and_a_sub_question_counts(one: Any, other: Any) -> None:
    assert request_digest(one) != request_digest(other)


def test_the_order_in_which_a_schema_was_written_down_does_not_count() -> None:
    schemas: list[dict[str, Any]] = [{"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}]
    digests = {request_digest(replace(ONE, prompt=replace(ONE.prompt, schema=schema))) for schema in schemas}
    assert len(digests) == 1


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_any_text_has_a_digest_even_half_a_surrogate_pair(text: str) -> None:
    effects: list[Effect] = [call(text), search(text), child(text)]
    digests = {request_digest(effect) for effect in effects if not isinstance(effect, Together)}
    assert len(digests) == 3


def test_half_a_surrogate_pair_is_told_from_its_neighbour() -> None:
    assert request_digest(call("\ud800")) != request_digest(call("\ud801"))


PROGRAM = """
from dataclasses import replace
from burnish.config import StrategyConfig
from burnish.effects import Ask, Prompt, Retrieve, SearchQuery, Subquestion
from burnish.engine import Flow, Wanted
prompt = Prompt("answer", "s", "سؤال", 10, {"b": {"z": 1, "y": [1, 2]}, "a": 0.5}, ("yes", "no"))
def strategy():
    yield Retrieve((SearchQuery("q"),), 5, 5)
    yield Ask(prompt, 0.7, 1)
    yield Subquestion("q", "recursive", StrategyConfig(), 1, ("p",))
flow = Flow(strategy(), scope="model")
while isinstance(step := flow.proceed(), Wanted):
    print(step.items[0].key)
    flow.supply(step.items[0].key, None)
    if step.items[0].position == 2:
        break
"""


def test_keys_are_the_same_in_every_process() -> None:
    def keys(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", PROGRAM]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first, second = keys("1"), keys("271828")
    assert first == second
    assert len(set(first.split())) == 3
