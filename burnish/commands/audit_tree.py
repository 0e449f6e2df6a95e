"""The audit of an answer as a tree: runs, their steps, what each asked for, was told and cost."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from rich.tree import Tree

from burnish.commands.showing import OUTCOME_STYLES, Json, money, shortened

_LENGTH = 140


def audit_tree(trail: Json) -> Tree:
    """The whole tree of an answer."""
    answer, run = trail["answer"], trail["run"]
    tree = Tree(Text.assemble("answer ", (str(answer["id"]), "dim")))
    if run is None:
        tree.add(Text("not begun yet", style="dim"))
    else:
        _add_run(tree, run)
    return tree


def _add_run(tree: Tree, run: Json) -> None:
    outcome = str(run["outcome"] or run["state"])
    label = Text.assemble(
        (str(run["strategy"]), "bold"), f"  {shortened(run['text'], _LENGTH)}  ", (outcome, _style(outcome))
    )
    if run["confidence"] is not None:
        label.append(f"  confidence {run['confidence']:.2f}", "dim")
    branch = tree.add(label)
    if "chosen" in run["trace"]:
        branch.add(_choice_label(run["trace"]))
    for step in run["steps"]:
        _add_step(branch, step)
    if run["answer"]:
        branch.add(Text.assemble(("→ ", "bold"), shortened(run["answer"], _LENGTH)))
    if run["error"]:
        branch.add(Text(f"{run['error']['type']}: {run['error']['message']}", style="red"))


def _choice_label(trace: Json) -> Text:
    return Text.assemble((f"chose {trace['chosen']} ", "green"), f"{trace['reason']} ", (f"({trace['by']})", "dim"))


def _add_step(tree: Tree, step: Json) -> None:
    if step["records"]:
        for record in step["records"]:
            tree.add(_record_label(record))
    elif step["kind"] == "subquestion":
        if step["run"]:
            _add_run(tree, step["run"])
    elif step["kind"] != "note":
        tree.add(_search_label(step) if step["kind"] == "retrieve" else _call_label(step))
    for failure in step["failures"]:
        tree.add(Text(f"failed once: {failure['type']}: {failure['message']}", style="red"))


def _search_label(step: Json) -> Text:
    queries = [str(query["text"]) for query in step["request"].get("queries", ())]
    found = [str(passage["document_id"]) for passage in step["reply"] or ()]
    asked = shortened(queries[0], 60) if queries else ""
    more = f" and {len(queries) - 1} imagined" if len(queries) > 1 else ""
    documents = ", ".join(dict.fromkeys(found)) or "nothing"
    return Text.assemble(("search ", "blue"), f"{asked}{more}", (f" → {documents}", "cyan"))


def _call_label(step: Json) -> Text:
    label = Text.assemble((f"{step['kind']} ", "magenta"))
    if step["call"]:
        label.append(_call_in_words(step["call"]), "dim")
    if step["state"] != "done":
        label.append(f" {step['state']}", "red")
    reply = step["reply"]
    if reply and reply.get("text"):
        label.append(f" {shortened(reply['text'], _LENGTH)}")
    return label


def _call_in_words(call: Json) -> str:
    cost = "price unknown" if call["cost_usd"] is None else money(float(call["cost_usd"]))
    tries = f", {call['tries']} tries" if call["tries"] > 1 else ""
    return (
        f"{call['prompt_tokens']}+{call['completion_tokens']} tokens, {call['latency_ms'] / 1000:.1f} s, {cost}{tries}"
    )


def _record_label(record: Json) -> Text:
    return _RECORDS[str(record["type"])](record)


def _refinement(record: Json) -> Text:
    names = ("relevance", "accuracy", "completeness", "clarity", "grounding")
    scores = " ".join(f"{name} {_number(record[name])}" for name in names)
    supported = {True: "supported", False: "unsupported", None: "support unknown"}[record["supported"]]
    return Text.assemble(
        (f"RefinementStep {record['iteration']} ", "green"),
        (f"confidence {_number(record['confidence'])} ({scores}, {supported}) ", "dim"),
        shortened(record["answer"], _LENGTH) or "(no answer)",
        *(f"; {shortened(issue, 60)}" for issue in record["issues"]),
    )


def _sub_answer(record: Json) -> Text:
    return Text.assemble(
        (f"SubAnswer {record['position'] + 1} ", "green"),
        f"{shortened(record['question'], 80)} → {shortened(record['answer'], 80)} ",
        (str(record["outcome"]), _style(str(record["outcome"]))),
    )


def _hypothetical_document(record: Json) -> Text:
    dropped = "" if record["kept"] else "(too short, not searched with) "
    label = f"HypotheticalDocument {record['position'] + 1} "
    return Text.assemble((label, "green"), dropped, shortened(record["text"], _LENGTH))


_RECORDS: dict[str, Callable[[Json], Text]] = {
    "refinement_step": _refinement,
    "sub_answer": _sub_answer,
    "hypothetical_document": _hypothetical_document,
}


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def _style(outcome: str) -> str:
    return OUTCOME_STYLES.get(outcome, "red")
