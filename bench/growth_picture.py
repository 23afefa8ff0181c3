"""A picture of what bench/growth.py measured: seconds above, memory below, axis by axis."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DECADE = 10
NAMES = {"width": "width of keys and values", "store": "arcs of a store"}


def plot(rows: Sequence[Mapping[str, Any]], place: Any, file: Path) -> None:
    """Logarithmic both ways; dotted: as many times more as there is of what changes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    series = list(dict.fromkeys((row["work"], row["axis"]) for row in rows))
    figure, panels = pyplot.subplots(
        2, len(series), figsize=(3.4 * len(series), 6), sharex="col", squeeze=False
    )
    for (work, axis), above, below in zip(series, *panels, strict=True):
        found = [row for row in rows if (row["work"], row["axis"]) == (work, axis)]
        x = [place(row) for row in found]
        for name in ("forward", "backward", "seconds", "gather", "fetching"):
            if name in found[0]:
                style = "--" if name in ("gather", "fetching") else "o-"
                above.plot(x, [row[name] for row in found], style, markersize=4, label=name)
        below.plot(x, [row["megabytes"] for row in found], "o-", color="gray", markersize=4)
        sign = -1 if axis == "threads" else 1
        top = found[0].get("backward", found[0].get("seconds"))
        above.plot(x, [top * (n / x[0]) ** sign for n in x], "k:", label="linear")
        for panel in (above, below):
            panel.set(xscale="log", yscale="log")
            least, most = panel.get_ylim()
            if most < DECADE * least:  # noise should look like noise
                middle = (least * most) ** 0.5
                panel.set_ylim(middle / DECADE**0.5, middle * DECADE**0.5)
        if axis in ("heads", "width", "threads"):
            below.set_xticks(x, [f"{n:g}" for n in x])
            below.minorticks_off()
        above.set_title(work)
        below.set_xlabel(NAMES.get(axis, axis))
        above.legend(fontsize="x-small")
    panels[0][0].set_ylabel("seconds")
    panels[1][0].set_ylabel("MB")
    figure.tight_layout()
    figure.savefig(file, dpi=70)
    pyplot.close(figure)
