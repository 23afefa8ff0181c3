"""Pictures of gates and attention: a panel for each layer, heads along it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gaancore.plots.picture import COLOURS, epoch_axis, literal, save_figure
from gaancore.training.nodes.heads.of_test import CLOSED, OPEN, HeadsOfTest

BARS = "dot: median, bar: quartiles"
PAPER_NODES = 5  # in the paper's picture
FEWEST = 2.5  # heads that a panel is wide enough for
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def gate_pictures(
    heads: HeadsOfTest,
    log: Sequence[dict[str, Any]],
    out_dir: Path,
    nodes: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Draw what the best weights of a GaAN do with their heads, over whole neighbourhoods.

    gates-of-nodes    : the gates of a few test nodes, a row each, ascending by degree.
    gates-by-head     : how the gates of all test nodes are spread in each head.
    gates-in-training : mean and deviation of each head's gate at every validation; not for a run
                        whose log has none.
    attention-entropy : how evenly each head looks at a node's neighbours, 1 for all alike.

    log   : of the run, a line for each validation.
    nodes : rows of the dataset; if None, test nodes that are spread over all degrees.
    Returns plain facts: those of HeadsOfTest.facts, the `nodes` shown and the `files` written.
    Raises SettingsError for a node that is no test node, DataError if a file cannot be written.
    """
    positions = heads.positions(nodes)
    figures = {
        "gates-of-nodes": of_nodes(heads, positions),
        "gates-by-head": by_head(heads),
        "attention-entropy": entropy_by_head(heads),
    }
    if log := [line for line in log if "gates" in line]:
        figures["gates-in-training"] = in_training(heads, log)
    files = [save_figure(figure, out_dir / f"{name}.png") for name, figure in figures.items()]
    rows, degrees = heads.rows[positions].tolist(), heads.degrees[positions].tolist()
    shown = [
        {"row": row, "id": heads.dataset.node_ids[row].item(), "degree": degree}
        for row, degree in zip(rows, degrees, strict=True)
    ]
    return {
        **heads.facts(),
        "nodes": shown,
        "files": [path.name for pair in files for path in pair],
    }


def as_in_the_paper(heads: HeadsOfTest, data_words: str) -> Figure:
    """The paper's picture: the last layer's gates of five test nodes that are spread over the
    degrees, a row for each, a column for each head. data_words: which data these are, beside the
    paper's."""
    last = replace(heads, gates=heads.gates[-1:])
    figure = of_nodes(last, heads.positions(None, PAPER_NODES))
    figure.axes[0].set_title(f"layer {len(heads.gates)}; {data_words}", fontsize="small")
    figure.axes[0].set_ylabel("test node (neighbours)")  # there is room for no more
    return figure


