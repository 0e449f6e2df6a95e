"""What a RAG system raises on purpose, under the one root of `burnish.errors`.

    BurnishError
    └── RAGError                       message, details, code
        ├── RAGInitializationError     a part is missing, or lacks what it is needed for    (an InvalidInput too)
        ├── InvalidRAGConfig           a setting cannot be used                             (an InvalidInput too)
        ├── RAGRetrievalError          no search succeeded; .query                          (a RetrievalFailed too)
        └── VectorDBPersistenceError   the store could not be saved or loaded; .operation, .path

The messages name what was raised below by its type alone: its text, which may hold a key, is left to `__cause__`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from burnish.errors import BurnishError, InvalidInput, RetrievalFailed


class RAGError(BurnishError):
    """`details` is whatever helps to see what went wrong; `code` stays the same when messages are reworded."""

    def __init__(self, message: str, details: Any = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.code = code


class RAGInitializationError(RAGError, InvalidInput):
    def __init__(self, message: str, details: Any = None, code: str | None = "RAG_INIT_FAILED") -> None:
        RAGError.__init__(self, message, details, code)
        self.errors = ()


class InvalidRAGConfig(RAGError, InvalidInput):
    """`errors` holds a mapping for each setting that is wrong, with "code", "field" and "message"."""

    def __init__(self, message: str, errors: Iterable[Mapping[str, Any]] = ()) -> None:
        RAGError.__init__(self, message, code="RAG_CONFIG_INVALID")
        self.errors = tuple(errors)


class RAGRetrievalError(RAGError, RetrievalFailed):
    """`query` is the question that was searched for. It is not part of the message."""

    def __init__(
        self, message: str, query: str | None = None, details: Any = None, code: str | None = "RAG_RETRIEVAL_FAILED"
    ) -> None:
        RAGError.__init__(self, message, details, code)
        self.query = query


class VectorDBPersistenceError(RAGError):
    """`operation` is "save" or "load"."""

    def __init__(self, operation: str, path: str, details: Any = None) -> None:
        super().__init__(
            f"the vector database could not {operation} {path}: {details}", details, "VECTOR_DB_PERSISTENCE"
        )
        self.operation = operation
        self.path = path
