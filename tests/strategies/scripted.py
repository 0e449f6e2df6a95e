"""A world that answers from rules: each kind of prompt has its replies, and all that is asked is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from burnish.config import StrategyConfig
from burnish.effects import Ask, Note, Reply, Retrieve, Subquestion
from burnish.engine import Flow, Wanted
from burnish.errors import EffectFailed
from burnish.results import Answer, AuditRecord, Passage
from burnish.strategies.registry import begin

Said: TypeAlias = str | Reply | EffectFailed
Rule: TypeAlias = Said | Sequence[Said] | Callable[[Ask], Said]
Found: TypeAlias = Sequence[Passage] | EffectFailed | Callable[[Retrieve], Sequence[Passage] | EffectFailed]

DEFAULTS = StrategyConfig()
MOST_EFFECTS = 1000


class World:
    """Performs effects by rules, one for each kind of prompt; several replies are given in turn, the last one for ever.

    The whole tree is driven here, in one thread and in a fixed order, so that what was asked can be compared.
    """

    def __init__(self, found: Found = (), **rules: Rule) -> None:
        self.calls: list[Ask] = []
        self.searches: list[Retrieve] = []
        self.subquestions: list[Subquestion] = []
        self.records: list[AuditRecord] = []
        self.boundaries = 0
        self._found = found
        self._rules = {kind: _in_turn(rule) for kind, rule in rules.items()}

    @property
    def kinds(self) -> list[str]:
        return [call.prompt.kind for call in self.calls]

    def shown(self, kind: str) -> list[str]:
        """What the model was shown as user text, for each call of a kind."""
        return [call.prompt.user for call in self.calls if call.prompt.kind == kind]

    def answer(self, question: str, strategy: str = "direct", config: StrategyConfig = DEFAULTS) -> Answer:
        """Run to the end. Raises EffectFailed where the strategy does."""
        return self._drive(Subquestion(question, strategy, config, depth=0))

    def _drive(self, asked: Subquestion) -> Answer:
        flow = Flow(begin(asked))
        while isinstance(step := flow.proceed(), Wanted):
            for item in step.items:
                flow.supply(item.key, self.perform(item.effect))
        return step.answer

    def perform(self, effect: Retrieve | Ask | Subquestion | Note) -> Any:
        assert len(self.calls) + len(self.searches) + len(self.subquestions) < MOST_EFFECTS, "it would go on for ever"
        match effect:
            case Note():
                self.records += effect.records
                self.boundaries += effect.boundary
                return None
            case Retrieve():
                self.searches.append(effect)
                found = self._found(effect) if callable(self._found) else self._found
                return found if isinstance(found, EffectFailed) else tuple(found[: effect.limit])
            case Ask():
                self.calls.append(effect)
                said = self._rules[effect.prompt.kind](effect)
                return Reply(said) if isinstance(said, str) else said
            case Subquestion():
                self.subquestions.append(effect)
                try:
                    return self._drive(effect)
                except EffectFailed as failure:
                    return failure


def _in_turn(rule: Rule) -> Callable[[Ask], Said]:
    if callable(rule):
        return rule
    said = [rule] if isinstance(rule, str | Reply | EffectFailed) else list(rule)
    return lambda _ask: said.pop(0) if len(said) > 1 else said[0]


def passage(text: str, number: int = 1, *, title: str = "Title", start: int = 0, language: str = "en") -> Passage:
    return Passage(f"c{number}", f"d{number}", title, text, start, start + len(text), language, 1 / (1 + number))


def draft(answer: str, quote: str = "", supported: str = "yes", **more: Any) -> str:
    return json.dumps({"quote": quote, "answer": answer, "supported": supported, **more}, ensure_ascii=False)


def scores(each: float) -> dict[str, Any]:
    return dict.fromkeys(("relevance", "accuracy", "completeness", "clarity"), each)


def support(degree: str = "yes", *unsupported: str) -> str:
    return json.dumps({"context_says": "", "supported": degree, "unsupported": unsupported}, ensure_ascii=False)


def use(useful: str = "yes") -> str:
    return json.dumps({"asked": "it", "useful": useful})


def utility(mark: int) -> str:
    return json.dumps({"asked": "it", "utility": mark})


def sufficiency(sufficient: str, missing: str = "", next_query: str = "") -> str:
    told = {"known": "", "sufficient": sufficient, "missing": missing, "next_query": next_query}
    return json.dumps(told, ensure_ascii=False)


def judgement(each: float, supported: str = "yes", **more: Any) -> str:
    return json.dumps({"context_says": "", "supported": supported, **scores(each), **more}, ensure_ascii=False)
