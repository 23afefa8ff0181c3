"""Draw the pictures of the reading course: python docs/pictures/draw.py [folder]

All numbers in them come from the package itself. The same bytes each time, for one version of
Matplotlib.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from gaancore.graph import Block, CSRGraph, sample_blocks
from gaancore.nn import PaperGate
from gaancore.nn.gate import Gate
from gaancore.ops import add, multiply, scale_heads
from gaancore.plots.picture import COLOURS
from gaancore.tensor import Tensor

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, GREY = COLOURS
MONO = {"family": "DejaVu Sans Mono", "fontsize": 9}
SMALL = {"fontsize": 9, "color": "0.3"}


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure without axes, whose coordinates are inches."""
    figure = Figure((width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(axes: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A rounded box around the middle (x, y)."""
    corner = (x - width / 2, y - height / 2)
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, fc="white", ec=colour))


def arrow(axes: Axes, start: tuple[float, float], stop: tuple[float, float], colour: str) -> None:
    style = {"arrowstyle": "-|>", "mutation_scale": 10, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, stop, color=colour, lw=1.3, **style))


# ---- the tape -----------------------------------------------------------------------------------


def tape() -> Figure:
    """y = a b, z = y + a: what each node keeps, and what the reverse walk sends back."""
    a, b = (Tensor(np.array(value), requires_grad=True) for value in (2.0, 3.0))
    y = multiply(a, b)
    z = add(y, a)
    to_y, z_to_a = z._node.backward(np.array(1.0))
    y_to_a, to_b = y._node.backward(to_y)
    z.backward()
    assert a.grad == z_to_a + y_to_a
    assert b.grad == to_b

    figure, axes = canvas(8.4, 4.0)
    middles = {"a": (0.95, 2.75), "b": (0.95, 1.0), "y": (3.75, 1.0), "z": (7.0, 2.75)}
    boxes = {
        "a": ("a", a, "leaf", BLUE, 1.3),
        "b": ("b", b, "leaf", BLUE, 1.3),
        "y": ("y = multiply(a, b)", y, "grad → (grad * b, grad * a)", BLACK, 2.3),
        "z": ("z = add(y, a)", z, "grad → (grad, grad)", BLACK, 2.1),
    }
    for number, (name, (title, tensor, closure, colour, width)) in enumerate(boxes.items()):
        x, height = middles[name]
        box(axes, x, height, width, 1.0, colour)
        axes.text(x, height + 0.27, title, ha="center", va="center", weight="bold")
        axes.text(x, height - 0.02, f"{tensor.data:g}", ha="center", va="center", color=BLUE)
        axes.text(x, height - 0.31, closure, ha="center", va="center", **MONO | {"fontsize": 8})
        label = height - 0.68 if name == "y" else height + 0.58
        axes.text(x - width / 2, label, f"node {number}", **SMALL)
    pieces = [
        ((6.65, 2.25), (4.9, 1.2), f"{to_y:g}", (6.0, 1.55)),
        ((5.95, 2.68), (1.6, 2.68), f"{z_to_a:g}", (3.75, 2.45)),
        ((2.9, 1.5), (1.6, 2.4), f"{y_to_a:g}", (2.05, 1.8)),
        ((2.6, 0.9), (1.6, 0.9), f"{to_b:g}", (2.1, 0.68)),
    ]
    values = [
        ((4.4, 1.5), (5.95, 2.4)),
        ((1.6, 2.85), (5.95, 2.85)),
        ((1.6, 2.6), (3.2, 1.5)),
        ((1.6, 1.1), (2.6, 1.1)),
    ]
    for start, stop in values:
        arrow(axes, start, stop, BLUE)
    for start, stop, text, place in pieces:
        arrow(axes, start, stop, RED)
        axes.text(*place, text, ha="center", va="center", color=RED, weight="bold")
    axes.text(0.95, 3.72, f"a.grad = {z_to_a:g} + {y_to_a:g} = {a.grad:g}", ha="center", color=RED)
    axes.text(0.95, 0.22, f"b.grad = {b.grad:g}", ha="center", color=RED)
    axes.text(7.0, 3.72, "z.backward() starts with 1", ha="center", color=RED)
    axes.text(8.25, 0.5, "forward: values", ha="right", color=BLUE)
    axes.text(8.25, 0.22, "backward: gradients, node 3 first", ha="right", color=RED)
    return figure


# ---- a block ------------------------------------------------------------------------------------


def ring() -> CSRGraph:
    """Chapter 6's: 100 nodes and their 10 nearest neighbours."""
    nodes = np.arange(100)
    src = np.concatenate([(nodes + k) % 100 for k in range(1, 6)])
    return CSRGraph.from_edges(src, np.tile(nodes, 5), 100, duplicates="merge").undirected()


def block() -> Figure:
    """The inner block of chapter 6: three destinations, which are the first three sources."""
    inner: Block = sample_blocks(ring(), [10, 11, 50], [4, 4], seed=0)[1]
    figure, axes = canvas(8.4, 4.2)
    colours = (BLUE, RED, GREEN)
    left, step = 1.65, 0.47
    below = [(left + step * j, 2.1) for j in range(inner.num_src)]
    above = [(left + step * j, 3.6) for j in range(inner.num_dst)]
    for i in range(inner.num_dst):
        for j in inner.indices[inner.indptr[i] : inner.indptr[i + 1]]:
            (x0, y0), (x1, y1) = below[j], above[i]
            arrow(axes, (x0, y0 + 0.19), (x1, y1 - 0.2), colours[i])
    for row, places in (("dst", above), ("src", below)):
        for j, (x, y) in enumerate(places):
            colour = colours[j] if j < inner.num_dst else BLACK
            axes.add_patch(Rectangle((x - 0.19, y - 0.19), 0.38, 0.38, fc="white", ec=colour))
            axes.text(x, y, str(inner.src_ids[j]), ha="center", va="center", fontsize=9)
            number_y = y + 0.32 if row == "dst" else y - 0.34
            axes.text(x, number_y, str(j), ha="center", va="center", **SMALL)
    axes.text(0.15, 3.6, "destinations", va="center")
    axes.text(0.15, 2.1, "sources", va="center")
    axes.text(left + 3 * step, 3.84, "in the boxes: nodes of the graph", **SMALL)
    axes.text(left + 3 * step, 3.6, "outside: rows of the block", **SMALL)
    bracket_y = 1.55
    last = left + (inner.num_dst - 1) * step
    axes.plot([left - 0.19, last + 0.19], [bracket_y] * 2, color="0.3", lw=1)
    axes.text((left + last) / 2, 1.35, "the destinations again", ha="center", **SMALL)
    axes.plot([last + 0.28, below[-1][0] + 0.19], [bracket_y] * 2, color="0.3", lw=1)
    axes.text((last + below[-1][0]) / 2, 1.35, "new nodes, in the order met", ha="center", **SMALL)
    axes.text(0.15, 0.85, "indices", va="center", **MONO)
    for e, j in enumerate(inner.indices):
        i = int(np.searchsorted(inner.indptr, e, side="right")) - 1
        axes.add_patch(Rectangle((left - 0.19 + step * e, 0.67), step, 0.36, fc="white", ec="0.6"))
        where = (left + step * (e + 0.09), 0.85)
        axes.text(*where, str(j), ha="center", va="center", color=colours[i])
    axes.text(0.15, 0.3, "indptr", va="center", **MONO)
    for e in inner.indptr:
        x = left - 0.19 + step * e
        axes.plot([x, x], [0.48, 1.1], color=BLACK, lw=2)
        axes.text(x, 0.3, str(e), ha="center", va="center")
    return figure


# ---- the gate -----------------------------------------------------------------------------------


def rounded(tensor: Tensor, digits: int) -> np.ndarray:
    """The first row; 0 and not -0."""
    return np.round(tensor.data[0].astype(np.float64), digits) + 0.0


def gate() -> Figure:
    """What flows into the gate of one node, the sigmoid, and what the gate does to three heads."""
    rng = np.random.default_rng(3)
    dim, heads = 5, 3
    star = Block([0, 4], [1, 2, 3, 4], num_src=5)  # node 0 with four neighbours
    opener: Gate = PaperGate(dim, dim, 6, heads, rng)
    z = Tensor(2 * rng.standard_normal((5, dim)).astype(np.float32))
    x = Tensor(z.data[:1])
    pooled = opener.pooled(z, star)
    gates = opener(x, z, star)
    sums = Tensor(rng.standard_normal((1, heads, 4)).astype(np.float32))
    # rounded, so that the last bits of a processor's sums do not change the file
    logits, opened = rounded(opener.logits(x, pooled), 2), rounded(gates, 2)
    before, after = rounded(sums, 2), rounded(scale_heads(sums, gates), 2)

    figure = Figure((8.4, 3.6))
    inputs = {
        "$x_i$": rounded(x, 1),
        "$\\mathrm{max}_j\\, FC_m(z_j)$": rounded(pooled[0], 1),
        "$\\mathrm{mean}_j\\, z_j$": rounded(pooled[1], 1),
    }
    axes = figure.add_axes((0.015, 0.16, 0.27, 0.62))
    for row, (name, vector) in enumerate(inputs.items()):
        axes.text(0, row - 0.11, name)
        for column, value in enumerate(vector):
            axes.add_patch(
                Rectangle((column, row), 1, 0.5, fc=colormaps["cividis"](value / 8 + 0.5))
            )
            colour = "white" if value < 0.5 else "black"
            place = (column + 0.5, row + 0.25)
            axes.text(*place, f"{value:.1f}", ha="center", va="center", fontsize=8, color=colour)
    axes.set(xlim=(0, 6), ylim=(2.65, -0.55))
    axes.axis("off")

    curve = figure.add_axes((0.385, 0.16, 0.235, 0.62))
    steps = np.linspace(-6, 6, 121)
    curve.plot(steps, 1 / (1 + np.exp(-steps)), color="0.6", lw=1.5)
    for k, (logit, number) in enumerate(zip(logits, opened, strict=True)):
        curve.plot([logit, logit, -6], [0, number, number], color=COLOURS[k], lw=1, ls=":")
        curve.plot([logit], [number], "o", color=COLOURS[k])
        curve.text(-5.8, number + 0.02, f"{number:.2f}", color=COLOURS[k], fontsize=9)
    curve.set(xlim=(-6, 6), ylim=(0, 1.02), xlabel="$FC_g(x_i$ ++ max ++ mean$)_k$")
    curve.set_ylabel("gate $g_i^k$")
    curve.spines[["top", "right"]].set_visible(False)

    bars = figure.add_axes((0.71, 0.16, 0.28, 0.62))
    places = np.arange(4)
    for k in range(heads):
        bars.bar(5 * k + places, before[k], color="0.88", width=0.9)
        bars.bar(5 * k + places, after[k], color=COLOURS[k], width=0.9)
    bars.axhline(0, color="0.3", lw=0.8)
    bars.set_xticks([5 * k + 1.5 for k in range(heads)], [f"head {k + 1}" for k in range(heads)])
    bars.tick_params(axis="x", length=0)
    bars.spines[["top", "right", "bottom"]].set_visible(False)
    for x_place, title in (
        (0.015, "what flows in"),
        (0.345, "one number for each head"),
        (0.68, "the heads before (grey) and after"),
    ):
        figure.text(x_place, 0.9, title, weight="bold")
    return figure


PICTURES = {"tape": tape, "block": block, "gate": gate}


def draw(folder: Path) -> list[Path]:
    """Write every picture as SVG into `folder`; returns the files."""
    paths = []
    for name, picture in PICTURES.items():
        paths.append(folder / f"{name}.svg")
        with rc_context({"svg.hashsalt": "gaancore"}):
            picture().savefig(paths[-1], format="svg", metadata={"Date": None})
    return paths


if __name__ == "__main__":
    for path in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent):
        print(path)
