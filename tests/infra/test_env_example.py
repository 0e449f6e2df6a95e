"""`.env.example` tells of every setting, with its true default, and its examples work."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from pydantic import SecretStr

from burnish.config import StrategyConfig
from burnish.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / ".env.example").read_text("utf-8").splitlines()
PREFIX = "BURNISH_"


def assignments(pattern: str) -> list[tuple[str, str | None]]:
    """The lines of this form, read as the settings read a `.env`."""
    found = [line[match.end() :] for line in LINES if (match := re.match(pattern, line))]
    return [pair for line in found for pair in dotenv_values(stream=StringIO(line)).items()]


DEFAULTS = assignments(r"#(?=[A-Z_]+=)")
EXAMPLES = assignments(r"# {3}(?=[A-Z_]+=)")


def settings_with(name: str, value: str) -> Settings:
    """What the settings make of one variable, with no other and no file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name, value)
        return Settings(_env_file=None)  # pyright: ignore[reportCallIssue] a parameter that pydantic-settings adds


def field_of(name: str) -> str:
    return name.removeprefix(PREFIX).lower()


def test_each_setting_has_one_line_with_its_default() -> None:
    named = sorted(field_of(name) for name, _ in DEFAULTS if name.startswith(PREFIX))
    assert named == sorted(Settings.model_fields)


@pytest.mark.parametrize(("name", "value"), [pair for pair in DEFAULTS if pair[0].startswith(PREFIX)])
def test_the_default_that_it_shows_is_the_default(name: str, value: str | None) -> None:
    default: Any = Settings.model_fields[field_of(name)].get_default(call_default_factory=True, validated_data={})
    shown = getattr(settings_with(name, value), field_of(name)) if value else None
    assert shown == default


@pytest.mark.parametrize(("name", "value"), [pair for pair in EXAMPLES if pair[0].startswith(PREFIX)])
def test_each_example_is_accepted_and_changes_something(name: str, value: str) -> None:
    field = field_of(name)
    given = getattr(settings_with(name, value), field)
    plain = given.get_secret_value() if isinstance(given, SecretStr) else given
    assert plain != Settings.model_fields[field].get_default(call_default_factory=True, validated_data={})


def test_the_example_of_strategy_defaults_holds_names_that_strategies_know() -> None:
    examples = [value for name, value in EXAMPLES if name == "BURNISH_STRATEGY_DEFAULTS" and value]
    assert examples
    for value in examples:
        StrategyConfig.from_mapping(settings_with("BURNISH_STRATEGY_DEFAULTS", value).strategy_defaults)


def test_nothing_is_set_by_a_copy_that_nobody_has_edited() -> None:
    assert dotenv_values(ROOT / ".env.example") == {}
