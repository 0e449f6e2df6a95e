"""HyDE: imagine passages that would answer, retrieve what resembles them, answer from what was really found.

Gao, Ma, Lin, Callan: Precise Zero-Shot Dense Retrieval without Relevance Labels, 2022, section 3. Mode "mean" is the
paper's: one search with the average of all vectors. Mode "per_document" searches with each and merges the rankings.
Rankings of different query vectors are merged by rank, since their scores cannot be compared.
"""

from __future__ import annotations

from burnish.config import StrategyConfig
from burnish.effects import Strategy, retrieve
from burnish.strategies.evidence import answer_from, distinct, grade
from burnish.strategies.imagining import imagined_search


def hyde(question: str, config: StrategyConfig) -> Strategy:
    """Imagine N passages at once, retrieve real ones with them, and answer from the real ones alone.

    Takes N calls where nothing is found and N + 1 for an answer, one more if that cannot be read; one retrieval.
    """
    request, imagined = yield from imagined_search(question, config, config.hyde.max_final_docs)
    passages = distinct((yield from retrieve(request)))
    if config.search.grade_passages:
        passages = yield from grade(question, passages, config.search)
    trace = {
        "hypothetical_documents": imagined,
        "num_retrieved": len(passages),
        "num_ranked": min(len(passages), config.search.max_passages),
    }
    return (yield from answer_from(question, passages, config, trace))
