"""How the strategies behave: one frozen value each, checked when it is made.

Every field has a default, so that a question needs no configuration; `StrategyConfig.from_mapping` reads what a
user sends over the API and says precisely what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from burnish.errors import InvalidInput

COMPLEXITY_KEYWORDS = (
    *("و", "أو", "ثم", "بعد", "قبل", "أسباب", "نتائج", "مقارنة", "الفرق", "العلاقة", "التأثير"),
    *("كيف", "لماذا", "متى", "أين"),
    *(
        "and",
        "or",
        "causes",
        "effects",
        "compare",
        "difference",
        "relationship",
        "impact",
        "how",
        "why",
        "when",
    ),
)

Leaf: TypeAlias = Literal["direct", "self_irag", "hyde", "self_rag", "multi_hop"]
Candidate: TypeAlias = Literal["direct", "self_irag", "hyde", "recursive", "self_rag", "multi_hop"]
LEAVES: tuple[Leaf, ...] = get_args(Leaf)
CANDIDATES: tuple[Candidate, ...] = get_args(Candidate)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidInput(message)


@dataclass(frozen=True)
class SearchConfig:
    """top_k: passages a search returns. max_passages: passages a prompt shows (the best of all found).

    grade_passages: ask the model of each passage whether it helps, one token each, and drop those that do not.
    retriever: "hyde" imagines passages (see HyDEConfig) for every search of every strategy and searches with them too.
    """

    top_k: int = 5
    max_passages: int = 5
    grade_passages: bool = False
    relevance_threshold: float = 0.5
    retriever: Literal["plain", "hyde"] = "plain"

    def __post_init__(self) -> None:
        _require(1 <= self.top_k <= 100, "search.top_k must be between 1 and 100")
        _require(1 <= self.max_passages <= 50, "search.max_passages must be between 1 and 50")
        _require(0 <= self.relevance_threshold <= 1, "search.relevance_threshold must be between 0 and 1")
        _require(self.retriever in ("plain", "hyde"), 'search.retriever must be "plain" or "hyde"')


@dataclass(frozen=True)
class SelfIRAGConfig:
    """fast_mode: answer and judge in one call.

    early_stopping: stop as soon as an answer's confidence reaches confidence_threshold. Without it the iterations go
        on as they do below the threshold, and the best answer of all is given.
    """

    max_refinement_iterations: int = 3
    confidence_threshold: float = 0.8
    early_stopping: bool = True
    enable_answer_refinement: bool = True
    enable_retrieval_refinement: bool = True
    fast_mode: bool = True

    def __post_init__(self) -> None:
        _require(
            1 <= self.max_refinement_iterations <= 10,
            "self_irag.max_refinement_iterations must be between 1 and 10",
        )
        _require(0 <= self.confidence_threshold <= 1, "self_irag.confidence_threshold must be between 0 and 1")


@dataclass(frozen=True)
class HyDEConfig:
    """mode "mean": average all vectors, search once. "per_document": search for each, merge by reciprocal rank.

    min_document_length: in characters; a shorter imagined passage is not searched with.
    """

    num_hypothetical_docs: int = 3
    use_original_query: bool = True
    mode: Literal["mean", "per_document"] = "per_document"
    max_final_docs: int = 10
    temperature: float = 0.7
    min_document_length: int = 40

    def __post_init__(self) -> None:
        _require(1 <= self.num_hypothetical_docs <= 16, "hyde.num_hypothetical_docs must be between 1 and 16")
        _require(self.mode in ("mean", "per_document"), 'hyde.mode must be "mean" or "per_document"')
        _require(1 <= self.max_final_docs <= 50, "hyde.max_final_docs must be between 1 and 50")
        _require(0 <= self.temperature <= 2, "hyde.temperature must be between 0 and 2")


@dataclass(frozen=True)
class RecursiveConfig:
    """leaf: the strategy that answers a question which is not taken apart further.

    max_nodes: the most questions a tree may hold, its root included. min_query_length: in characters.
    """

    max_depth: int = 3
    max_sub_questions: int = 4
    min_query_length: int = 40
    complexity_keywords: tuple[str, ...] = COMPLEXITY_KEYWORDS
    leaf: Leaf = "direct"
    max_nodes: int = 40

    def __post_init__(self) -> None:
        _require(0 <= self.max_depth <= 6, "recursive.max_depth must be between 0 and 6")
        _require(1 <= self.max_sub_questions <= 8, "recursive.max_sub_questions must be between 1 and 8")
        _require(self.leaf in LEAVES, f"recursive.leaf must be one of {', '.join(LEAVES)}")
        _require(1 <= self.max_nodes <= 1000, "recursive.max_nodes must be between 1 and 1000")


@dataclass(frozen=True)
class ReflectionConfig:
    """How Self-RAG reflects. mode "binary": yes or no to each check. "graded": degrees, weighed as the paper does.

    max_regenerations: answers written again from the same passages. max_rewrites: searches with a rewritten query.
    The weights order attempts by relevance of the passages, support by them, and use to the asker.
    """

    mode: Literal["binary", "graded"] = "binary"
    max_regenerations: int = 2
    max_rewrites: int = 2
    relevance_weight: float = 1.0
    support_weight: float = 1.0
    use_weight: float = 0.5

    def __post_init__(self) -> None:
        _require(self.mode in ("binary", "graded"), 'self_rag.mode must be "binary" or "graded"')
        _require(0 <= self.max_regenerations <= 10, "self_rag.max_regenerations must be between 0 and 10")
        _require(0 <= self.max_rewrites <= 10, "self_rag.max_rewrites must be between 0 and 10")
        weights = (self.relevance_weight, self.support_weight, self.use_weight)
        _require(all(0 <= weight <= 10 for weight in weights), "the weights of self_rag must be between 0 and 10")
        _require(any(weights), "one weight of self_rag must be above 0")


@dataclass(frozen=True)
class MultiHopConfig:
    """mode "iterative": ask what is still missing and search for it. "interleaved": search with each thought.

    max_hops: searches of the iterative mode, the first included. max_thoughts: sentences of the interleaved mode.
    trust_words: take passages that hold all that a plain question names as sufficient, without asking the model.
    """

    mode: Literal["iterative", "interleaved"] = "iterative"
    max_hops: int = 3
    max_thoughts: int = 6
    trust_words: bool = True

    def __post_init__(self) -> None:
        _require(self.mode in ("iterative", "interleaved"), 'multi_hop.mode must be "iterative" or "interleaved"')
        _require(1 <= self.max_hops <= 10, "multi_hop.max_hops must be between 1 and 10")
        _require(1 <= self.max_thoughts <= 20, "multi_hop.max_thoughts must be between 1 and 20")


@dataclass(frozen=True)
class AutoConfig:
    """candidates: the strategies to choose from. default: the one for a plain question, and where no choice is made.

    ask_model: where the question's own features leave it open, ask the model, in one call.
    """

    candidates: tuple[Candidate, ...] = ("self_irag", "hyde", "recursive", "multi_hop")
    default: Candidate = "self_irag"
    ask_model: bool = True

    def __post_init__(self) -> None:
        known = bool(self.candidates) and set(self.candidates) <= set(CANDIDATES)
        _require(known, f"auto.candidates must be some of {', '.join(CANDIDATES)}")
        _require(len(set(self.candidates)) == len(self.candidates), "auto.candidates must not repeat any")
        _require(self.default in self.candidates, "auto.default must be one of auto.candidates")


@dataclass(frozen=True)
class StrategyConfig:
    """Everything a strategy can be told. max_calls and max_cost_usd cap a question with all its sub-questions."""

    search: SearchConfig = field(default_factory=SearchConfig)
    self_irag: SelfIRAGConfig = field(default_factory=SelfIRAGConfig)
    hyde: HyDEConfig = field(default_factory=HyDEConfig)
    recursive: RecursiveConfig = field(default_factory=RecursiveConfig)
    self_rag: ReflectionConfig = field(default_factory=ReflectionConfig)
    multi_hop: MultiHopConfig = field(default_factory=MultiHopConfig)
    auto: AutoConfig = field(default_factory=AutoConfig)
    max_calls: int = 200
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        _require(self.max_calls >= 1, "max_calls must be at least 1")
        affordable = self.max_cost_usd is None or 0 < self.max_cost_usd < math.inf
        _require(affordable, "max_cost_usd must be above 0, or null for no cap")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], base: StrategyConfig | None = None) -> StrategyConfig:
        """Read a nested mapping such as {"self_irag": {"fast_mode": false}}, over `base` or the defaults.

        Raises InvalidInput for a name that is not known, a value of the wrong type, or one out of range.
        """
        _require(isinstance(values, Mapping), "the settings must be an object")  # pyright: ignore[reportUnnecessaryIsInstance] it comes from outside
        return _overlay(base or cls(), values, "")

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)


def _overlay(base: Any, values: Mapping[str, Any], path: str) -> Any:
    known = {item.name: getattr(base, item.name) for item in fields(base)}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise InvalidInput(f"unknown setting {path}{name}; known are {', '.join(sorted(known))}")
        changes[name] = _read(known[name], value, f"{path}{name}")
    return replace(base, **changes)


def _read(current: Any, value: Any, path: str) -> Any:
    match current:
        case _ if is_dataclass(current):
            _require(isinstance(value, Mapping), f"{path} must be an object")
            return _overlay(current, value, path + ".")
        case bool():
            _require(isinstance(value, bool), f"{path} must be true or false")
            return value
        case tuple():
            items = cast("list[Any]", value) if isinstance(value, list | tuple) else [None]
            _require(all(isinstance(item, str) for item in items), f"{path} must be a list of texts")
            return tuple(items)
        case str():
            _require(isinstance(value, str), f"{path} must be a text")
            return value
        case int():
            _require(isinstance(value, int) and not isinstance(value, bool), f"{path} must be a whole number")
            return value
        case _:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            _require(is_number or (value is None and current is None), f"{path} must be a number")
            return value
