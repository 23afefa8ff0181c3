"""Figures as files, and the colours, words and axes that all of them share."""

import math
import warnings
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from gaancore.errors import DataError
from gaancore.system.disk import write_whole

FORMATS = ("png", "svg")
LONGEST = 40  # characters of a name that a picture has room for
MOST_TICKS = 8  # on the axis of a panel

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
        with rc_context({"svg.hashsalt": "gaancore"}), warnings.catch_warnings():
            # a character that no font has is drawn as a box: nothing that a reader could mend
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(content, format=kind, dpi=150, metadata=metadata)
        write_whole(target, content.getvalue())
    return paths


def literal(name: object) -> str:
    """A name that comes from data or paths, as matplotlib shows it letter by letter.

    A `$` would begin a formula, and a control character is none that a picture can hold. A long
    name keeps its two ends.
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    return text.replace("$", r"\$")


def epoch_axis(axes: Axes, last: float) -> None:
    """An axis of epochs from 0 to `last`, whose ticks are whole epochs."""
    end = max(1, math.ceil(last))
    axes.set_xlim(-0.02 * end, 1.02 * end)
    axes.xaxis.set_major_locator(MaxNLocator(MOST_TICKS, integer=True, steps=[1, 2, 5, 10]))


def loss_axis(axes: Axes, losses: Iterable[float]) -> None:
    """A logarithmic axis for losses, labelled at a few round numbers; linear if none is above 0."""
    found = [loss for loss in losses if 0 < loss < math.inf]
    if not found:
        return
    axes.set_yscale("log")
    low, high = min(found), max(found)
    room = max(1.01, (high / low) ** 0.05)
    low, high = low / room, high * room
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator(round_numbers(low, high)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:.6g}")


def round_numbers(low: float, high: float) -> Sequence[float]:
    """From 2 to MOST_TICKS numbers between `low` and `high`, both above 0, which stand well apart
    on a logarithmic axis: 1, 2 and 5 in every power of ten; over many powers only some of these;
    within less than one, steps of one size.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits, stride in (((1, 2, 5), 1), *(((1,), stride) for stride in (1, 2, 3, 5, 10, 50))):
        powers = range(first - first % stride, last + 1, stride)
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) < 3:
            break
        if len(ticks) <= MOST_TICKS:
            return ticks
    steps = MaxNLocator(5).tick_values(low, high)
    return [float(tick) for tick in steps if low <= tick <= high]
