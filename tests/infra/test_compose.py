"""docker-compose.yml, the image and `.env.example` agree with each other and with the code; no engine is needed."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from burnish.settings import Settings
from burnish.store.messages import LANES

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = cast("dict[str, Any]", yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8")))
SERVICES = cast("dict[str, dict[str, Any]]", COMPOSE["services"])
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}")


def texts(value: Any) -> list[str]:
    """Every text in a nested value, keys left out."""
    match value:
        case dict():
            return [text for each in cast("dict[str, Any]", value).values() for text in texts(each)]
        case list():
            return [text for each in cast("list[Any]", value) for text in texts(each)]
        case _:
            return [str(value)]


def variables() -> set[tuple[str, str, str]]:
    """What is taken from `.env`: (name, how, default or complaint)."""
    return {found for text in texts(COMPOSE) for found in VARIABLE.findall(text)}


def test_the_services_are_those_of_the_pipeline() -> None:
    assert set(SERVICES) == {
        *("migrate", "api", "worker-interactive", "worker-batch", "reconciler", "flower"),
        *("postgres", "valkey"),
    }
    assert set(SERVICES) - set(OURS) == {"postgres", "valkey"}


@pytest.mark.parametrize("name", OURS)
def test_the_module_that_a_service_runs_exists(name: str) -> None:
    _, dash_m, module, *rest = SERVICES[name]["command"]
    assert dash_m == "-m"
    assert importlib.util.find_spec(module) is not None
    for application in re.findall(r"\b(?:api|workers)\.\w+", " ".join(rest)):
        assert (ROOT / f"{application.replace('.', '/')}.py").is_file()


@pytest.mark.parametrize("name", OURS)
def test_the_variables_of_burnish_that_a_service_is_given_are_settings(name: str) -> None:
    environment = cast("Mapping[str, str]", OURS[name]["environment"])
    ours = {variable for variable in environment if variable.startswith("BURNISH_")}
    assert {variable.removeprefix("BURNISH_").lower() for variable in ours} <= set(Settings.model_fields)


def test_a_setting_that_is_filled_in_has_the_default_of_the_settings() -> None:
    for name, how, default in variables():
        if name.startswith("BURNISH_") and how == ":-":
            field = Settings.model_fields[name.removeprefix("BURNISH_").lower()]
            assert default == str(field.default), name


def test_what_it_takes_from_the_env_file_is_told_of_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text("utf-8")
    for name, _, _ in variables():
        assert re.search(rf"^#{name}=", example, re.MULTILINE), name


def test_no_secret_has_a_default() -> None:
    secrets = {(name, how) for name, how, _ in variables() if "PASSWORD" in name or "KEY" in name}
    assert {name for name, _ in secrets} == {"POSTGRES_PASSWORD", "VALKEY_PASSWORD", "BURNISH_FLOWER_PASSWORD"}
    assert {how for _, how in secrets} == {":?"}


def test_only_the_loopback_address_of_the_machine_is_published() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"api", "flower"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_a_service_waits_for_services_that_exist_and_can_be_waited_for() -> None:
    for name, service in SERVICES.items():
        for other, wanted in service.get("depends_on", {}).items():
            once = SERVICES[other].get("restart") == "no"
            assert wanted["condition"] == ("service_completed_successfully" if once else "service_healthy"), name
            assert once or "healthcheck" in SERVICES[other]


def test_whatever_stays_up_has_a_health_check_and_is_started_again() -> None:
    for name, service in SERVICES.items():
        if name != "migrate":
            assert {"test", "interval", "timeout", "retries"} <= set(service["healthcheck"]), name
            assert service["restart"] == "unless-stopped", name


def test_each_lane_has_a_worker_of_its_own() -> None:
    queues = [word.removeprefix("--queues=") for name in OURS for word in OURS[name]["command"] if "--queues=" in word]
    assert sorted(queues) == sorted(LANES)


def test_the_databases_keep_their_data_and_the_broker_evicts_nothing() -> None:
    assert SERVICES["postgres"]["shm_size"] == "1gb"
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]
    assert set(COMPOSE["volumes"]) == {"postgres", "valkey"}
    options = shlex.join(SERVICES["valkey"]["command"])
    assert "--maxmemory-policy noeviction" in options
    assert "--appendonly yes" in options


def test_the_image_copies_only_files_that_exist_and_are_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    let_in = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert "*" in ignored
    dockerfile = (ROOT / "infra" / "Dockerfile").read_text("utf-8")
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
        for source in copied.split():
            assert (ROOT / source).exists(), source
            assert any(fnmatch(source, pattern) for pattern in let_in), source
