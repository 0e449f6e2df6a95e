"""The tables as SQLAlchemy Core sees them, for the statements of the hot path.

Those are built once, at import, and only given their parameters later. Building a statement through the mapped classes
takes a worker ten times as long as sending it.
"""

from __future__ import annotations

from typing import cast

from sqlalchemy import Table

from burnish.store.models import (
    Base,
    Collection,
    HypotheticalDocumentRow,
    LLMCall,
    Question,
    RefinementStepRow,
    Run,
    Step,
    SubAnswerRow,
)


def _table(model: type[Base]) -> Table:
    return cast("Table", model.__table__)


collections = _table(Collection)
questions = _table(Question)
runs = _table(Run)
steps = _table(Step)
llm_calls = _table(LLMCall)
refinement_steps = _table(RefinementStepRow)
sub_answers = _table(SubAnswerRow)
hypothetical_documents = _table(HypotheticalDocumentRow)
