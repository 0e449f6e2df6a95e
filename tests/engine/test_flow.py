from __future__ import annotations

import pytest
from toys import asks_all, call, drive, echo, never, note, search

from burnish.effects import Ask, Reply, Strategy, Together, answer_together, ask_together
from burnish.effects import note as note_records
from burnish.engine import Finished, Flow, Wanted
from burnish.errors import EffectFailed, LanguageModelRefused
from burnish.results import Answer, Outcome


def test_a_flow_wants_what_has_no_reply_and_nothing_else() -> None:
    flow = Flow(asks_all([call("a"), call("b")]))
    step = flow.proceed()
    assert isinstance(step, Wanted)
    assert [item.effect for item in step.items] == [call("a")]
    assert flow.proceed() == step, "asked again without a reply, it wants the same"
    flow.supply(step.items[0].key, Reply("1"))
    step = flow.proceed()
    assert isinstance(step, Wanted)
    assert [item.effect for item in step.items] == [call("b")]
    flow.supply(step.items[0].key, Reply("2"))
    assert flow.proceed() == Finished(Answer("1 2", Outcome.SUCCEEDED))


def test_positions_count_the_effects_before_and_keys_never_repeat() -> None:
    flow = Flow(asks_all([search("q"), Together((call("a"), call("a"))), call("a"), note()]))
    keys: list[str] = []
    positions: list[int] = []
    while isinstance(step := flow.proceed(), Wanted):
        for item in step.items:
            keys.append(item.key)
            positions.append(item.position)
            flow.supply(item.key, echo(item.effect))
    assert positions == [0, 1, 2, 3, 4]
    assert len(set(keys)) == 5


def test_of_a_fan_out_only_what_is_missing_is_wanted() -> None:
    everything = Together((call("a"), call("b"), call("c")))
    _, performed = drive(asks_all([everything]), echo)
    keys = list(performed)
    flow = Flow(asks_all([everything]), {keys[1]: performed[keys[1]]})
    step = flow.proceed()
    assert isinstance(step, Wanted)
    assert step.together
    assert [item.effect for item in step.items] == [call("a"), call("c")]


def test_replies_of_a_fan_out_come_in_the_order_asked_whatever_the_order_they_came_in() -> None:
    flow = Flow(asks_all([Together((call("a"), call("b"), call("c")))]))
    step = flow.proceed()
    assert isinstance(step, Wanted)
    for item in reversed(step.items):
        flow.supply(item.key, echo(item.effect))
    assert flow.proceed() == Finished(Answer("a b c", Outcome.SUCCEEDED))


def test_identical_requests_are_counted_and_each_has_its_own_reply() -> None:
    numbers = iter("123")
    answer, performed = drive(asks_all([call("same")] * 3), lambda _effect: Reply(next(numbers)))
    assert answer.text == "1 2 3"
    again, nothing = drive(asks_all([call("same")] * 3), never, performed)
    assert (again.text, nothing) == ("1 2 3", {})


def test_a_failure_alone_is_thrown_in_and_among_others_stands_in_its_place() -> None:
    def perform(effect: Ask) -> Reply | EffectFailed:
        return LanguageModelRefused("no") if effect.prompt.user == "bad" else echo(effect)

    answer, _ = drive(asks_all([call("bad"), Together((call("a"), call("bad"), call("c")))]), perform)
    assert answer.text == "!no a !no c"


def test_a_failure_that_is_not_caught_comes_out_of_the_flow() -> None:
    def careless() -> Strategy:
        yield call("a")
        return Answer("never", Outcome.SUCCEEDED)

    with pytest.raises(LanguageModelRefused, match="no"):
        drive(careless(), lambda _effect: LanguageModelRefused("no"))


def test_what_a_strategy_itself_raises_comes_out_too() -> None:
    def broken() -> Strategy:
        yield call("a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive(broken(), echo)


def test_nothing_is_yielded_for_no_requests_and_no_records() -> None:
    def asks_nothing() -> Strategy:
        assert (yield from ask_together([])) == ()
        assert (yield from answer_together([])) == ()
        yield from note_records()
        return Answer("done", Outcome.SUCCEEDED)

    assert Flow(asks_nothing()).proceed() == Finished(Answer("done", Outcome.SUCCEEDED))


def test_an_empty_fan_out_is_told_that_it_has_no_replies() -> None:
    assert drive(asks_all([Together(()), call("a")]), echo)[0].text == "a"


def test_a_journal_that_was_given_is_not_written_to() -> None:
    recorded: dict[str, Reply] = {}
    drive(asks_all([call("a")]), echo, recorded)
    assert recorded == {}
