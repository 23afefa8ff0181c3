"""The pages, and what tests read from them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / "docs"
PAGES = [
    *(CHECKOUT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(DOCS.rglob("*.md")),
]
NAMES = [page.relative_to(CHECKOUT).as_posix() for page in PAGES]
TEXTS = {name: page.read_text(encoding="utf-8") for name, page in zip(NAMES, PAGES, strict=True)}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LAUNCHED = re.compile(r"^(\.venv/bin/|(mpiexec|srun)( -\S+ \S+)* )")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def prose(name: str) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", TEXTS[name])


def fenced(name: str, language: str) -> list[str]:
    """The fenced blocks of that language."""
    return [text for found, text in FENCE.findall(TEXTS[name]) if found == language]


def commands_in(text: str) -> Iterator[list[str]]:
    """The words after `gaancore` of each command that begins a line, also behind mpiexec."""
    for line in text.splitlines():
        command = LAUNCHED.sub("", line)
        if command.startswith("gaancore "):
            yield shlex.split(command, comments=True)[1:]
