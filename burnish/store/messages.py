"""What is to be sent for work that the store has made ready, and what that kind of work is called.

Each kind of step has a task name of its own, so that a worker's task list reads as the pipeline:

    self_irag.start  self_irag.iteration   hyde.start  hyde.document (a chord's header)  hyde.gathered (its body) ...
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from burnish.strategies.registry import STRATEGY_NAMES

LANES = ("interactive", "batch")
STAGES = ("start", "subquestion", "iteration", "gathered")
CALL_NAMES = {"hypothesise": "hyde.document", "relevance": "passage.grade"}
OTHER_CALL = "model.call"
RESEND_RUN = "run.resumed"
RESEND_STEP = "step.resumed"
LABEL_LENGTH = 60


def run_task_name(strategy: str, stage: str) -> str:
    return f"{strategy}.{stage}"


def call_task_name(kind: str) -> str:
    return CALL_NAMES.get(kind, OTHER_CALL)


RUN_TASKS = (*(run_task_name(name, stage) for name in STRATEGY_NAMES for stage in STAGES), RESEND_RUN)
STEP_TASKS = (*CALL_NAMES.values(), OTHER_CALL, RESEND_STEP)


@dataclass(frozen=True)
class Message:
    """A hint that a run or a step is ready. `label` is what a person sees in a task list."""

    task_name: str
    row_id: UUID
    lane: str
    label: str


def label_of(custom_id: str, question: str) -> str:
    first_words = " ".join(question.split())[:LABEL_LENGTH]
    return f"({custom_id}: {first_words})"
