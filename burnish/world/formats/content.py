from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burnish.errors import UnreadableDocument


@dataclass(frozen=True)
class Content:
    """What a file says: its text, the title it gives itself (or None), and facts about it.

    Headings stand in the text as Markdown headings, list items as "- ", cells of a table row apart by " | ".
    """

    text: str
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


def check_length(characters: int, most: int) -> None:
    """Raise UnreadableDocument where a file unpacks to more text than may be taken in at once."""
    if characters > most:
        raise UnreadableDocument(
            f"it unpacks to more than {most:,} characters of text: split it into smaller files, or raise the size limit"
        )
