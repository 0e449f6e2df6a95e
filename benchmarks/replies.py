"""A language model that is asked nothing twice: every reply is kept in a file under a digest of its request."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from burnish.effects import Ask, Reply
from burnish.engine import request_digest
from burnish.world.language_model import LanguageModel

LANE = "interactive"


@dataclass(frozen=True)
class Recorded:
    """A reply to a prompt of this kind, and what it took when it was made."""

    kind: str
    reply: Reply
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Replies:
    """The replies of a model, read from the file or else asked for and added to it. Belongs to one event loop.

    A request that is being asked is waited for, and not asked again. What fails is not kept.
    """

    def __init__(self, path: Path, model: LanguageModel) -> None:
        self._path = path
        self._model = model
        self._kept = _read(path)
        self._asked: dict[str, asyncio.Task[Recorded]] = {}

    async def reply_to(self, request: Ask) -> Recorded:
        key = request_digest(request, self._model.options.model)
        if key in self._kept:
            return self._kept[key]
        if key not in self._asked:
            self._asked[key] = asyncio.create_task(self._ask(key, request))
        return await self._asked[key]

    async def _ask(self, key: str, request: Ask) -> Recorded:
        reply, call = await self._model.acomplete(request, LANE)
        kind, seconds = request.prompt.kind, call.latency_ms / 1000
        recorded = Recorded(kind, reply, call.prompt_tokens, call.completion_tokens, seconds)
        row = {"key": key, "asked": request.prompt.user, **asdict(recorded)}
        with self._path.open("a", encoding="utf-8") as file:
            print(json.dumps(row, ensure_ascii=False), file=file)
        return recorded


def _read(path: Path) -> dict[str, Recorded]:
    kept: dict[str, Recorded] = {}
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                with suppress(json.JSONDecodeError):  # a line that was cut as the run was killed is asked again
                    row = json.loads(line)
                    kept[row["key"]] = _recorded(row)
    return kept


def _recorded(row: dict[str, Any]) -> Recorded:
    reply = Reply(**row["reply"])
    return Recorded(row["kind"], reply, row["prompt_tokens"], row["completion_tokens"], row["seconds"])
