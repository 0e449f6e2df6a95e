"""Many questions at once: submitted as JSON or line by line, followed, read while they run, tried again, cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any, cast
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.answers import RETRYABLE
from api.dependencies import Backing, Behind, check_size, media_type_of, read_body
from api.intake import (
    DEFAULT_COLLECTION,
    DEFAULT_STRATEGY,
    Defaults,
    Intake,
    LineSplitter,
    fault,
    merged,
    read_json,
    read_request,
)
from api.openapi import body_of, lines_of, problems
from api.requests import MAX_ID_CHARACTERS, JobRequest, RetryRequest
from api.schemas import AcceptedJob, Answer, Job, JobList, RejectedLine, Retried
from burnish.results import Outcome
from burnish.store.answers import check_job, read_results
from burnish.store.progress import Progress, list_progress, read_progress, read_rejected
from burnish.store.questions import accept_batch, request_cancel, retry
from burnish.text.normalise import clean

JSON_LINES = "application/jsonl"
LINE_TYPES = (JSON_LINES, "application/x-ndjson", "application/jsonlines", "application/x-jsonlines")
MAX_BODY_BYTES = 256_000_000
REJECTED_SHOWN = 1_000
LINES_PER_BLOCK = 100
MAX_RETRY_BYTES = 10_000

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

_NAME = Query(max_length=MAX_ID_CHARACTERS, description="for JSONL: the name of the job")
_STRATEGY = Query(description="for JSONL: the strategy of lines that name none")
_COLLECTION = Query(description="for JSONL: the collection of lines that name none")
_CONFIG = Query(description="for JSONL: a JSON object of settings, over which those of a line are laid")


@router.post(
    "",
    status_code=202,
    response_model=AcceptedJob,
    summary="Submit many questions",
    openapi_extra=body_of("JobRequest", lines="QuestionRequest"),
    responses=problems(413, 422, 503),
)
async def submit(  # noqa: PLR0913, PLR0917 - the four defaults are the query of the endpoint
    request: Request,
    response: Response,
    behind: Behind,
    name: Annotated[str | None, _NAME] = None,
    strategy: Annotated[str, _STRATEGY] = DEFAULT_STRATEGY,
    collection: Annotated[str, _COLLECTION] = DEFAULT_COLLECTION,
    config: Annotated[str | None, _CONFIG] = None,
) -> Any:
    """Send one JSON object, or a question on each line (`application/jsonl`), at most 100,000 of them unless set.

    A line that cannot be used is listed under `rejected_lines` and does not hinder the others. 422 comes back where
    none can be used; then nothing is stored.
    """
    await run_in_threadpool(behind.check_broker)
    limits = await run_in_threadpool(behind.limits)
    if media_type_of(request) in LINE_TYPES:
        intake = Intake(Defaults(strategy, collection, merged(behind.strategy_defaults, _read_config(config))), limits)
        await _take_lines(request, intake)
    else:
        body = await read_body(request, MAX_BODY_BYTES)
        asked = await run_in_threadpool(lambda: read_request(JobRequest, read_json(body)))
        settings = merged(behind.strategy_defaults, asked.config or {})
        defaults = Defaults(asked.strategy or DEFAULT_STRATEGY, asked.collection or DEFAULT_COLLECTION, settings)
        intake, name = Intake(defaults, limits), asked.name
        await run_in_threadpool(_take_all, intake, asked.questions)
    job = await run_in_threadpool(_accept, behind, name, intake)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return {**_fields(job), "rejected_lines": intake.rejected[:REJECTED_SHOWN]}


@router.get("", response_model=JobList, summary="List jobs", responses=problems(503))
def list_jobs(
    behind: Behind,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[UUID | None, Query(description="the id of the last job already seen")] = None,
) -> Any:
    """The latest first."""
    with behind.database.begin() as connection:
        jobs = list_progress(connection, limit, after)
    return {"jobs": jobs, "next": jobs[-1].id if len(jobs) == limit else None}


@router.get("/{job_id}", response_model=Job, summary="See how far a job has come", responses=problems(404, 503))
def read(job_id: UUID, behind: Behind) -> Any:
    """Its status, counts and costs, at this moment."""
    with behind.database.begin() as connection:
        return read_progress(connection, job_id)


@router.get(
    "/{job_id}/results",
    response_class=StreamingResponse,
    summary="Read the answers of a job",
    responses={200: lines_of("Answer", "An answer on each line"), **problems(404, 503)},
)
def results(
    job_id: UUID,
    behind: Behind,
    outcome: Annotated[Outcome | None, Query(description="only the answers that ended so")] = None,
) -> StreamingResponse:
    """Those that have ended, in the order of submission. A job may be read while it runs."""
    with behind.database.begin() as connection:
        check_job(connection, job_id)
    answers = read_results(behind.database, job_id, outcome)
    return _stream(answer.model_dump_json() for answer in map(Answer.model_validate, answers))


@router.get(
    "/{job_id}/rejected",
    response_class=StreamingResponse,
    summary="Read the lines that could not be used",
    responses={200: lines_of("RejectedLine", "A line on each line"), **problems(404, 503)},
)
def rejected(job_id: UUID, behind: Behind) -> StreamingResponse:
    """Each with its number, its `custom_id` if it has one, and why."""
    with behind.database.begin() as connection:
        lines = read_rejected(connection, job_id)
    return _stream(RejectedLine.model_validate(line).model_dump_json(exclude_none=True) for line in lines)


@router.post(
    "/{job_id}/retry",
    status_code=202,
    response_model=Retried,
    summary="Ask again what failed",
    openapi_extra=body_of("RetryRequest", required=False),
    responses=problems(404, 503),
)
async def try_again(job_id: UUID, request: Request, behind: Behind) -> Any:
    """What was recorded before is not done twice: only what failed or is missing is done."""
    body = await read_body(request, MAX_RETRY_BYTES)
    asked = read_request(RetryRequest, read_json(body) if body.strip() else {})
    return await run_in_threadpool(_retry, behind, job_id, asked)


@router.post(
    "/{job_id}/cancel", status_code=202, response_model=Job, summary="Cancel a job", responses=problems(404, 503)
)
def cancel(job_id: UUID, behind: Behind) -> Any:
    """What is queued ends at once, what runs ends before its next step. Answers that are there stay."""
    with behind.database.begin() as connection:
        check_job(connection, job_id)
        request_cancel(connection, job_id)
        return read_progress(connection, job_id)


async def _take_lines(request: Request, intake: Intake) -> None:
    """Take each line as it comes. The work is done in a thread, so that others are served meanwhile."""
    splitter, size = LineSplitter(), 0
    async for block in _blocks(request):
        size += len(block)
        check_size(size, MAX_BODY_BYTES)
        await run_in_threadpool(_take_each, intake, splitter.feed, block)
    await run_in_threadpool(_take_each, intake, lambda _: splitter.finish(), b"")


async def _blocks(request: Request) -> AsyncIterator[bytes]:
    async for block in request.stream():
        if block:
            yield block


def _take_each(intake: Intake, split: Callable[[bytes], Iterator[tuple[int, bytes]]], block: bytes) -> None:
    for number, line in split(block):
        intake.take_bytes(number, line)


def _take_all(intake: Intake, questions: list[Any]) -> None:
    for number, value in enumerate(questions, 1):
        intake.take(number, value)


def _accept(behind: Backing, name: str | None, intake: Intake) -> Progress:
    intake.check_usable()
    with behind.database.begin() as connection:
        job_id = accept_batch(connection, clean(name) if name else None, intake.questions, intake.rejected)
        accepted = read_progress(connection, job_id)
    behind.start("batch")
    return accepted


def _retry(behind: Backing, job_id: UUID, asked: RetryRequest) -> Mapping[str, Any]:
    for outcome in asked.outcomes:
        if outcome not in RETRYABLE:
            message = f"{outcome!r} cannot be tried again: choose of {', '.join(RETRYABLE)}"
            raise fault("unknown_outcome", message)
    behind.check_broker()
    with behind.database.begin() as connection:
        check_job(connection, job_id)
        retried = retry(connection, job_id, None, asked.outcomes)
        job = read_progress(connection, job_id)
    behind.start("batch")
    return {"retried": retried, "job": job}


def _read_config(config: str | None) -> Mapping[str, Any]:
    value: Any = read_json(config.encode("utf-8", "surrogatepass")) if config else {}
    if not isinstance(value, Mapping):
        raise fault("invalid_config", "config must be a JSON object")
    return cast("Mapping[str, Any]", value)


def _fields(job: Progress) -> dict[str, Any]:
    return {**asdict(job), "status": job.status}


def _stream(lines: Iterator[str]) -> StreamingResponse:
    return StreamingResponse(_blocks_of(lines), media_type=JSON_LINES)


def _blocks_of(lines: Iterator[str]) -> Iterator[str]:
    """Many lines at a time: each piece that is sent costs a change of threads."""
    while block := list(islice(lines, LINES_PER_BLOCK)):
        yield "\n".join(block) + "\n"
