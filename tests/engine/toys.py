"""Small strategies that do nothing of use, to try the engine with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from burnish.config import StrategyConfig
from burnish.effects import Ask, Effect, Note, Prompt, Reply, Retrieve, SearchQuery, Strategy, Subquestion, Together
from burnish.engine import Finished, Flow, Wanted
from burnish.errors import EffectFailed
from burnish.results import Answer, HypotheticalDocument, Outcome

CONFIG = StrategyConfig()


def call(text: str, seed: int | None = None) -> Ask:
    return Ask(Prompt("chat", "system", text, max_tokens=5), seed=seed)


def search(text: str) -> Retrieve:
    return Retrieve((SearchQuery(text),), top_k=3, limit=3)


def child(question: str, depth: int = 1) -> Subquestion:
    return Subquestion(question, "toy", CONFIG, depth)


def note(text: str = "imagined") -> Note:
    return Note((HypotheticalDocument(0, text, True),))


def said(reply: Any) -> str:
    match reply:
        case Reply():
            return reply.text
        case Answer():
            return f"<{reply.text}>"
        case EffectFailed():
            return f"!{reply}"
        case _:
            return str(reply)


def asks_all(effects: Sequence[Effect]) -> Strategy:
    """Asks one after the other; the answer is all that it was told, failures too."""
    told: list[str] = []
    for effect in effects:
        try:
            reply = yield effect
        except EffectFailed as failure:
            reply = failure
        told += map(said, cast("tuple[Any, ...]", reply) if isinstance(effect, Together) else [reply])
    return Answer(" ".join(told), Outcome.SUCCEEDED)


def drive(
    strategy: Strategy, perform: Callable[[Any], Any], recorded: dict[str, Any] | None = None, scope: str = ""
) -> tuple[Answer, dict[str, Any]]:
    """Run a flow by hand; the answer, and all that was performed, by its key."""
    flow = Flow(strategy, recorded, scope)
    performed: dict[str, Any] = {}
    while isinstance(step := flow.proceed(), Wanted):
        for item in step.items:
            performed[item.key] = perform(item.effect)
            flow.supply(item.key, performed[item.key])
    assert isinstance(step, Finished)
    return step.answer, performed


def never(effect: Any) -> Reply:
    raise AssertionError(f"performed again: {effect}")


def echo(effect: Any) -> Reply:
    return Reply(effect.prompt.user if isinstance(effect, Ask) else type(effect).__name__)
