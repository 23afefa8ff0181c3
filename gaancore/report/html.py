"""The page as a file: data, programs, styles and the library of charts, in one piece."""

import gzip
import html
import json
from base64 import b64encode
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaancore.errors import DataError
from gaancore.system.disk import write_whole
from gaancore.system.paths import user_path

STYLES = ("style.css",)
PROGRAMS = (
    "elements.js", "charts.js", "run.js", "nodes.js", "one_node.js", "traffic.js", "compare.js",
    "start.js",
)  # fmt: skip
# what would end the element that the data are in, or a line of it
ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def expect_library() -> None:
    """Raises DataError, with what to do, if the library that draws charts is not installed."""
    if find_spec("plotly") is None:
        raise DataError(
            "report: plotly, which draws the charts of the page, is not installed; "
            "pip install 'gaancore[report]', or in the checkout pip install '.[report]'"
        )


def written(content: dict[str, Any], path: str | Path) -> Path:
    """Write the page that shows `content`. Raises DataError if the file cannot be written."""
    target = user_path(path)
    write_whole(target, page(content).encode())
    return target


def page(content: dict[str, Any]) -> str:
    """The page as text. All that comes from data is in one JSON element; nothing is fetched."""
    parts = {
        "title": html.escape(content["title"]),
        "style": "\n".join(map(_part, STYLES)),
        "data": as_json(content),
        "library": _library(),
        "program": "\n".join(map(_part, PROGRAMS)),
    }
    before, *rest = _part("page.html").split("{{")
    pieces = [before]
    for piece in rest:
        key, _, after = piece.partition("}}")
        pieces += [parts[key], after]
    return "".join(pieces)


def as_json(content: Any) -> str:
    """JSON that can stand in an element of a page, whatever texts are in it.

    >>> as_json("</script>&")
    '"\\\\u003c/script\\\\u003e\\\\u0026"'
    """
    return json.dumps(content, allow_nan=False, separators=(",", ":")).translate(ESCAPED)


def _library() -> str:
    """Plotly's program, which its package brings, packed: a third of its size."""
    program = (resources.files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    return b64encode(gzip.compress(program, mtime=0)).decode()


def _part(file: str) -> str:
    return (resources.files("gaancore.report") / "page" / file).read_text(encoding="utf-8")
