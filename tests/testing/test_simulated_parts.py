"""What the simulated model is made of, without a server: scripts, instances of schemas, vectors, latencies."""

from __future__ import annotations

import math
from typing import Any

import jsonschema
import pytest

from burnish.errors import InvalidInput
from burnish.testing import Rule, Script, read_script
from burnish.testing.instances import minimal_instance
from burnish.testing.playback import Call, Playback
from burnish.testing.vectors import embed

SCHEMAS: list[dict[str, Any]] = [
    {"type": "string", "maxLength": 5},
    {"type": "string", "minLength": 500},
    {"type": "string", "enum": ["easy", "hard"]},
    {"const": {"fixed": [1]}},
    {"type": "integer", "minimum": 1, "maximum": 5},
    {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3},
    {"type": "integer", "minimum": 7, "multipleOf": 5},
    {"type": "integer", "maximum": 9.5, "multipleOf": 4},
    {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "number", "exclusiveMinimum": 3},
    {"type": ["null", "boolean"]},
    {"type": "null"},
    {"type": "array", "items": {"type": "string"}, "minItems": 2},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "minItems": 3, "items": {"const": 0}},
    {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"$ref": "#/$defs/b"}],
     "required": ["a", "b"], "$defs": {"b": {"properties": {"b": {"type": "boolean"}}}}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"type": "boolean"}}},
    {"type": "object", "required": ["tree"], "properties": {"tree": {"$ref": "#/$defs/tree"}},
     "$defs": {"tree": {"type": "object", "required": [], "properties": {"below": {"$ref": "#/$defs/tree"}}}}},
    {},
]  # fmt: skip

BAD_SCHEMAS: list[Any] = [
    None,
    [],
    {"type": "wish"},
    {"type": "object", "properties": []},
    {"type": "object", "properties": {"a": 3}},
    {"$ref": "#/$defs/absent"},
    {"$ref": "https://example.org/schema"},
    {"$ref": "#"},
    {"allOf": [3]},
    {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    {"type": "array", "minItems": 10**9},
    {"type": "string", "minLength": 10**9},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_instance_is_valid_by_its_schema(schema: dict[str, Any]) -> None:
    jsonschema.validate(minimal_instance(schema, "A text."), schema)


@pytest.mark.parametrize("schema", BAD_SCHEMAS)
def test_a_schema_without_an_instance_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidInput, match="JSON schema"):
        minimal_instance(schema, "A text.")


def test_an_instance_says_the_default_text_and_scores_as_high_as_it_may() -> None:
    schema = {
        "type": "object",
        "properties": {
            "answer": {"type": "string"},
            "supported": {"type": "boolean"},
            "score": {"type": "integer", "minimum": 0, "maximum": 10},
            "issues": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["answer", "supported", "score", "issues"],
    }
    assert minimal_instance(schema, "Yes.") == {"answer": "Yes.", "supported": True, "score": 10, "issues": []}


BAD_SCRIPTS: list[tuple[Any, str]] = [
    ("{", "JSON"),
    ("[]", "object"),
    ({"rule": []}, "rule"),
    ({"rules": [{"match": "("}]}, "rules.0.match: .*regular expression"),
    ({"rules": [{"status": 200}]}, "rules.0.status"),
    ({"rules": [{"status": 500, "drop": True}]}, "two rules"),
    ({"rules": [{"status": 500, "reply": "x"}]}, "two rules"),
    ({"rules": [{"retry_after": 1}]}, "needs a status"),
    ({"rules": [{"reply": []}]}, "holds no reply"),
    ({"rules": [{"logprobs": {"yes": 0.5}}]}, "rules.0.logprobs.yes"),
    ({"rules": [{"logprobs": {"yes": float("-inf")}}]}, "rules.0.logprobs.yes"),
    ({"latency": -1}, "latency"),
    ({"latency": float("nan")}, "latency"),
    ({"latency": [2, 1]}, "lower latency"),
    ({"default": {"match": "x"}}, "answers every call"),
    ({"dimension": 0}, "dimension"),
]


@pytest.mark.parametrize(("script", "said"), BAD_SCRIPTS)
def test_a_script_that_cannot_be_used_is_refused_with_the_place(script: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_script(script)


def test_a_script_comes_back_from_its_json_unchanged() -> None:
    rules = (
        Rule(match=r"(?P<q>\w+)", kind="judge", reply=["{q}", {"a": [1, None]}], latency=(0.1, 0.2), times=3),
        Rule(status=429, retry_after=1.5),
        Rule(logprobs={"yes": -0.5}, model="m", finish_reason="length"),
    )
    script = Script(rules=rules, default=Rule(drop=True), latency=0.25, default_text="نص", seed=7)
    assert read_script(script.model_dump_json()) == script


def test_a_latency_depends_on_the_prompt_and_the_seed_and_stays_in_its_bounds() -> None:
    def latencies(seed: int) -> list[float]:
        playback = Playback(Script(latency=(0.5, 1.5), seed=seed))
        return [playback.plan(Call("text", "m", f"prompt {nth}")).latency for nth in range(200)]

    first = latencies(1)
    assert first == latencies(1) != latencies(2)
    assert min(first) >= 0.5
    assert max(first) <= 1.5
    assert 0.9 < sum(first) / len(first) < 1.1


def test_a_failing_rule_takes_its_own_latency_and_vectors_none_but_theirs() -> None:
    playback = Playback(Script(rules=(Rule(match="bad", status=500, latency=3),), latency=2))
    assert playback.plan(Call("text", "m", "bad")).latency == 3
    assert playback.plan(Call("text", "m", "good")).latency == 2
    assert playback.plan(Call("embeddings", "m", "bad")).latency == 0


def _likeness(left: str, right: str, dimension: int = 256) -> float:
    return math.fsum(a * b for a, b in zip(embed(left, dimension), embed(right, dimension), strict=True))


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        ("Who approves travel expenses?", "Travel expenses are approved by the manager.", "The reactor cools down."),
        ("ما عاصمة النرويج؟", "العاصمة هي أوسلو في النرويج", "تبرد المفاعلات بالماء"),
        ("CAFÉ opening hours", "the cafe's opening hours", "a border between countries"),
    ],
)
def test_texts_that_share_words_lie_nearer_than_texts_that_do_not(text: str, like: str, unlike: str) -> None:
    assert _likeness(text, like) > _likeness(text, unlike) + 0.3


def test_arabic_spellings_of_one_text_have_one_vector() -> None:
    assert _likeness("إِدَارَةُ الـمـوارد ١٢", "اداره الموارد 12") == pytest.approx(1)


@pytest.mark.parametrize("text", ["", "؟!", "\ud800", "a" * 100_000, "word " * 5000])
@pytest.mark.parametrize("dimension", [1, 2, 1536])
def test_every_text_has_a_vector_of_unit_length(text: str, dimension: int) -> None:
    vector = embed(text, dimension)
    assert len(vector) == dimension
    assert math.fsum(value * value for value in vector) == pytest.approx(1)