def of_nodes(heads: HeadsOfTest, positions: np.ndarray) -> Figure:
    """The gates of a few nodes, a row for each, a column for each head."""
    figure, panels = _panels(heads.gates, height=1.6 + 0.3 * positions.size, cell=0.46)
    data = heads.dataset
    names = [
        f"{literal(data.node_ids[row])}  ({degree})"
        for row, degree in zip(heads.rows[positions], heads.degrees[positions], strict=True)
    ]
    for number, (axes, gates) in enumerate(zip(panels, heads.gates, strict=True), start=1):
        shown = gates[positions]
        image = axes.imshow(shown, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        for (i, k), gate in np.ndenumerate(shown):
            colour = "white" if gate < 0.55 else "black"
            axes.text(k, i, f"{gate:.2f}", color=colour, ha="center", va="center", fontsize=7)
        axes.set(title=f"layer {number}", xlabel="head")
        axes.set_xticks(range(gates.shape[1]), range(1, gates.shape[1] + 1))
        axes.tick_params(length=0)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylabel("test node (number of neighbours)")
    figure.colorbar(image, ax=list(panels), label="gate $g_i^k$", fraction=0.04)
    _title(figure, f"gates of {len(names)} test nodes", heads)
    return figure


def by_head(heads: HeadsOfTest) -> Figure:
    """How the gates of all test nodes are spread, head by head."""
    figure, panels = _panels(heads.gates, height=4.2, cell=0.62)
    for number, (axes, gates) in enumerate(zip(panels, heads.gates, strict=True), start=1):
        _violins(axes, gates, number)
        for border in (CLOSED, OPEN):
            axes.axhline(border, color="0.6", lw=0.8, ls=":")
    panels[0].set(ylabel="gate $g_i^k$", ylim=(-0.02, 1.02))
    _title(figure, f"gates of all {heads.rows.size:,} test nodes", heads)
    figure.supxlabel(f"{BARS}; dotted: {CLOSED} and {OPEN}", fontsize="small")
    return figure


def entropy_by_head(heads: HeadsOfTest) -> Figure:
    """How evenly each head looks at the neighbours of a node, over the nodes with two or more."""
    figure, panels = _panels(heads.entropy, height=4.2, cell=0.62)
    for number, (axes, entropy) in enumerate(zip(panels, heads.entropy, strict=True), start=1):
        _violins(axes, entropy, number)
        axes.axhline(1, color="0.6", lw=0.8, ls=":")
    panels[0].set(ylabel="attention entropy / log degree", ylim=(-0.02, 1.05))
    count = int((heads.degrees > 1).sum())
    _title(figure, f"attention of {count:,} test nodes", heads)
    figure.supxlabel(f"1: all neighbours alike, 0: one alone; {BARS}", fontsize="small")
    return figure


def in_training(heads: HeadsOfTest, log: Sequence[dict[str, Any]]) -> Figure:
    """Mean and deviation of each head's gate over the validation nodes, epoch by epoch."""
    figure = Figure(figsize=(1.5 + 3.8 * len(heads.gates), 5.6), layout="constrained")
    panels = figure.subplots(2, len(heads.gates), sharex=True, sharey="row", squeeze=False)
    epochs = [line["epoch"] for line in log]
    best = [line["epoch"] for line in log if line["best"]][-1:]  # of a log in part there is none
    for layer in range(len(heads.gates)):
        for row, name in enumerate(("mean", "std")):
            axes = panels[row, layer]
            values = np.array([line["gates"][layer][name] for line in log])
            for head, line in enumerate(values.T):
                colour, mark = (
                    COLOURS[head % len(COLOURS)],
                    MARKS[head // len(COLOURS) % len(MARKS)],
                )
                axes.plot(epochs, line, color=colour, marker=mark, ms=2.5, lw=1.2, label=head + 1)
            for epoch in best:
                axes.axvline(epoch, color="0.6", lw=0.8, ls=":")
            axes.grid(color="0.93")
        panels[0, layer].set_title(f"layer {layer + 1}")
        panels[1, layer].set_xlabel("epoch")
        epoch_axis(panels[1, layer], epochs[-1])
    panels[0, 0].set_ylabel("mean gate over validation nodes")
    panels[1, 0].set_ylabel("std over validation nodes")
    widest = max(range(len(heads.gates)), key=lambda i: heads.gates[i].shape[1])
    handles, labels = panels[0, widest].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", title="head", frameon=False)
    _title(figure, "gates in training (dotted: the weights that were kept)", heads)
    return figure


def _panels(layers: Sequence[np.ndarray], height: float, cell: float) -> tuple[Figure, np.ndarray]:
    """A figure with a panel for each layer, as wide as it has heads."""
    widths = [max(FEWEST, values.shape[1]) for values in layers]
    figure = Figure(figsize=(max(5.5, 2.2 + cell * sum(widths)), height), layout="constrained")
    panels = figure.subplots(1, len(layers), sharey=True, squeeze=False, width_ratios=widths)
    return figure, panels[0]


def _violins(axes: Axes, values: np.ndarray, layer: int) -> None:
    """Their distribution, head by head, with a bar from quartile to quartile and the median."""
    columns = [column[~np.isnan(column)] for column in values.T]
    heads = [k for k, column in enumerate(columns, start=1) if column.size]
    columns = [column for column in columns if column.size]
    if columns:
        parts: Any = axes.violinplot(columns, heads, widths=0.85, showextrema=False)
        for body in parts["bodies"]:
            body.set(facecolor=COLOURS[0], alpha=0.35)
        low, middle, high = np.array([np.quantile(c, [0.25, 0.5, 0.75]) for c in columns]).T
        axes.vlines(heads, low, high, color=COLOURS[0], lw=3)
        axes.plot(heads, middle, "o", color="white", mec=COLOURS[0], ms=5)
    axes.set_xticks(range(1, values.shape[1] + 1))
    centre, half = (values.shape[1] + 1) / 2, max(FEWEST, values.shape[1] + 0.2) / 2
    axes.set(title=f"layer {layer}", xlabel="head", xlim=(centre - half, centre + half))


def _title(figure: Figure, what: str, heads: HeadsOfTest) -> None:
    """What is shown, and of which run on which data."""
    s, data = heads.classifier.settings, heads.dataset
    path = data.path or "data from memory"
    kind = "SYNTHETIC data" if data.kind == "synthetic" else path.rpartition("/")[2]
    of_what = f"GaAN, variant {s.variant}, seed {s.seed}, {s.task}: {literal(kind)}"
    figure.suptitle(f"{what}\n{of_what}", fontsize="medium")
