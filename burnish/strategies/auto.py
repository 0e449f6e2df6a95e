"""Auto: choose the strategy by the question, then answer by it, in the same run.

The question's own words come first, since they cost nothing and always say the same:

    several questions in one (the test of `recursive`)      recursive
    a thing to be found first, or two to be compared        multi_hop
    put in other words than a document's                    hyde
    none of these, and short                                the default

Where they disagree, have nothing to say of a longer question, are in neither English nor Arabic, or lead to a strategy
that is no candidate, the model is asked once, if it may be. A choice that cannot be had or read is the default. What
was chosen, why and by what stands in the trace: `chosen`, `reason`, and `by`: "features", "model" or "default".
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Literal

from burnish.config import AutoConfig, StrategyConfig
from burnish.effects import Ask, Effect, Strategy, ask
from burnish.errors import EffectFailed
from burnish.prompts import choosing
from burnish.strategies.cues import is_complex, is_in_other_words, needs_hops
from burnish.strategies.recursive import LEAVES, recursive
from burnish.text.language import detect_language
from burnish.text.normalise import content_words
from burnish.verdicts import read_choice

# In content words. Of XQuAD's questions, which are plain, 65 % of the English and 51 % of the Arabic are both free of
# cues and no longer than this; of MuSiQue's, which are not, 12 %.
SHORT = 6
_REASONS = {
    "recursive": "several questions in one",
    "multi_hop": "a thing that must be found first, or two to be compared",
    "hyde": "put in other words than a document's",
}


@dataclass(frozen=True)
class Decision:
    """Which strategy, why, and what decided it."""

    chosen: str
    reason: str
    by: Literal["features", "model", "default"]


def auto(question: str, config: StrategyConfig, depth: int = 0, ancestors: tuple[str, ...] = ()) -> Strategy:
    """Answer by the strategy that suits the question.

    Takes the calls and retrievals of the chosen strategy, and one call more where the model chooses.
    """
    decision = decide_by_features(question, config)
    if decision is None:
        decision = yield from decide_by_model(question, config.auto)
    if decision.chosen == "recursive":
        answer = yield from recursive(question, config, depth, ancestors)
    else:
        answer = yield from LEAVES[decision.chosen](question, config)
    told = {"chosen": decision.chosen, "reason": decision.reason, "by": decision.by}
    return replace(answer, trace={**answer.trace, **told})


def decide_by_features(question: str, config: StrategyConfig) -> Decision | None:
    """What the question's own words decide; None where they leave it open."""
    if len(config.auto.candidates) == 1:
        return Decision(config.auto.default, "the only candidate", "default")
    chosen, reason = suggest(question, config)
    if chosen in config.auto.candidates:
        return Decision(chosen, reason, "features")
    return None if config.auto.ask_model else Decision(config.auto.default, reason, "default")


def suggest(question: str, config: StrategyConfig) -> tuple[str, str]:
    """The strategy that the words suggest, "" for none, and the reason."""
    is_several = is_complex(question, config.recursive)
    cues = {
        "recursive": is_several,
        "multi_hop": needs_hops(question),
        "hyde": is_in_other_words(question) and not is_several,
    }
    found = [name for name, is_there in cues.items() if is_there]
    if found:
        return found[0] if len(found) == 1 else "", ", or ".join(_REASONS[name] for name in found)
    language = detect_language(question)
    if language != "und" and len(content_words(question, language)) <= SHORT:
        return config.auto.default, "one short and plain question"
    return "", "nothing in its words tells"


def decide_by_model(question: str, config: AutoConfig) -> Generator[Effect, Any, Decision]:
    """What the model chooses, in one call; the default where that cannot be had or read."""
    try:
        reply = yield from ask(Ask(choosing.choose(question, config.candidates)))
    except EffectFailed as failure:
        return Decision(config.default, f"no choice could be had: {type(failure).__name__}", "default")
    choice = read_choice(reply.text, config.candidates)
    if choice is None:
        return Decision(config.default, "the choice could not be read", "default")
    return Decision(*choice, "model")
