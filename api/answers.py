"""One question at a time: asked, waited for, read, tried again, and its audit tree."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from api.dependencies import Backing, Behind, read_body
from api.intake import SINGLE_ID, Defaults, read_json, read_question
from api.openapi import body_of, problems
from api.schemas import Answer, Retried, Trail
from api.trails import trail_of
from burnish.store.answers import StoredAnswer, read_answer
from burnish.store.progress import read_progress
from burnish.store.questions import accept_one, retry
from burnish.store.trail import read_trail

MAX_BODY_BYTES = 2_000_000
MAX_WAIT_SECONDS = 600
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
# Succeeded needs no second try; abstained would be answered from the same recorded replies.
RETRYABLE = ("failed", "cancelled", "expired", "budget_exceeded")

router = APIRouter(prefix="/v1/answers", tags=["answers"])


@router.post(
    "",
    status_code=202,
    response_model=Answer,
    summary="Ask one question",
    openapi_extra=body_of("QuestionRequest"),
    responses={200: {"model": Answer, "description": "It ended within the time of `Prefer: wait`"}, **problems(503)},
)
async def ask(
    request: Request,
    response: Response,
    behind: Behind,
    prefer: Annotated[str | None, Header(description="`wait=<seconds>`, at most 600, to wait for the answer")] = None,
) -> Any:
    """The question is queued before those of jobs. Its answer will stand at the `Location` that comes back."""
    value = read_json(await read_body(request, MAX_BODY_BYTES))
    answer = await run_in_threadpool(_accept, behind, value)
    response.headers["Location"] = f"/v1/answers/{answer.id}"
    seconds = wait_wanted(prefer)
    if seconds:
        response.headers["Preference-Applied"] = f"wait={seconds}"
        answer = await _wait(behind, request, answer, seconds)
        response.status_code = 200 if answer.state == "ended" else 202
    return answer


@router.get("/{answer_id}", response_model=Answer, summary="Read an answer", responses=problems(404, 503))
def read(answer_id: UUID, behind: Behind) -> Any:
    """The answer, or how its question stands."""
    with behind.database.begin() as connection:
        return read_answer(connection, answer_id)


@router.get("/{answer_id}/steps", response_model=Trail, summary="Read the audit tree", responses=problems(404, 503))
def steps(
    answer_id: UUID,
    behind: Behind,
    full: Annotated[bool, Query(description="every prompt, reply and passage uncut")] = False,
) -> Any:
    """Every step of every run, in order: what was asked and replied, what it cost, what came of it."""
    with behind.database.begin() as connection:
        answer, run = read_answer(connection, answer_id), read_trail(connection, answer_id)
    return {"answer": answer, "run": trail_of(run, full=full) if run else None}


@router.post(
    "/{answer_id}/retry",
    status_code=202,
    response_model=Retried,
    summary="Ask again a question that failed",
    responses=problems(404, 409, 503),
)
def try_again(answer_id: UUID, behind: Behind) -> Any:
    """What was recorded before is not done twice: only what failed or is missing is done."""
    behind.check_broker()
    with behind.database.begin() as connection:
        answer = read_answer(connection, answer_id)
        if not retry(connection, None, answer_id, RETRYABLE):
            raise HTTPException(409, _why_not_again(answer))
    behind.start("batch" if answer.job_id else "interactive")
    if answer.job_id is None:
        return {"retried": 1, "job": None}
    with behind.database.begin() as connection:
        return {"retried": 1, "job": read_progress(connection, answer.job_id)}


def wait_wanted(prefer: str | None) -> int:
    """The seconds that a Prefer header asks to wait, at most 600; 0 where it asks for none (RFC 7240)."""
    for preference in (prefer or "").split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        seconds = value.strip().strip('"')
        if name.strip().lower() == "wait" and seconds.isascii() and seconds.isdigit() and len(seconds) < 10:
            return min(int(seconds), MAX_WAIT_SECONDS)
    return 0


def _accept(behind: Backing, value: Any) -> StoredAnswer:
    behind.check_broker()
    question = read_question(value, SINGLE_ID, Defaults(config=behind.strategy_defaults), behind.limits())
    with behind.database.begin() as connection:
        answer = read_answer(connection, accept_one(connection, question))
    behind.start("interactive")
    return answer


async def _wait(behind: Backing, request: Request, answer: StoredAnswer, seconds: int) -> StoredAnswer:
    """The answer when it has ended, or as it stands when the time is up or nobody listens any more.

    Neither a thread nor a connection is held while it waits.
    """
    until, pause = time.monotonic() + seconds, FIRST_PAUSE_SECONDS
    while (left := until - time.monotonic()) > 0 and answer.state != "ended":
        await asyncio.sleep(min(pause, left))
        answer = await run_in_threadpool(_latest, behind, answer)
        if await request.is_disconnected():
            break
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
    return answer


def _latest(behind: Backing, answer: StoredAnswer) -> StoredAnswer:
    try:
        with behind.database.begin() as connection:
            return read_answer(connection, answer.id)
    except SQLAlchemyError:
        return answer  # its question is accepted, whatever becomes of the database now


def _why_not_again(answer: StoredAnswer) -> str:
    if answer.outcome is None:
        return f"the question is {answer.state}: it can be tried again when it has ended"
    return f"the question ended as {answer.outcome}: only {', '.join(RETRYABLE)} can be tried again"
