from __future__ import annotations

import json
from typing import Any

import pytest

from burnish.config import (
    AutoConfig,
    HyDEConfig,
    MultiHopConfig,
    RecursiveConfig,
    ReflectionConfig,
    SearchConfig,
    SelfIRAGConfig,
    StrategyConfig,
)
from burnish.errors import InvalidInput


def test_the_defaults_are_those_that_are_documented() -> None:
    config = StrategyConfig()
    assert (config.self_irag.max_refinement_iterations, config.self_irag.confidence_threshold) == (3, 0.8)
    assert (config.self_irag.fast_mode, config.self_irag.enable_answer_refinement) == (True, True)
    assert (config.hyde.num_hypothetical_docs, config.hyde.use_original_query, config.hyde.max_final_docs) == (
        3,
        True,
        10,
    )
    assert (config.recursive.max_depth, config.recursive.max_sub_questions) == (3, 4)
    assert (config.recursive.min_query_length, len(config.recursive.complexity_keywords)) == (40, 26)
    assert (config.search.top_k, config.search.retriever) == (5, "plain")
    assert (config.self_rag.mode, config.self_rag.max_regenerations, config.self_rag.max_rewrites) == ("binary", 2, 2)
    weights = (config.self_rag.relevance_weight, config.self_rag.support_weight, config.self_rag.use_weight)
    assert weights == (1.0, 1.0, 0.5)
    assert (config.multi_hop.mode, config.multi_hop.max_hops, config.multi_hop.max_thoughts) == ("iterative", 3, 6)
    assert (config.auto.default, config.auto.ask_model) == ("self_irag", True)
    assert config.auto.candidates == ("self_irag", "hyde", "recursive", "multi_hop")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"self_irag": {"max_refinement_iterations": 0}},
            "self_irag.max_refinement_iterations must be between 1 and 10",
        ),
        ({"self_irag": {"confidence_threshold": 1.5}}, "self_irag.confidence_threshold must be between 0 and 1"),
        ({"self_irag": {"confidence_threshold": float("nan")}}, "self_irag.confidence_threshold"),
        ({"self_irag": {"confidence_threshold": "0.5"}}, "self_irag.confidence_threshold must be a number"),
        ({"self_irag": {"fast_mode": 1}}, "self_irag.fast_mode must be true or false"),
        ({"self_irag": {"fast": True}}, "unknown setting self_irag.fast; known are confidence_threshold, "),
        ({"self_irag": 3}, "self_irag must be an object"),
        ({"search": {"top_k": 0}}, "search.top_k must be between 1 and 100"),
        ({"search": {"top_k": True}}, "search.top_k must be a whole number"),
        ({"search": {"top_k": 2.5}}, "search.top_k must be a whole number"),
        ({"search": {"max_passages": 51}}, "search.max_passages must be between 1 and 50"),
        ({"search": {"relevance_threshold": -0.1}}, "search.relevance_threshold must be between 0 and 1"),
        ({"hyde": {"num_hypothetical_docs": 0}}, "hyde.num_hypothetical_docs must be between 1 and 16"),
        ({"hyde": {"mode": "median"}}, 'hyde.mode must be "mean" or "per_document"'),
        ({"hyde": {"mode": None}}, "hyde.mode must be a text"),
        ({"hyde": {"temperature": 2.1}}, "hyde.temperature must be between 0 and 2"),
        ({"hyde": {"max_final_docs": 0}}, "hyde.max_final_docs must be between 1 and 50"),
        ({"recursive": {"max_depth": 7}}, "recursive.max_depth must be between 0 and 6"),
        ({"recursive": {"max_sub_questions": 9}}, "recursive.max_sub_questions must be between 1 and 8"),
        (
            {"recursive": {"leaf": "recursive"}},
            "recursive.leaf must be one of direct, self_irag, hyde, self_rag, multi_hop",
        ),
        ({"recursive": {"leaf": "auto"}}, "recursive.leaf must be one of"),
        ({"search": {"retriever": "dense"}}, 'search.retriever must be "plain" or "hyde"'),
        ({"search": {"retriever": None}}, "search.retriever must be a text"),
        ({"self_rag": {"mode": "ternary"}}, 'self_rag.mode must be "binary" or "graded"'),
        ({"self_rag": {"max_regenerations": 11}}, "self_rag.max_regenerations must be between 0 and 10"),
        ({"self_rag": {"max_rewrites": -1}}, "self_rag.max_rewrites must be between 0 and 10"),
        ({"self_rag": {"use_weight": -0.5}}, "the weights of self_rag must be between 0 and 10"),
        ({"self_rag": {"use_weight": float("nan")}}, "the weights of self_rag must be between 0 and 10"),
        (
            {"self_rag": {"relevance_weight": 0, "support_weight": 0, "use_weight": 0}},
            "one weight of self_rag must be above 0",
        ),
        ({"self_rag": {"max_refinement_iterations": 3}}, "unknown setting self_rag.max_refinement_iterations"),
        ({"multi_hop": {"mode": "both"}}, 'multi_hop.mode must be "iterative" or "interleaved"'),
        ({"multi_hop": {"max_hops": 0}}, "multi_hop.max_hops must be between 1 and 10"),
        ({"multi_hop": {"max_thoughts": 21}}, "multi_hop.max_thoughts must be between 1 and 20"),
        ({"multi_hop": {"trust_words": "yes"}}, "multi_hop.trust_words must be true or false"),
        ({"auto": {"candidates": ["hyde", "magic"]}}, "auto.candidates must be some of direct, self_irag, hyde, "),
        ({"auto": {"candidates": ["hyde", "auto"]}}, "auto.candidates must be some of"),
        ({"auto": {"candidates": []}}, "auto.candidates must be some of"),
        ({"auto": {"candidates": ["self_irag", "self_irag"]}}, "auto.candidates must not repeat any"),
        ({"auto": {"candidates": ["hyde"]}}, "auto.default must be one of auto.candidates"),
        ({"auto": {"default": "magic"}}, "auto.default must be one of auto.candidates"),
        ({"auto": {"ask_model": 1}}, "auto.ask_model must be true or false"),
        ({"auto": "hyde"}, "auto must be an object"),
        ({"recursive": {"max_nodes": 0}}, "recursive.max_nodes must be between 1 and 1000"),
        ({"recursive": {"complexity_keywords": "and"}}, "recursive.complexity_keywords must be a list of texts"),
        ({"recursive": {"complexity_keywords": ["and", 1]}}, "recursive.complexity_keywords must be a list of texts"),
        ({"max_calls": 0}, "max_calls must be at least 1"),
        ({"max_cost_usd": 0}, "max_cost_usd must be above 0"),
        ({"max_cost_usd": float("inf")}, "max_cost_usd must be above 0"),
        ({"max_cost_usd": "1"}, "max_cost_usd must be a number"),
        (
            {"nothing": 1},
            "unknown setting nothing; known are auto, hyde, max_calls, max_cost_usd, multi_hop, recursive, search, ",
        ),
        ({1: 2}, "unknown setting 1"),
        ([], "the settings must be an object"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_by_its_name(values: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        StrategyConfig.from_mapping(values)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SearchConfig(top_k=101),
        lambda: SelfIRAGConfig(max_refinement_iterations=11),
        lambda: HyDEConfig(num_hypothetical_docs=17),
        lambda: RecursiveConfig(max_depth=-1),
        lambda: ReflectionConfig(max_rewrites=99),
        lambda: MultiHopConfig(max_hops=99),
        lambda: AutoConfig(candidates=()),
        lambda: StrategyConfig(max_calls=0),
    ],
)
def test_a_value_made_in_python_is_checked_too(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_settings_are_laid_over_a_base_and_leave_the_rest() -> None:
    base = StrategyConfig(hyde=HyDEConfig(mode="mean", temperature=0.1), max_calls=9)
    config = StrategyConfig.from_mapping({"hyde": {"temperature": 1}, "max_cost_usd": 0.5}, base)
    assert config == StrategyConfig(hyde=HyDEConfig(mode="mean", temperature=1), max_calls=9, max_cost_usd=0.5)
    assert StrategyConfig.from_mapping({}, base) == base
    assert StrategyConfig.from_mapping({"max_cost_usd": None}) == StrategyConfig()


def test_a_config_survives_json() -> None:
    config = StrategyConfig(
        recursive=RecursiveConfig(complexity_keywords=("و", "and"), leaf="self_rag"),
        search=SearchConfig(top_k=9, retriever="hyde"),
        self_rag=ReflectionConfig(mode="graded", use_weight=1),
        multi_hop=MultiHopConfig(mode="interleaved", trust_words=False),
        auto=AutoConfig(candidates=("hyde", "direct"), default="direct"),
    )
    assert StrategyConfig.from_mapping(json.loads(json.dumps(config.to_mapping()))) == config
