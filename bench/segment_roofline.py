"""A roofline: arithmetic per byte that has to move, against arithmetic done per second."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segment_report import place

LEAST, MOST = 1 / 16, 64  # operations per byte


def plot(rows: Sequence[dict[str, Any]], roofs: Sequence[dict[str, Any]], file: Path) -> None:
    """One panel for each place: ours, a colour for each op, a marker for each profile.

    Filled is forward, hollow backward. An op without arithmetic (the gradient of a maximum) has no
    place in it. Above the roof: what is gathered again was found in a cache.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        1, len(roofs), figsize=(6 * len(roofs), 5), sharey=True, squeeze=False
    )
    ours = [row for row in rows if row["library"] == "gaancore" and "median" in row]
    colours = {op: f"C{i}" for i, op in enumerate(dict.fromkeys(row["op"] for row in ours))}
    profiles = dict.fromkeys(row["profile"] for row in ours)
    markers = dict(zip(profiles, "os^Dv", strict=False))
    for panel, roof in zip(panels[0], roofs, strict=True):
        copy, product = roof["copy_gb_s"], roof["product_gflop_s"]
        panel.plot([LEAST, product / copy, MOST], [LEAST * copy, product, product], "k-")
        for row in ours:
            if place(row) == place(roof) and row["flops"]:
                colour = colours[row["op"]]
                panel.plot(
                    row["flops"] / row["bytes"],
                    row["flops"] / row["median"] / 1e9,
                    markers[row["profile"]],
                    color=colour,
                    markerfacecolor=colour if row["direction"] == "forward" else "none",
                )
        panel.set(
            xscale="log", yscale="log", xlabel="operations per byte to be moved", title=place(roof)
        )
    panels[0][0].set_ylabel("GFLOP/s")
    for op, colour in colours.items():
        panels[0][0].plot([], [], "o", color=colour, label=op)
    for profile, marker in markers.items():
        panels[0][0].plot([], [], marker, color="gray", label=profile)
    for direction, face in (("forward", "gray"), ("backward", "none")):
        panels[0][0].plot([], [], "o", color="gray", markerfacecolor=face, label=direction)
    panels[0][0].legend(fontsize="small", ncols=2)
    figure.tight_layout()
    figure.savefig(file, dpi=150)
