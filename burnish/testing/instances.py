"""A small valid instance of a JSON schema, so that a model without a script still answers in the form asked for.

Reads the part of JSON Schema that language model servers read: types, enum, const, bounds, required, items,
anyOf, oneOf, allOf and references within the schema. It heeds neither `pattern` and `format` nor `uniqueItems`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from burnish.errors import InvalidInput

MAX_DEPTH = 40
MAX_ITEMS = 1000

Schema: TypeAlias = Mapping[str, Any]


def minimal_instance(schema: Any, text: str) -> Any:
    """The smallest value that `schema` allows, its strings made of `text` and its numbers as high as they may be.

    An object holds its required properties, or all of them where none is required. Raises InvalidInput where no
    value can be made: a schema that is none, a reference that leads nowhere, one that never ends.
    """
    return _Maker(schema, text).make(schema, 0)


@dataclass(frozen=True)
class _Maker:
    root: Any
    text: str

    def make(self, schema: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"the JSON schema nests deeper than {MAX_DEPTH} levels")
        if isinstance(schema, bool) and schema:
            return self.text
        if not isinstance(schema, Mapping):
            raise InvalidInput("the JSON schema holds something that is not a schema")
        found = cast("Schema", schema)
        if "const" in found:
            return found["const"]
        if isinstance(found.get("enum"), list) and found["enum"]:
            return found["enum"][0]
        inner = self._redirected(found)
        return self._typed(found, depth) if inner is None else self.make(inner, depth + 1)

    def _redirected(self, schema: Schema) -> Any:
        """The schema that stands for this one, or None where it speaks for itself."""
        if "$ref" in schema:
            return self._resolve(schema["$ref"])
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return schema[word][0]
        if isinstance(schema.get("allOf"), list):
            return self._merged(schema)
        return None

    def _resolve(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise InvalidInput("the JSON schema refers to something outside itself")
        place = self.root
        for part in reference.lstrip("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or name not in place:
                raise InvalidInput(f"the JSON schema refers to {reference!r}, which it does not hold")
            place = cast("Schema", place)[name]
        return place

    def _merged(self, schema: Schema) -> Schema:
        merged = {name: value for name, value in schema.items() if name != "allOf"}
        for part in schema["allOf"]:
            for name, value in self._followed(part).items():
                merged[name] = _joined(merged.get(name), value)
        return merged

    def _followed(self, part: Any) -> Schema:
        found: Any = cast("Schema", part) if isinstance(part, Mapping) else None
        if found is not None and "$ref" in found:
            found = self._resolve(found["$ref"])
        if not isinstance(found, Mapping):
            raise InvalidInput("allOf in the JSON schema holds something that is not a schema")
        return cast("Schema", found)

    def _typed(self, schema: Schema, depth: int) -> Any:
        makers: dict[str, Callable[[], Any]] = {
            "object": lambda: self._object(schema, depth),
            "array": lambda: self._array(schema, depth),
            "string": lambda: self._string(schema),
            "integer": lambda: _integer(schema),
            "number": lambda: _number(schema),
            "boolean": lambda: True,
            "null": lambda: None,
        }
        kind = _type_of(schema)
        if kind not in makers:
            raise InvalidInput(f"the JSON schema names an unknown type {kind!r}")
        return makers[kind]()

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        if not isinstance(properties, Mapping):
            raise InvalidInput("the JSON schema's properties must be an object")
        known = cast("Schema", properties)
        names = schema.get("required")
        wanted = cast("list[Any]", names) if isinstance(names, list) else list(known)
        return {str(name): self.make(known.get(name, True), depth + 1) for name in wanted}

    def _array(self, schema: Schema, depth: int) -> list[Any]:
        least = int(_bound(schema, "minItems") or 0)
        if least > MAX_ITEMS:
            raise InvalidInput(f"the JSON schema asks for more than {MAX_ITEMS} items")
        heads = schema.get("prefixItems")
        tuples = cast("list[Any]", heads) if isinstance(heads, list) else []
        rest = schema.get("items", True)
        return [self.make(tuples[nth] if nth < len(tuples) else rest, depth + 1) for nth in range(least)]

    def _string(self, schema: Schema) -> str:
        least, most = int(_bound(schema, "minLength") or 0), _bound(schema, "maxLength")
        if least > MAX_ITEMS * 100:
            raise InvalidInput(f"the JSON schema asks for a string longer than {MAX_ITEMS * 100} characters")
        text = self.text * max(1, math.ceil(least / len(self.text)))
        return text[: max(least, len(self.text))][: None if most is None else int(most)]


def _joined(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**cast("Schema", old), **cast("Schema", new)}
    if isinstance(old, list) and isinstance(new, list):
        return [*cast("list[Any]", old), *cast("list[Any]", new)]
    return new


def _type_of(schema: Schema) -> str:
    named = schema.get("type")
    if isinstance(named, list):
        choices = cast("list[Any]", named)
        return str(next((name for name in choices if name != "null"), "null"))
    if named is None:
        return "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(named)


def _bound(schema: Schema, name: str) -> float | None:
    value = schema.get(name)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if usable else None


def _number(schema: Schema) -> float:
    highest, below = _bound(schema, "maximum"), _bound(schema, "exclusiveMaximum")
    lowest, above = _bound(schema, "minimum"), _bound(schema, "exclusiveMinimum")
    floor = lowest if lowest is not None else above
    if highest is not None and (below is None or highest < below):
        return highest
    if below is not None:
        return below - 1 if floor is None else (floor + below) / 2
    if floor is None:
        return 1
    return floor if lowest is not None else floor + 1


def _integer(schema: Schema) -> int:
    """As `_number`, on whole numbers: a bound that excludes itself is moved one inwards."""
    tops = [_bound(schema, "maximum"), _inward(_bound(schema, "exclusiveMaximum"), math.ceil, -1)]
    bottoms = [_bound(schema, "minimum"), _inward(_bound(schema, "exclusiveMinimum"), math.floor, 1)]
    highest, lowest = (
        [math.floor(top) for top in tops if top is not None],
        [math.ceil(bottom) for bottom in bottoms if bottom is not None],
    )
    step = int(_bound(schema, "multipleOf") or 1) or 1
    if highest:
        return min(highest) - min(highest) % step
    value = max(lowest) if lowest else 1
    return value + -value % step


def _inward(bound: float | None, rounded: Callable[[float], int], step: int) -> int | None:
    return None if bound is None else rounded(bound) + step
