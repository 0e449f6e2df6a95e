"""4. `arun` does the same on an event loop, and what needs nothing of each other runs at once.

The strategy is the same generator: it does not know who drives it. Sub-questions are runs of their own, each with a
journal inside its parent's.
"""

from __future__ import annotations

import asyncio
from typing import Any

from burnish import Answer, Outcome, StrategyConfig
from burnish.effects import Ask, Prompt, Reply, Retrieve, Strategy, Subquestion, answer_together, ask
from burnish.engine import arun, run

CONFIG = StrategyConfig()


def halves(asked: Subquestion) -> Strategy:
    """Split a question in two until single words are left; ask those."""
    words = asked.question.split()
    if len(words) == 1:
        reply = yield from ask(Ask(Prompt("chat", "", words[0], max_tokens=10)))
        return Answer(reply.text, Outcome.SUCCEEDED)
    middle = len(words) // 2
    parts = (" ".join(words[:middle]), " ".join(words[middle:]))
    answers = yield from answer_together(Subquestion(part, "halves", CONFIG, asked.depth + 1) for part in parts)
    return Answer(" ".join(answer.text for answer in answers if isinstance(answer, Answer)), Outcome.SUCCEEDED)


ASKED = Subquestion("one two three four five six seven", "halves", CONFIG, depth=0)


async def shout(effect: Retrieve | Ask) -> Reply:
    assert isinstance(effect, Ask)
    await asyncio.sleep(0)
    return Reply(effect.prompt.user.upper())


def shout_now(effect: Retrieve | Ask) -> Reply:
    return asyncio.run(shout(effect))


def test_both_drivers_give_the_same_answer_and_the_same_journal() -> None:
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    assert run(ASKED, halves, shout_now, journal=one) == asyncio.run(arun(ASKED, halves, shout, journal=other))
    assert one == other


def test_leaves_of_all_branches_are_in_flight_together() -> None:
    """Each call waits until all seven have begun; one after the other they would never end."""

    async def answer() -> Answer:
        begun = 0
        all_begun = asyncio.Event()

        async def wait_for_all(effect: Retrieve | Ask) -> Reply:
            nonlocal begun
            begun += 1
            if begun == 7:
                all_begun.set()
            await asyncio.wait_for(all_begun.wait(), timeout=30)
            return await shout(effect)

        return await arun(ASKED, halves, wait_for_all)

    assert asyncio.run(answer()).text == "ONE TWO THREE FOUR FIVE SIX SEVEN"


def test_run_may_be_called_inside_a_running_loop() -> None:
    """As in a notebook, where a loop is always running."""

    async def in_a_notebook() -> Answer:
        return run(ASKED, halves, shout_now)

    assert asyncio.run(in_a_notebook()).text == "ONE TWO THREE FOUR FIVE SIX SEVEN"
