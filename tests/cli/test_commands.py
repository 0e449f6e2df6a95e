"""The commands on a real `burnish up`: servers, API, workers and all, with a simulated model behind them."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psycopg
import pytest

from burnish.testing import SimulatedModel
from tests.cli.terminal import Terminal, terminal

ROOT = Path(__file__).resolve().parents[2]
ANSWER_ID = re.compile(r"answer ([0-9a-f-]{36})")
JOB_ID = re.compile(r"job ([0-9a-f-]{36})")
DANUBE = "How long is the Danube?"
SCORES: dict[str, Any] = {
    "relevance": 5,
    "accuracy": 5,
    "completeness": 5,
    "clarity": 5,
    "issues": [],
    "suggestions": [],
}
DRAFT = {"quote": "The Danube is 2,850 km long", "answer": "2,850 km", "supported": "yes"}
GOOD: dict[str, Any] = {
    "rules": [{"kind": "answer_and_judge", "reply": {**DRAFT, **SCORES}}, {"kind": "answer", "reply": DRAFT}]
}
COMPOUND = "How long is the Danube, and why and when does the Rhine end in another sea than the Danube?"


def programs(shell: Terminal) -> dict[str, Any]:
    return json.loads((shell.home / "programs.json").read_text())


def deployment(shell: Terminal) -> dict[str, Any]:
    return json.loads((shell.home / "deployment.json").read_text())


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_second_up_adopts_what_runs_and_says_where_it_answers(shell: Terminal) -> None:
    before = {name: life["process"]["pid"] for name, life in programs(shell).items()}
    said = shell.run("up")
    assert said.code == 0, said.err
    assert {name: life["process"]["pid"] for name, life in programs(shell).items()} == before
    assert set(before) >= {"api", "interactive", "batch-1", "reconciler", "flower"}
    assert f"{deployment(shell)['api_url']}/docs" in said.out
    assert deployment(shell)["flower_password"] in said.out


def test_the_address_that_the_page_on_audits_reads_out_opens_the_database(shell: Terminal) -> None:
    page = (ROOT / "docs" / "audit.md").read_text("utf-8")
    (command,) = re.findall(r'psql "\$\((.+)\)"', page)
    here = command.replace(".burnish", str(shell.home))
    address = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=True).stdout.strip()
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)


def test_alembic_finds_the_database_that_up_started(shell: Terminal) -> None:
    command = [sys.executable, "-m", "alembic", "-c", str(ROOT / "alembic.ini"), "current"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=shell.folder, env=dict(shell.environment), check=False
    )
    assert "(head)" in done.stdout, done.stderr


def test_an_ingest_counts_the_documents_and_tells_which_file_cannot_be_read_and_why(shell: Terminal) -> None:
    shell.write("more/seine.md", "# Seine\n\nThe Seine is 777 km long.\n")
    shell.write("more/broken.pdf", "this is no PDF")
    said = shell.run("ingest", "more", "--collection", "more")
    assert said.code == 0
    assert "1 new, 0 changed, 0 unchanged" in said.out
    assert "broken.pdf: " in said.err
    again = shell.run("ingest", "more", "--collection", "more")
    assert "0 new, 0 changed, 1 unchanged" in again.out


def test_an_ingest_finds_the_key_of_a_provider_in_the_file(shell: Terminal, model: SimulatedModel) -> None:
    shell.write("remote/loire.md", "The Loire is 1,006 km long.\n")
    file = shell.write(".env", f"OPENAI_API_KEY={model.key}\nOPENAI_BASE_URL={model.url}\n")
    of_nobody = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "BURNISH_EMBEDDING_MODEL": "openai/simulated-embedding"}
    said = shell.run("ingest", "remote", "--collection", "remote", **of_nobody)
    file.unlink()
    assert "1 new" in said.out, said.err


def test_an_ingest_of_which_nothing_can_be_read_fails(shell: Terminal) -> None:
    shell.write("bad.pdf", "this is no PDF")
    said = shell.run("ingest", "bad.pdf", "--collection", "more")
    assert said.code == 1
    assert "bad.pdf: " in said.err


def test_an_answer_comes_with_its_outcome_its_confidence_its_quote_and_its_cost(
    shell: Terminal, fresh_model: SimulatedModel
) -> None:
    fresh_model.set_script(GOOD)
    said = shell.run("ask", DANUBE, "--collection", "rivers", "--steps")
    assert said.code == 0, said.err
    assert "2,850 km" in said.out
    assert "succeeded · confidence 1.00" in said.out
    assert "danube.md: “The Danube is 2,850 km long”" in said.out
    assert "1 call" in said.out
    assert "RefinementStep 1 confidence 1.00" in said.out


def test_text_that_looks_like_markup_is_shown_as_it_stands(shell: Terminal, fresh_model: SimulatedModel) -> None:
    fresh_model.set_script({"rules": [{"kind": "answer", "reply": {**DRAFT, "answer": "[red]2,850[/red] km [/]"}}]})
    said = shell.run("ask", "How long is [bold]the Danube[/]?", "--collection", "rivers", "--strategy", "direct")
    assert said.code == 0, said.err
    assert "[red]2,850[/red] km [/]" in said.out
    assert "How long is [bold]the Danube[/]?" in said.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("ask", "x", "--strategy", "magic"), "unknown strategy 'magic'"),
        (("ask", "x", "--collection", "nowhere"), "there is no collection 'nowhere'"),
        (("ask", " ", "--collection", "rivers"), "the question is empty"),
        (("ask", "x", "--collection", "rivers", "--config", '{"hyde": {"mode": "?"}}'), "hyde.mode must be"),
        (("steps", "01a22ea1-40c0-7006-b1e5-2dc0804ee8f5"), "01a22ea1-40c0-7006-b1e5-2dc0804ee8f5"),
        (("job", "no-id"), "job_id"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_without_a_traceback(
    shell: Terminal, arguments: tuple[str, ...], complaint: str
) -> None:
    said = shell.run(*arguments)
    assert said.code == 1
    assert said.err.startswith("burnish: ")
    assert complaint in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


def test_debug_shows_the_traceback(shell: Terminal) -> None:
    assert "Traceback" in shell.run("--debug", "ask", "x", "--collection", "nowhere").err


def test_a_config_that_is_no_json_object_is_refused_before_anything_is_asked(shell: Terminal) -> None:
    assert "it is not JSON" in shell.run("ask", "x", "--config", "{").err
    assert "must be a JSON object" in shell.run("ask", "x", "--config", "[1]").err


def test_a_batch_writes_its_results_in_order_and_tells_the_lines_that_cannot_be_used(
    shell: Terminal, fresh_model: SimulatedModel
) -> None:
    fresh_model.set_script(GOOD)
    shell.write(
        "mixed.jsonl",
        f'{{"custom_id": "one", "question": "{DANUBE}", "strategy": "direct"}}\n'
        "\n"
        "no json\n"
        f'{{"custom_id": "two", "question": "{DANUBE}", "strategy": "self_irag"}}\n'
        '{"custom_id": "one", "question": "Again?"}\n',
    )
    said = shell.run("batch", "mixed.jsonl", "-o", "mixed.out", "--collection", "rivers")
    assert said.code == 2
    assert "line 3: this is not JSON" in said.err
    assert "line 5: an earlier line has the custom_id 'one'" in said.err
    assert "2/2 done, 0 failed" in said.err
    assert [(line["custom_id"], line["outcome"]) for line in lines_of(shell.folder / "mixed.out")] == [
        ("one", "succeeded"),
        ("two", "succeeded"),
    ]


def test_a_text_file_is_a_question_a_line(shell: Terminal, fresh_model: SimulatedModel) -> None:
    fresh_model.set_script(GOOD)
    shell.write("plain.txt", f"{DANUBE}\n\n  How long is the Rhine?  \n")
    said = shell.run("batch", "plain.txt", "-o", "plain.out", "--collection", "rivers", "--strategy", "direct")
    assert said.code == 0, said.err
    asked = [(line["custom_id"], line["question"]) for line in lines_of(shell.folder / "plain.out")]
    assert asked == [("line-1", DANUBE), ("line-3", "How long is the Rhine?")]


def test_a_batch_whose_results_cannot_be_written_is_not_asked(shell: Terminal, fresh_model: SimulatedModel) -> None:
    shell.write("one.txt", DANUBE)
    said = shell.run("batch", "one.txt", "-o", "no/such/folder/out", "--collection", "rivers")
    assert said.code == 1
    assert "cannot be written" in said.err
    assert fresh_model.calls().count == 0


def test_what_failed_is_asked_again_and_what_succeeded_is_not(shell: Terminal, fresh_model: SimulatedModel) -> None:
    refusal = {"match": "Rhine\\?", "status": 400}
    fresh_model.set_script({"rules": [refusal, *GOOD["rules"]]})
    shell.write("pair.txt", f"{DANUBE}\nHow long is the Rhine?\n")
    said = shell.run("batch", "pair.txt", "-o", "pair.out", "--collection", "rivers", "--strategy", "direct")
    assert said.code == 2
    results = lines_of(shell.folder / "pair.out")
    assert [line["outcome"] for line in results] == ["succeeded", "failed"], results
    job_id = JOB_ID.findall(said.err)[0]

    fresh_model.set_script(GOOD)
    asked_before = fresh_model.calls().count
    assert "1 asked again" in shell.run("retry", job_id).out
    watched = shell.run("job", job_id, "--watch")
    assert "ended: 2 succeeded of 2" in watched.out
    assert fresh_model.calls().count == asked_before + 1
    assert "2 of 2 answers" in shell.run("results", job_id, "-o", "pair.out").out
    assert [line["outcome"] for line in lines_of(shell.folder / "pair.out")] == ["succeeded", "succeeded"]
    assert "None ended as failed there" in shell.run("retry", job_id).out


def test_an_interrupted_batch_says_how_to_go_on_and_goes_on(shell: Terminal, fresh_model: SimulatedModel) -> None:
    fresh_model.set_script({**GOOD, "latency": 10})
    shell.write("slow.txt", DANUBE)
    process = shell.start("batch", "slow.txt", "-o", "slow.out", "--collection", "rivers", "--strategy", "direct")
    assert process.stderr is not None
    job_id = JOB_ID.findall(process.stderr.readline())[0]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"burnish results {job_id} -o slow.out" in said
    assert "ended: 1 succeeded of 1" in shell.run("job", job_id, "--watch").out


def test_a_cancelled_job_ends(shell: Terminal, fresh_model: SimulatedModel) -> None:
    low = dict.fromkeys(("relevance", "accuracy", "completeness", "clarity"), 1)
    never_good_enough = {"kind": "answer_and_judge", "reply": {**DRAFT, **SCORES, **low}}
    fresh_model.set_script({"rules": [never_good_enough], "latency": 8})
    shell.write("many.txt", f"{DANUBE}\n" * 3)
    process = shell.start("batch", "many.txt", "-o", "many.out", "--collection", "rivers")
    assert process.stderr is not None
    job_id = JOB_ID.findall(process.stderr.readline())[0]
    assert shell.run("cancel", job_id).code == 0
    process.communicate(timeout=120)
    assert process.returncode == 2
    assert "ended: 3 cancelled of 3" in shell.run("job", job_id).out

    left = shell.run("retry", job_id)
    assert "None ended as failed there" in left.out
    assert "not asked again: 3 cancelled" in left.err
    fresh_model.set_script(GOOD)
    assert "3 asked again" in shell.run("retry", job_id, "--outcome", "cancelled").out
    assert "ended: 3 succeeded of 3" in shell.run("job", job_id, "--watch").out


def test_what_reached_its_cap_reaches_it_again(shell: Terminal, fresh_model: SimulatedModel) -> None:
    fresh_model.set_script(GOOD)
    shell.write("capped.txt", COMPOUND)
    capped = ("--collection", "rivers", "--strategy", "recursive", "--config", '{"max_calls": 1}')
    said = shell.run("batch", "capped.txt", "-o", "capped.out", *capped)
    job_id = JOB_ID.findall(said.err)[0]
    assert "1 budget_exceeded of 1" in said.out
    assert "1 asked again" in shell.run("retry", job_id, "--outcome", "budget_exceeded").out
    assert "1 budget_exceeded of 1" in shell.run("job", job_id, "--watch").out
    assert fresh_model.calls().count == 1


def test_the_audit_shows_imagined_documents_sub_answers_and_calls(shell: Terminal, fresh_model: SimulatedModel) -> None:
    imagined = "The Danube, a river of Europe, is about three thousand kilometres long."
    parts = {"sub_questions": [DANUBE, "In which sea does the Rhine end?"]}
    rules = [{"kind": "text", "reply": imagined}, {"kind": "decompose", "reply": parts}]
    fresh_model.set_script({"rules": [*rules, *GOOD["rules"]]})

    hyde = shell.run("ask", DANUBE, "--collection", "rivers", "--strategy", "hyde", "--steps")
    assert hyde.out.count(f"HypotheticalDocument 1 {imagined}") == 1
    assert "hypothesise" in hyde.out
    assert "tokens" in hyde.out

    recursive = shell.run("ask", COMPOUND, "--collection", "rivers", "--strategy", "recursive", "--steps")
    assert f"SubAnswer 1 {DANUBE} → 2,850 km succeeded" in recursive.out
    assert "SubAnswer 2 In which sea does the Rhine end?" in recursive.out

    auto = shell.run("ask", COMPOUND, "--collection", "rivers", "--strategy", "auto", "--steps")
    assert "chose recursive several questions in one (features)" in auto.out

    answer_id = ANSWER_ID.findall(recursive.out)[0]
    full = json.loads(shell.run("steps", answer_id, "--full").out)
    assert full["answer"]["strategy"] == "recursive"
    assert full["run"]["steps"][0]["request"]["prompt"]["system"]


def test_flower_asks_for_the_password_and_lists_tasks_by_their_names(shell: Terminal) -> None:
    where = deployment(shell)
    address = f"{where['flower_url']}/api/tasks"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(address, timeout=10)
    assert refused.value.code == 401
    credentials = base64.b64encode(f"{where['flower_user']}:{where['flower_password']}".encode()).decode()
    request = urllib.request.Request(address, headers={"Authorization": f"Basic {credentials}"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        names = {task["name"] for task in json.load(reply).values()}
    assert {"direct.start", "self_irag.start", "hyde.document", "hyde.gathered", "recursive.subquestion"} <= names


def test_no_password_stands_on_a_command_line(shell: Terminal) -> None:
    state = json.loads((shell.home / "state.json").read_text())
    secrets = {record["secret"] for record in state.values()} | {deployment(shell)["flower_password"]}
    shown = " ".join(" ".join(program["argv"]) for program in json.loads((shell.home / "plan.json").read_text()))
    assert not [secret for secret in secrets if secret in shown]
    readable = [path.name for path in shell.home.glob("*.json") if path.stat().st_mode & 0o077]
    assert readable == []


def test_the_doctor_finds_everything_well(shell: Terminal) -> None:
    said = shell.run("doctor")
    assert said.code == 0, said.out
    assert "NO" not in said.out
    for subject in ("PostgreSQL", "pgvector", "Valkey", "batch-1, interactive answer", "is ready", "simulated at"):
        assert subject in said.out


def test_a_stopped_model_is_found_by_the_doctor(shell: Terminal) -> None:
    said = shell.run("doctor", BURNISH_MODEL_URL="http://127.0.0.1:9/v1")
    assert said.code == 1
    assert "NO Language model" in said.out
    assert "check BURNISH_MODEL_URL" in said.out


def test_a_changed_setting_restarts_the_programs_and_nothing_is_lost(shell: Terminal) -> None:
    before = {name: life["process"]["pid"] for name, life in programs(shell).items()}
    said = shell.run("up", BURNISH_QUESTIONS_IN_FLIGHT="3")
    assert said.code == 0, said.err
    assert not set(before.values()) & {life["process"]["pid"] for life in programs(shell).values()}
    assert "unchanged" in shell.run("ingest", "rivers", "--collection", "rivers").out


def test_down_leaves_no_process_and_keeps_the_data(shell: Terminal) -> None:
    assert shell.processes() != []
    said = shell.run("down")
    assert said.code == 0
    assert shell.processes() == []
    assert (shell.home / "pgdata").exists()
    assert "Nothing was running" in shell.run("down").out
    assert "start it with `burnish up`" in shell.run("ask", DANUBE).err


def test_before_the_first_up_every_command_says_to_run_it() -> None:
    with terminal() as empty:
        assert "run `burnish up`" in empty.run("ingest", ".").err
        assert "start it with `burnish up`" in empty.run("ask", DANUBE).err
        doctor = empty.run("doctor")
        assert doctor.code == 1
        assert "does not exist yet: run `burnish up`" in doctor.out
        assert not empty.home.exists()


def test_a_setting_that_cannot_be_read_is_named() -> None:
    with terminal(BURNISH_QUESTIONS_IN_FLIGHT="many") as wrong:
        said = wrong.run("up")
        assert said.code == 1
        assert "BURNISH_QUESTIONS_IN_FLIGHT cannot be used" in said.err
