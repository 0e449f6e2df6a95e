"""Move a run as far as one task takes it, and perform one call of a fan-out. Knows nothing of Celery.

A run is moved by replaying its journal and performing what is missing. The task ends at one of three boundaries: a
fan-out (`FanOut`), a note that closes an iteration (`GoOn`), or the end of the run (`Ended`). What was found out is
committed with the boundary itself; a call of the model, being dear, is committed before anything else is begun that
takes time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Connection, Engine

from burnish.config import StrategyConfig
from burnish.effects import Ask, Note, Subquestion
from burnish.engine import Flow, Item, Wanted
from burnish.errors import AttemptsExhausted, BudgetExceeded, BurnishError, EffectFailed
from burnish.prompts import wording
from burnish.results import Answer, Call, Outcome
from burnish.store import codec
from burnish.store.fan_out import Sent, end_step, hand_over, park
from burnish.store.journal import (
    OpenRun,
    OpenStep,
    Performed,
    Scope,
    end_run,
    open_run,
    open_step,
    record,
)
from burnish.store.leases import LeaseLost, hold, release
from burnish.store.ledger import Spent, spend
from burnish.store.messages import call_task_name, run_task_name
from burnish.strategies.registry import begin
from burnish.world.perform import World
from workers.leases import Heartbeat

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Workplace:
    """What a worker process works with."""

    database: Engine
    world: World
    heartbeat: Heartbeat
    max_attempts: int

    @property
    def lease_seconds(self) -> float:
        return self.heartbeat.lease_seconds


@dataclass(frozen=True)
class GoOn:
    """The run is ready for a task of its own."""

    task_name: str
    scope: Scope
    question: str


@dataclass(frozen=True)
class FanOut:
    """The run waits for these; then the named task goes on with it."""

    sent: Sequence[Sent]
    task_name: str
    scope: Scope
    question: str


@dataclass(frozen=True)
class Ended:
    """Nothing more to do here. `ready_run` can go on now: this was the last thing it waited for."""

    ready_run: UUID | None = None
    scope: Scope | None = None


Boundary = GoOn | FanOut | Ended


class Cancelled(BurnishError):
    """The question's asker wants no answer any more."""


def advance(place: Workplace, run_id: UUID) -> Boundary:
    """Move a run to its next boundary; nothing happens where it is done, held by another or waiting."""
    with place.database.begin() as connection:
        run = open_run(connection, run_id, place.lease_seconds)
    if run is None:
        return Ended()
    return _under_lease(place, run, lambda: _move(place, run))


def _under_lease(place: Workplace, opened: OpenRun | OpenStep, work: Callable[[], Boundary]) -> Boundary:
    """Do the work while its lease is kept; work that breaks off is given back."""
    lease = opened.lease
    with place.heartbeat.holding(lease):
        try:
            return work()
        except LeaseLost as lost:
            logger.warning("%s; another process goes on with it", lost)
        except Exception:
            logger.exception("%s %s of question %s broke off", lease.table, lease.row_id, opened.scope.question_id)
            with place.database.begin() as connection:
                release(connection, lease)
        return Ended()


def _move(place: Workplace, run: OpenRun) -> Boundary:
    if exhausted := _attempts_exhausted(place, run):
        with place.database.begin() as connection:
            ready = end_run(connection, run, (), _empty(run, Outcome.FAILED), exhausted)
        return Ended(ready, run.scope)
    return _Advance(place, run).to_boundary()


def _attempts_exhausted(place: Workplace, opened: OpenRun | OpenStep) -> AttemptsExhausted | None:
    if opened.attempts <= place.max_attempts:
        return None
    return AttemptsExhausted(f"given up after {place.max_attempts} attempts that broke off")


def _empty(run: OpenRun, outcome: Outcome) -> Answer:
    return Answer(wording.FAILED[wording.language_of(run.stored.text)], outcome)


