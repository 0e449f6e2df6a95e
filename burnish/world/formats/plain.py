from __future__ import annotations

import re
from typing import Final

from burnish.text.normalise import clean
from burnish.world.formats.content import Content, check_length
from burnish.world.formats.encoding import decode

_FRONT_MATTER: Final = re.compile(r"\A\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD: Final = re.compile(r"([A-Za-z_][\w .-]*):(?:[ \t]+(.*))?")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$|^ {0,3}(\S.*?)[ \t]*\n {0,3}=+[ \t]*$", re.MULTILINE
)


def read_plain(data: bytes, max_characters: int) -> Content:
    text, encoding = decode(data)
    check_length(len(text), max_characters)
    return Content(clean(text), metadata={} if encoding == "utf-8" else {"encoding": encoding})


def read_markdown(data: bytes, max_characters: int) -> Content:
    """Markdown as it is written; front matter goes into the metadata, where its simple `key: value` lines are read."""
    plain = read_plain(data, max_characters)
    front = _FRONT_MATTER.match(plain.text)
    fields = _fields(front[1]) if front else {}
    text = plain.text[front.end() :] if front and fields else plain.text
    return Content(text, fields.get("title") or _first_heading(text), {**plain.metadata, **fields})


def _fields(front_matter: str) -> dict[str, str]:
    """One value for each key at the start of a line; lines that follow a key (a list, say) belong to its value."""
    fields: dict[str, str] = {}
    key = ""
    for line in front_matter.splitlines():
        if found := _FIELD.fullmatch(line.rstrip()):
            key = found[1].strip()
            fields[key] = (found[2] or "").strip().strip("\"'")
        elif key and line.strip():
            fields[key] = f"{fields[key]}\n{line.strip()}".strip()
    return fields


def _first_heading(text: str) -> str | None:
    found = _HEADING.search(_FENCE.sub("", text))
    return found[found.lastindex or 1].strip() if found else None
