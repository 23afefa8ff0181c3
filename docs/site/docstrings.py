"""How the site shows docstrings: prose as prose; equations, shapes and tables as they stand."""

import html
import re
from textwrap import dedent
from typing import Any

from griffe import Docstring, Extension, Function, Object

# A paragraph with such a line is a formula, a list of arguments or a table: its lines stay apart.
KEPT = re.compile(r"^\s|^\S+( \([^)]*\))? +: | = | -> |\S  +\S")
OWN_LINE = re.compile(r"^(Returns|Raises)\b")
EMPHASIS = re.compile(r"(?<![\w*])\*(\w+)\*(?![\w*])")


class KeepEquations(Extension):
    """Turns each docstring into Markdown, and says what an op takes once it is lifted."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring and not isinstance(obj.docstring, _Shown):
            old = obj.docstring
            obj.docstring = _Shown(as_markdown(old.value), lineno=old.lineno, parent=obj)

    def on_function(self, *, func: Function, **_: Any) -> None:
        """`@primitive` lifts a function of arrays to one of Tensors."""
        if any(str(decorator.value) == "primitive" for decorator in func.decorators):
            func.returns = "Tensor"
            for parameter in func.parameters:
                if parameter.annotation is not None:
                    parameter.annotation = re.sub(r"\bArray\b", "Tensor", str(parameter.annotation))


class _Shown(Docstring):
    """One that is Markdown already."""


def as_markdown(text: str) -> str:
    """The first paragraph is prose; another is prose unless its lines must stay apart."""
    first, *others = re.split(r"\n\s*\n", text.strip("\n"))
    return "\n\n".join([as_prose(first), *(as_verbatim(p) or as_prose(p) for p in others)])


def as_verbatim(paragraph: str) -> str:
    lines = paragraph.splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", dedent(paragraph), "```"])
    if any(KEPT.search(line) for line in lines):
        return "\n".join(["```text", *lines, "```"])
    return ""


def as_prose(paragraph: str) -> str:
    """Markdown's own signs stand for themselves, except `code` and *emphasis*."""
    text = ""
    for line in map(str.strip, paragraph.splitlines()):
        text += ("<br>\n" if text and OWN_LINE.match(line) else " ") + line
    parts = re.split(r"(`[^`]*`|<br>\n)", text.strip())
    return "".join(part if part[:1] in ("`", "<") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    pieces = EMPHASIS.split(html.escape(text, quote=False))  # every second one is a word alone
    signs = (re.sub(r"([\\*_\[\]#|])", r"\\\1", piece) for piece in pieces[::2])
    words = (f"*{word}*" for word in pieces[1::2])
    return "".join(piece for pair in zip(signs, [*words, ""], strict=True) for piece in pair)
