"""MultiHopRAG, which searches again for what is missing before it answers, and the same by its other name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, Unpack

from burnish.adapters.calling import Caller
from burnish.adapters.passages import FoundPassage, read_passages
from burnish.adapters.retries import Retries
from burnish.classic.facts import answer_of, facts_of, spoken
from burnish.classic.plain import rounded
from burnish.classic.recording import Run
from burnish.classic.results import Result
from burnish.classic.running import RunningOptions, StrategyRAG, error_of
from burnish.config import StrategyConfig
from burnish.effects import Prompt
from burnish.engine import run_to_end
from burnish.errors import EffectFailed, LLMCallError
from burnish.prompts import searching
from burnish.verdicts import Sufficiency, read_query, read_sufficiency

T = TypeVar("T")

PASSAGES_PER_SEARCH = 3


@dataclass(frozen=True)
class Hop:
    """A search of several. found: passages; new: those that no earlier hop found.

    sufficient: whether all that was found so far suffices, None where nobody was asked; by: who said so, "words" or
    "model". missing, thought: what that left to search for, by the mode.
    """

    query: str
    found: int
    new: int
    sufficient: bool | None
    missing: str
    thought: str
    by: str


@dataclass
class MultiHopResult(Result):
    """What MultiHopRAG found. hops: its searches, in order."""

    answer: str
    confidence: float
    hops: list[Hop] = field(default_factory=list[Hop])

    @property
    def queries(self) -> list[str]:
        return [hop.query for hop in self.hops]

    def to_dict(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "confidence": rounded(self.confidence),
            "hops": [asdict(hop) for hop in self.hops],
            **self._facts(),
        }


class MultiHopRAG(StrategyRAG[MultiHopResult]):
    """Search, see what is still missing, search for that, and answer from all that was found.

    max_iterations: searches at most. mode: "iterative", or "interleaved", which searches with each thought towards the
    answer, and has so many thoughts at most. llm_retries: times a call that failed is sent again. See
    `burnish.strategies.multi_hop`, also for the number of calls.
    """

    strategy = "multi_hop"

    def __init__(
        self,
        rag_system: Any,
        llm: Any,
        max_iterations: int = 3,
        *,
        mode: str | None = None,
        llm_retries: int = 2,
        **options: Unpack[RunningOptions],
    ) -> None:
        super().__init__(rag_system, llm, **options)
        self.max_iterations = max_iterations
        self.mode = mode or self.settings.multi_hop.mode
        self.llm_retries = llm_retries
        self.strategy_config()

    def strategy_config(self) -> StrategyConfig:
        Retries(self.llm_retries)
        limits = {"max_hops": self.max_iterations}
        if self.mode == "interleaved":
            limits = {"max_thoughts": self.max_iterations}
        return StrategyConfig.from_mapping({"multi_hop": {"mode": self.mode, **limits}}, self.settings)

    def get_stats(self) -> dict[str, Any]:
        return {"max_iterations": self.max_iterations, "mode": self.mode, "llm_retries": self.llm_retries}

    def result_of(self, run: Run) -> MultiHopResult:
        answer = answer_of(run)
        return MultiHopResult(
            answer=spoken(answer.text, answer.outcome, run.asked.question),
            confidence=answer.confidence or 0.0,
            hops=[Hop(**hop) for hop in answer.trace.get("hops", ())],
            **facts_of(run),
        )

    def _most_retries(self) -> int:
        return self.llm_retries


class SelfRefiningRAG(MultiHopRAG):
    """MultiHopRAG with a model and a vector store in the other order, and its steps one by one.

    The steps raise LLMCallError and RetrievalError; `run` does as `query`.
    """

    def __init__(
        self,
        llm: Any,
        vectorstore: Any,
        max_iterations: int = 3,
        *,
        llm_retries: int = 2,
        **options: Unpack[RunningOptions],
    ) -> None:
        super().__init__(vectorstore, llm, max_iterations, llm_retries=llm_retries, **options)

    @property
    def vectorstore(self) -> Any:
        return self.rag_system

    def run(self, question: str) -> str:
        """The answer alone."""
        return self.query(question).answer

    def retrieve(self, query: str) -> list[Any]:
        """What the store finds for a query, as it gave it."""
        search = self._backend.search(query, PASSAGES_PER_SEARCH, None, Caller(self._pool, blocking=True))
        try:
            found = run_to_end(search)
        except EffectFailed as failure:
            raise error_of(failure) from failure
        return [passage.origin if isinstance(passage, FoundPassage) else passage for passage in found]

    def is_sufficient(self, question: str, context: list[Any]) -> bool:
        """Whether the context, texts or whatever was retrieved, holds all that the question needs."""
        return bool(context) and self._verdict(question, context).sufficient is True

    def generate_next_query(self, question: str, context: list[Any]) -> str:
        """What to search for next, given the context."""
        verdict = self._verdict(question, context)
        return verdict.next_query or verdict.missing or self._told(searching.rephrase(question, [question]), read_query)

    def _verdict(self, question: str, context: list[Any]) -> Sufficiency:
        return self._told(searching.sufficiency(question, read_passages(context), [question]), read_sufficiency)

    def _told(self, prompt: Prompt, read: Callable[[str], T | None]) -> T:
        caller = Caller(self._pool, blocking=True)
        retries = Retries(self.llm_retries, sleep=self._sleep)
        try:
            reply, _ = run_to_end(retries.persist(lambda: self._model.reply(prompt, caller)))
        except EffectFailed as failure:
            raise error_of(failure) from failure
        value = read(reply.text)
        if value is None:
            raise LLMCallError(f"the reply to the {prompt.kind} prompt cannot be read")
        return value