class _Advance:
    """One run under way: its flow, and the replies that are not yet written."""

    def __init__(self, place: Workplace, run: OpenRun) -> None:
        self._place = place
        self._run = run
        self._spent = run.spent
        self._unwritten: list[Performed] = []
        self._flow = Flow(begin(run.asked), run.recorded, scope=place.world.model.options.model)

    def to_boundary(self) -> Boundary:
        try:
            return self._proceed()
        except Cancelled as stop:
            return self._end(_empty(self._run, Outcome.CANCELLED), stop)
        except BudgetExceeded as stop:
            return self._end(_empty(self._run, Outcome.BUDGET_EXCEEDED), stop)
        except EffectFailed as failure:
            return self._end(_empty(self._run, self._failed_or_spent()), failure)

    def _proceed(self) -> Boundary:
        check_wanted(self._spent)
        while isinstance(step := self._flow.proceed(), Wanted):
            if step.together or isinstance(step.items[0].effect, Subquestion):
                return self._fan_out(step.items)
            item = step.items[0]
            self._perform(item)
            closes = isinstance(item.effect, Note) and item.effect.boundary
            if closes and isinstance(self._flow.proceed(), Wanted):
                return self._go_on()
        return self._end(step.answer, None)

    def _perform(self, item: Item) -> None:
        call: Call | None = None
        try:
            match item.effect:
                case Note() | Subquestion():
                    reply = None
                case effect:
                    self._secure()
                    if isinstance(effect, Ask):
                        check_budget(self._spent, self._run.asked.config)
                    reply, call = self._place.world.perform(effect, self._run.scope)
        except EffectFailed as failure:
            reply = failure
        self._unwritten.append(Performed(item, reply, call))
        self._flow.supply(item.key, reply)

    def _secure(self) -> None:
        """Before anything that takes time: commit the call that was made, if one was, and see if more is wanted."""
        if any(performed.call for performed in self._unwritten):
            self._commit(lambda connection: hold(connection, self._run.lease, self._place.lease_seconds))
            check_wanted(self._spent)

    def _commit(self, then: Callable[[Connection], T]) -> T:
        """In one transaction do `then`, which makes sure of the lease, and write what was found out.

        In this order: one who lost the lease stops at it, and rows are locked as everywhere, the question's last.
        """
        with self._place.database.begin() as connection:
            result = then(connection)
            self._spent = record(connection, self._run, self._unwritten) or self._spent
        self._unwritten = []
        return result

    def _fan_out(self, items: Sequence[Item]) -> FanOut:
        run, task_name = self._run, run_task_name(self._run.asked.strategy, "gathered")
        named = [(item, self._task_name(item)) for item in items]
        sent = self._commit(lambda connection: park(connection, run.lease, run.scope.question_id, named, task_name))
        return FanOut(sent, task_name, run.scope, run.asked.question)

    @staticmethod
    def _task_name(item: Item) -> str:
        match item.effect:
            case Subquestion() as child:
                return run_task_name(child.strategy, "subquestion")
            case effect:
                return call_task_name(codec.kind_of(effect))

    def _go_on(self) -> GoOn:
        task_name = run_task_name(self._run.asked.strategy, "iteration")
        self._commit(lambda connection: hand_over(connection, self._run.lease, task_name))
        return GoOn(task_name, self._run.scope, self._run.asked.question)

    def _end(self, answer: Answer, failure: BurnishError | None) -> Ended:
        with self._place.database.begin() as connection:
            ready = end_run(connection, self._run, self._unwritten, answer, failure)
        return Ended(ready, self._run.scope)

    def _failed_or_spent(self) -> Outcome:
        """A question whose parts found its budget spent did not fail: it spent its budget."""
        try:
            check_budget(self._spent, self._run.asked.config)
        except BudgetExceeded:
            return Outcome.BUDGET_EXCEEDED
        return Outcome.FAILED


def check_wanted(spent: Spent) -> None:
    if spent.cancel_requested:
        raise Cancelled("cancelled by its asker")


def check_budget(spent: Spent, config: StrategyConfig) -> None:
    """Raises BudgetExceeded where one more call would pass a cap of the question."""
    if spent.calls >= config.max_calls:
        raise BudgetExceeded(f"the question reached its cap of {config.max_calls} calls")
    if config.max_cost_usd is not None and spent.cost_usd >= config.max_cost_usd:
        raise BudgetExceeded(f"the question reached its cap of {config.max_cost_usd} US dollars")


def perform_step(place: Workplace, step_id: UUID) -> Boundary:
    """Do one call of a fan-out and end its step. A call that fails is recorded as failed; this never raises for it."""
    with place.database.begin() as connection:
        step = open_step(connection, step_id, place.lease_seconds)
    if step is None:
        return Ended()
    return _under_lease(place, step, lambda: _end_step(place, step, *_call(place, step)))


def _call(place: Workplace, step: OpenStep) -> tuple[object, Call | None, BurnishError | None]:
    try:
        if exhausted := _attempts_exhausted(place, step):
            raise exhausted
        check_wanted(step.spent)
        check_budget(step.spent, step.config)
        reply, call = place.world.perform(step.ask, step.scope)
    except (EffectFailed, Cancelled, BudgetExceeded) as failure:
        return None, None, failure
    return reply, call, None


def _end_step(
    place: Workplace, step: OpenStep, reply: object, call: Call | None, failure: BurnishError | None
) -> Ended:
    failed = codec.dump_failure(failure) if failure else None
    with place.database.begin() as connection:
        ready = end_step(connection, step.lease, codec.dump_reply(reply), failed)
        if call:
            spend(connection, step.scope.question_id, [(step.lease.row_id, call)])
    return Ended(ready, step.scope)
