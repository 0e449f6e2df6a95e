"""What is decided before anything is started: which servers, which settings, which programs, and from where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnish.commands.deployment import (
    Deployment,
    api_url,
    as_environment,
    home_of,
    read_settings,
    recall,
    remember,
    settings_in_effect,
)
from burnish.commands.plan import Needs, Ports, chosen_values, needs_of, programs, worker_names
from burnish.config import StrategyConfig
from burnish.errors import InvalidInput
from burnish.local.servers import Endpoints
from burnish.settings import Settings
from burnish.strategies.registry import STRATEGY_NAMES

ENDPOINTS = Endpoints("postgresql://ours", "redis://ours", "http://ours/v1", "our-key")
PORTS = Ports(8321, 8322)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def chosen(settings: Settings) -> dict[str, Any]:
    return chosen_values(settings, needs_of(settings), ENDPOINTS, PORTS, "password")


def test_everything_is_embedded_where_nothing_is_set() -> None:
    assert needs_of(Settings()) == Needs(database=True, broker=True, model=True)


@pytest.mark.parametrize(
    ("given", "needs"),
    [
        ({"database_url": "postgresql://mine"}, Needs(database=False, broker=True, model=True)),
        ({"redis_url": "redis://mine"}, Needs(database=True, broker=False, model=True)),
        ({"model": "openai/gpt-x"}, Needs(database=True, broker=True, model=False)),
        ({"model_url": "http://mine/v1"}, Needs(database=True, broker=True, model=False)),
    ],
)
def test_each_server_is_replaced_by_itself(given: dict[str, Any], needs: Needs) -> None:
    assert needs_of(Settings(**given)) == needs


def test_the_users_settings_go_before_those_of_the_embedded_profile() -> None:
    values = chosen(Settings(questions_in_flight=9, database_url="postgresql://mine"))
    assert values["questions_in_flight"] == 9
    assert values["database_url"] == "postgresql://mine"
    assert values["redis_url"] == "redis://ours"
    assert values["model_price_in"] == 0.0


def test_the_embedded_profile_is_for_the_embedded_model_alone() -> None:
    values = chosen(Settings(model="openai/gpt-x"))
    assert not {"model_price_in", "questions_in_flight", "model_url", "strategy_defaults"} & set(values)


def test_the_embedded_profile_holds_settings_that_there_are() -> None:
    effective = read_settings(**chosen(Settings()))
    assert StrategyConfig.from_mapping(effective.strategy_defaults) != StrategyConfig()


def test_a_model_file_of_ones_own_is_called_by_its_name() -> None:
    assert chosen(Settings(model_path=Path("/models/mine-7b.gguf")))["model"] == "openai/mine-7b"


def test_the_environment_says_the_same_as_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    values = chosen(Settings(strategy_defaults={"hyde": {"mode": "mean"}}, model_structured=False))
    for name, value in as_environment(values).items():
        monkeypatch.setenv(name, value)
    assert Settings() == read_settings(**values)


def test_batches_have_a_worker_a_core_unless_the_model_needs_the_cores() -> None:
    assert worker_names(embedded_model=False, cores=4) == ("interactive", "batch-1", "batch-2", "batch-3")
    assert worker_names(embedded_model=False, cores=1) == ("interactive", "batch-1")
    assert worker_names(embedded_model=True, cores=8) == ("interactive", "batch-1")


def test_another_key_of_a_provider_is_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    values = chosen(Settings())

    def plan() -> tuple[Any, ...]:
        return programs(Path("/root"), values, read_settings(**values), embedded_model=True)

    monkeypatch.setenv("OPENAI_API_KEY", "a")
    before = plan()
    assert plan() == before
    monkeypatch.setenv("OPENAI_API_KEY", "b")
    assert plan() != before


def test_a_key_of_a_provider_in_the_file_reaches_the_programs_unless_the_environment_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = chosen(Settings())

    def environments() -> list[dict[str, str]]:
        return [each.env for each in programs(Path("/root"), values, read_settings(**values), embedded_model=True)]

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path(".env").write_text("OPENAI_API_KEY=wrong\nBROKER_URL=redis://another-project\nEMPTY_API_KEY=\n")
    before = environments()
    assert {each["OPENAI_API_KEY"] for each in before} == {"wrong"}
    assert not {"BROKER_URL", "EMPTY_API_KEY"} & set(before[0])
    Path(".env").write_text("OPENAI_API_KEY=right\n")
    assert {each["OPENAI_API_KEY"] for each in environments()} == {"right"}
    monkeypatch.setenv("OPENAI_API_KEY", "exported")
    assert not any("OPENAI_API_KEY" in each for each in environments())


def test_no_secret_stands_on_a_command_line_of_the_plan() -> None:
    values = chosen(Settings())
    plan = programs(Path("/root"), values, read_settings(**values), embedded_model=True)
    arguments = " ".join(argument for program in plan for argument in program.argv)
    assert not [secret for secret in ("ours", "our-key", "password") if secret in arguments]


def test_later_commands_find_what_up_chose_and_the_user_still_goes_first(tmp_path: Path) -> None:
    remember(tmp_path, Deployment("http://127.0.0.1:9999", "", "", "", {"database_url": "ours", "redis_url": "ours"}))
    user = Settings(redis_url="mine")
    effective = settings_in_effect(tmp_path, user)
    assert effective.database_url == "ours"
    assert api_url(tmp_path, Settings()) == "http://127.0.0.1:9999"
    assert api_url(tmp_path, Settings(api_port=1234)) == "http://127.0.0.1:1234"


def test_a_damaged_record_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "deployment.json").write_text("{")
    assert recall(tmp_path) is None


def test_the_data_folder_that_is_set_goes_first(tmp_path: Path) -> None:
    assert home_of(Settings(home=tmp_path / "here")) == tmp_path / "here"


def test_a_setting_that_cannot_be_read_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH_LEASE_SECONDS", "sesame")
    with pytest.raises(InvalidInput, match="BURNISH_LEASE_SECONDS cannot be used") as error:
        read_settings()
    assert "sesame" not in str(error.value)


def test_help_loads_nothing_heavy_and_names_every_strategy() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from burnish.cli import main\n"
        "print(CliRunner().invoke(main, ['ask', '--help']).output)\n"
        "heavy = {'litellm', 'sqlalchemy', 'celery', 'numpy', 'pydantic', 'rich', 'httpx'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in STRATEGY_NAMES)
