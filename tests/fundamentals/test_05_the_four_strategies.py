"""5. The four strategies, each in a page.

    direct      retrieve once, answer once
    self_irag   answer, judge, and while it falls short search and write again with what the judge missed
    hyde        imagine passages that would answer, retrieve what resembles them, answer from what is really there
    recursive   take a compound question apart, answer the parts, put the answers together

All of them answer from evidence or not at all, and compare what the model says with the passages it was shown. The
model here is a function of the prompt: what it says to each kind of prompt stands in the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from burnish import Answer, Outcome, Passage, StrategyConfig
from burnish.effects import Ask, Reply, Retrieve, Subquestion
from burnish.engine import run
from burnish.strategies.registry import begin

TEXT = "The Danube is 2,850 km long. It rises in the Black Forest and ends in the Black Sea."
DANUBE = Passage("c1", "rivers.md", "Rivers", TEXT, 100, 100 + len(TEXT), "en", 1.0)


class World:
    """One passage to find, and a model that replies to each kind of prompt as it is told."""

    def __init__(self, **says: str | Callable[[Ask], str]) -> None:
        self.kinds: list[str] = []
        self.searches: list[Retrieve] = []
        self._says = says

    def perform(self, effect: Retrieve | Ask) -> Any:
        if isinstance(effect, Retrieve):
            self.searches.append(effect)
            return (DANUBE,)
        self.kinds.append(effect.prompt.kind)
        says = self._says[effect.prompt.kind]
        return Reply(says if isinstance(says, str) else says(effect))

    def ask(self, question: str, strategy: str, config: StrategyConfig | None = None) -> Answer:
        return run(Subquestion(question, strategy, config or StrategyConfig(), depth=0), begin, self.perform)


def draft(answer: str, quote: str, **judged: Any) -> str:
    return json.dumps({"quote": quote, "answer": answer, "supported": "yes", **judged})


def scores(each: int) -> dict[str, int]:
    return dict.fromkeys(("relevance", "accuracy", "completeness", "clarity"), each)


def test_direct_answers_with_a_quote_that_is_checked() -> None:
    world = World(answer=draft("2,850 km", "The Danube is 2,850 km long"))
    answer = world.ask("How long is the Danube?", "direct")
    assert (answer.text, answer.outcome, answer.confidence) == ("2,850 km", Outcome.SUCCEEDED, 1.0)
    [citation] = answer.citations
    assert citation.quote == "The Danube is 2,850 km long"
    assert citation.start == 100  # in the document, and not in the passage


def test_a_number_that_the_evidence_lacks_is_not_trusted() -> None:
    world = World(answer=draft("2,950 km", "The Danube is 2,850 km long"))
    confidence = world.ask("How long is the Danube?", "direct").confidence
    assert confidence is not None
    assert confidence <= 0.25


def test_self_irag_improves_an_answer_until_it_is_good_enough() -> None:
    judged_twice = iter(
        [
            draft("The Danube is long.", "The Danube", **scores(2), issues=["no length"], suggestions=["length km"]),
            draft("The Danube is 2,850 km long.", "The Danube is 2,850 km long", **scores(5)),
        ]
    )
    world = World(answer_and_judge=lambda _ask: next(judged_twice))
    answer = world.ask("How long is the Danube?", "self_irag")
    assert answer.text == "The Danube is 2,850 km long."
    assert world.searches[1].queries[0].text == "How long is the Danube? length km"
    assert answer.trace["iterations"] == 2
    assert (answer.trace["initial_confidence"], answer.confidence) == (0.4, 1.0)


def test_hyde_searches_with_what_it_imagined_and_answers_from_what_it_found() -> None:
    imagined = "The river Danube has a length of several thousand kilometres."
    world = World(hypothesise=imagined, answer=draft("2,850 km", "The Danube is 2,850 km long"))
    answer = world.ask("How long is the Danube?", "hyde")
    [search] = world.searches
    assert [query.role for query in search.queries] == ["question", "passage", "passage", "passage"]
    assert answer.evidence == (DANUBE,)
    assert sorted(world.kinds) == ["answer", "hypothesise", "hypothesise", "hypothesise"]


def test_recursive_takes_a_question_apart_and_puts_the_answers_together() -> None:
    def answer_part(ask: Ask) -> str:
        if "How long" in ask.prompt.user:
            return draft("2,850 km", "2,850 km long")
        return draft("In the Black Forest", "rises in the Black Forest")

    world = World(
        decompose=json.dumps({"sub_questions": ["How long is the Danube?", "Where does the Danube rise?"]}),
        answer=answer_part,
        merge=json.dumps({"answer": "The Danube is 2,850 km long. It rises in the Black Forest."}),
    )
    answer = world.ask("How long is the Danube, and when and where does it rise?", "recursive")
    assert answer.text == "The Danube is 2,850 km long. It rises in the Black Forest."
    assert answer.trace["sub_questions"] == ["How long is the Danube?", "Where does the Danube rise?"]
    assert {citation.quote for citation in answer.citations} == {"2,850 km long", "rises in the Black Forest"}


def test_without_evidence_no_strategy_answers_and_none_asks_the_model() -> None:
    class Empty(World):
        def perform(self, effect: Retrieve | Ask) -> Any:
            return () if isinstance(effect, Retrieve) else super().perform(effect)

    for strategy in ("direct", "self_irag", "recursive"):
        world = Empty()
        answer = world.ask("How long is the Danube?", strategy)
        assert (answer.outcome, world.kinds) == (Outcome.ABSTAINED, [])
        assert answer.text == "The documents hold no answer to this question."
