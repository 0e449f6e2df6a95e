"""Everything burnish raises on purpose.

    BurnishError
    ├── InvalidInput             (a ValueError too) what the caller sent cannot be used; the message says what to change
    │   ├── UnreadableDocument   a file that is damaged, encrypted or of an unknown kind
    │   └── DimensionMismatch    vectors of another length than the collection holds
    ├── NotFound                 no such question, batch, collection or document
    ├── Unavailable              a server burnish needs does not answer
    ├── EffectFailed             an effect that a strategy asked for could not be performed
    │   ├── LanguageModelFailed
    │   │   ├── LanguageModelUnavailable   retryable: refused, timed out, overloaded, rate-limited
    │   │   ├── LanguageModelRefused       bad request, bad key, too long a prompt, unknown model
    │   │   └── ReplyUnreadable            it replied, twice, and neither reply could be read
    │   ├── RetrievalFailed                retryable: the search itself broke (nothing found is no failure)
    │   │   └── UnknownShape               what a retriever gave cannot be read as passages
    │   └── AttemptsExhausted              a step that took down every worker that tried it
    ├── BudgetExceeded           a question reached its cap on calls or cost
    ├── LocalServerFailed        an embedded server or model did not start
    └── RAGSystemError           a question that one of the classes (SelfIRAG, ...) was to raise for: `raise_on_error`
        ├── LLMCallError               the language model did not answer, or not with a text
        └── RetrievalError             the retriever broke, or what it gave cannot be read

`retryable` says whether the same request may succeed later with nothing changed. Messages of `EffectFailed` are
written for the audit trail: they hold no prompt, no key and no provider's raw text. Those of `RAGSystemError` go to the
caller alone and end with what the caller's own object said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar


class BurnishError(Exception):
    """The root: catch it to catch everything that burnish raises on purpose."""

    retryable: ClassVar[bool] = False


class InvalidInput(BurnishError, ValueError):
    """`errors` says what is wrong where several things may be: one mapping each, with at least "code" and "message"."""

    def __init__(self, message: str = "", errors: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.errors = tuple(errors)


class UnreadableDocument(InvalidInput):
    pass


class DimensionMismatch(InvalidInput):
    pass


class NotFound(BurnishError):
    pass


class Unavailable(BurnishError):
    retryable = True


class EffectFailed(BurnishError):
    pass


class LanguageModelFailed(EffectFailed):
    """`tries`: how often the call was sent."""

    tries: int = 1


class LanguageModelUnavailable(LanguageModelFailed):
    retryable = True


class LanguageModelRefused(LanguageModelFailed):
    pass


class ReplyUnreadable(LanguageModelFailed):
    pass


class RetrievalFailed(EffectFailed):
    retryable = True


class UnknownShape(RetrievalFailed):
    retryable = False


class AttemptsExhausted(EffectFailed):
    pass


class BudgetExceeded(BurnishError):
    pass


class LocalServerFailed(BurnishError):
    pass


class RAGSystemError(BurnishError):
    pass


class LLMCallError(RAGSystemError):
    pass


class RetrievalError(RAGSystemError):
    pass
