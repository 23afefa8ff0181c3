"""A picture of what bench/scale.py predicts: seconds of an epoch by the number of machines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TITLES = {"strong": "the same batch", "weak": "a batch for each machine"}


def plot(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """A panel for each kind of scaling, a line for each network, and one without any loss."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    scalings = list(dict.fromkeys(row["scaling"] for row in rows))
    figure, panels = pyplot.subplots(
        1, len(scalings), figsize=(5 * len(scalings), 4), sharey=True, squeeze=False
    )
    for panel, scaling in zip(panels[0], scalings, strict=True):
        found = [row for row in rows if row["scaling"] == scaling]
        machines = [row["machines"] for row in found]
        networks = list(found[0]["seconds_per_epoch"])
        for network in networks:
            seconds = [row["seconds_per_epoch"][network] for row in found]
            panel.plot(machines, seconds, "o-", markersize=4, label=f"{network} Gb/s")
        alone = found[0]["seconds_per_epoch"][networks[-1]]
        panel.plot(machines, [alone / count for count in machines], "k:", label="without loss")
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(machines, [str(count) for count in machines])
        panel.set(xlabel="machines", title=f"predicted: {TITLES[scaling]}")
    panels[0][0].set_ylabel("seconds of an epoch")
    panels[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(file)
    pyplot.close(figure)
