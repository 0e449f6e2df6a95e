"""Documents in: texts as JSON, or a file as it is; and which collections there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool

from api.dependencies import Backing, Behind, media_type_of, read_body
from api.intake import DEFAULT_COLLECTION, read_json, read_request
from api.openapi import body_of, problems
from api.requests import DocumentRequest, DocumentsRequest
from api.schemas import CollectionList, Ingested
from burnish.errors import InvalidInput
from burnish.store.catalogue import list_collections

if TYPE_CHECKING:
    from burnish.world.documents import Document, UnreadableFile
    from burnish.world.ingestion import IngestReport

MAX_BODY_BYTES = 256_000_000

router = APIRouter(prefix="/v1", tags=["documents"])


@router.post(
    "/documents",
    response_model=Ingested,
    summary="Ingest documents",
    openapi_extra=body_of("DocumentsRequest", file=True),
    responses=problems(413, 422, 503),
)
async def ingest_documents(
    request: Request,
    behind: Behind,
    name: Annotated[str | None, Query(description="the body is a file of this name")] = None,
    collection: Annotated[str, Query(description="for a file: where it goes")] = DEFAULT_COLLECTION,
) -> Any:
    """Send texts as one JSON object; or a file (text, Markdown, HTML, PDF, DOCX, JSONL) as it is, with its `name`.

    A document takes the place of the one with its id; the same content again changes nothing. What cannot be read is
    listed under `failed`; 422 comes back where nothing could be.
    """
    if name is None:
        value = read_json(await read_body(request, MAX_BODY_BYTES))
        return await run_in_threadpool(_ingest_texts, behind, read_request(DocumentsRequest, value))
    data = await read_body(request, behind.settings.max_document_megabytes * 1_000_000)
    return await run_in_threadpool(_ingest_file, behind, collection, (name, media_type_of(request)), data)


@router.get("/collections", response_model=CollectionList, summary="List collections", responses=problems(503))
def collections(behind: Behind) -> Any:
    """Every collection, with what it holds."""
    with behind.database.begin() as connection:
        return {"collections": list_collections(connection)}


def _ingest_texts(behind: Backing, asked: DocumentsRequest) -> IngestReport:
    return _ingest(behind, asked.collection, [_document(index, each) for index, each in enumerate(asked.documents)])


def _document(index: int, value: Any) -> Document | UnreadableFile:
    from burnish.world.documents import Document, UnreadableFile

    try:
        text = read_request(DocumentRequest, value)
    except InvalidInput as error:
        return UnreadableFile(f"documents[{index}]", str(error))
    return Document(text.id, text.title or text.id, text.text, source=text.id, metadata=text.metadata)


def _ingest_file(behind: Backing, collection: str, named: tuple[str, str], data: bytes) -> IngestReport:
    from burnish.world.documents import read_bytes

    name, media_type = named
    documents = read_bytes(data, name, media_type or None, max_megabytes=behind.settings.max_document_megabytes)
    return _ingest(behind, collection, documents)


def _ingest(behind: Backing, collection: str, documents: Sequence[Document | UnreadableFile]) -> IngestReport:
    from burnish.world.documents import Document
    from burnish.world.ingestion import IngestReport, ingest

    if any(isinstance(document, Document) for document in documents):
        report = ingest(behind.database, behind.embedder(), collection, documents)
    else:  # no collection is made for nothing
        unread = [each for each in documents if not isinstance(each, Document)]
        report = IngestReport(failed=tuple((each.source, each.reason) for each in unread))
    if report.added + report.updated + report.unchanged == 0:
        raise InvalidInput(_nothing_read(report), [_failure(*each) for each in report.failed])
    return report


def _nothing_read(report: IngestReport) -> str:
    if not report.failed:
        return "there is no document in it"
    source, reason = report.failed[0]
    return f"nothing could be read; {source}: {reason}"


def _failure(source: str, reason: str) -> dict[str, Any]:
    return {"code": "unreadable_document", "source": source, "message": reason}
