from __future__ import annotations

import re
from typing import Final

from burnish.text.normalise import clean
from burnish.world.formats.content import Content, check_length
from burnish.world.formats.encoding import decode

_FRONT_MATTER: Final = re.compile(r"\A\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD: Final = re.compile(r"([A-Za-z_][\w .-]*):(?:[ \t]+(.*))?")
_FENCES = ("```", "~~~")


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
    above, fence = "", ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith(fence or _FENCES):
            fence = "" if fence else line[:3]
        elif not fence and line.startswith("#") and (heading := _atx_heading(line)):
            return heading
        elif not fence and above and line and not line.strip("="):
            return above
        above = line
    return None


def _atx_heading(line: str) -> str:
    """The words of "## Heading ##"; empty for what only begins like one, as "#hashtag"."""
    words = line.split()
    if words[-1].strip("#") == "":
        words[1:] = words[1:-1]
    return " ".join(words[1:]) if words[0].strip("#") == "" and len(words[0]) <= 6 else ""
