"""Somebody's language model: any object with `generate`, `agenerate` or `generate_async`, or a plain function.

A model whose first parameter is named `messages` is given messages, system and user apart; any other is given one
text. `invoke` and `ainvoke` will do as well; where an object has them, a `generate` that takes many prompts, or
messages, is passed over for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from burnish.adapters.calling import Caller
from burnish.adapters.replies import MeteredReply, read_reply
from burnish.adapters.signatures import first_name, method_of, prompt_arguments, required, takes_messages
from burnish.effects import Prompt

BLOCKING_NAMES = ("generate", "invoke")
AWAITED_NAMES = ("agenerate", "generate_async", "ainvoke")


class Model:
    """A language model that is asked once at a time. Raises InvalidInput for an object that cannot be asked."""

    def __init__(self, language_model: Any) -> None:
        blocking = _suitable(language_model, BLOCKING_NAMES)
        awaited = _suitable(language_model, AWAITED_NAMES)
        plain = language_model if callable(language_model) else None
        self._blocking = required(blocking or awaited or plain, language_model, "generate")
        self._awaited = awaited or self._blocking

    async def reply(self, prompt: Prompt, caller: Caller) -> MeteredReply:
        """What it says to a prompt. Raises whatever it raises, and what `replies` does."""
        if takes_messages(self._function(caller)):
            return await self._ask("", as_messages(prompt), caller)
        return await self._ask(as_text(prompt), (), caller)

    async def reply_to_text(self, text: str, caller: Caller) -> MeteredReply:
        return await self._ask(text, [{"role": "user", "content": text}], caller)

    def _function(self, caller: Caller) -> Callable[..., Any]:
        return self._blocking if caller.blocking else self._awaited

    async def _ask(self, text: str, messages: Sequence[Mapping[str, str]], caller: Caller) -> MeteredReply:
        function = self._function(caller)
        return read_reply(await caller(function, prompt_arguments(function, text, messages)))


def as_text(prompt: Prompt) -> str:
    """A prompt for a model that takes one text: the system's part, the schema of the reply, and the user's part."""
    return "\n\n".join(filter(None, (prompt.system, _schema(prompt), prompt.user)))


def as_messages(prompt: Prompt) -> list[dict[str, str]]:
    system = "\n\n".join(filter(None, (prompt.system, _schema(prompt))))
    return [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}]


def _schema(prompt: Prompt) -> str:
    return f"Reply with one JSON object of this schema: {json.dumps(prompt.schema)}" if prompt.schema else ""


def _suitable(owner: Any, names: Sequence[str]) -> Callable[..., Any] | None:
    own, invoke = method_of(owner, names[:-1]), method_of(owner, names[-1:])
    is_other = own is not None and (first_name(own) == "prompts" or takes_messages(own))
    return invoke if invoke is not None and is_other else own or invoke
