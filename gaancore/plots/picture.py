"""Figures as files, and the colours that all of them draw with."""

from io import BytesIO
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from gaancore.errors import DataError
from gaancore.system.disk import write_whole

FORMATS = ("png", "svg")

# Okabe and Ito's, which people who do not see red or green tell apart; their yellow, faint on
# white, is grey here
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999",
)  # fmt: skip


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write `figure` as PNG to `path`, as SVG beside it, in a folder made for them; returns both.

    The same bytes for the same picture: no date, no random ids. Raises DataError if a file cannot
    be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path.parent}: cannot be made ({error.strerror})") from None
    paths = [path.with_suffix(f".{kind}") for kind in FORMATS]
    for target, kind in zip(paths, FORMATS, strict=True):
        content = BytesIO()
        with rc_context({"svg.hashsalt": "gaancore"}):
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(content, format=kind, dpi=150, metadata=metadata)
        write_whole(target, content.getvalue())
    return paths
