"""How seconds and memory grow: with arcs, nodes, heads, widths and threads, and with a store.

    python bench/growth.py --json growth.json --plot growth.png
    python bench/growth.py --axes arcs,heads --most 1e6
    python bench/growth.py --stores small-store large-store

`attention` is attention alone, forward and backward, over a random graph of 28 arcs a node, K = 8
heads, keys of 24 and values of 32 numbers. Beside it stand two gathers that only add up the same
rows: a plain Numba loop, and the same loop that asks for rows to come. `step` is a training step of
GaAN (two layers of 8 heads, whole graph, Adam). `draw` is a draw of 512 seeds with 25 and 10
neighbours from a mapped store, such as `gaancore synth graph` makes.

One thing changes at a time, and each point has a process of its own, so that its memory is its own:
the peak less what the process held before it made the graph. The exponent b of "grows as x^b" is a
straight line through the logarithms. Points that need more than this machine's memory are left out,
and named.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from growth_picture import plot
from timing import machine, new_file

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.progress import track

from gaancore.system import threads

ROOM = 0.75  # of the machine's memory that a point may need


@dataclass(frozen=True)
class Point:
    """What one process measures: `axis` is what changes, the other fields are the rest."""

    work: str
    axis: str
    threads: int
    arcs: int = 1_000_000
    nodes: int = 0  # 0: a node for 28 arcs
    heads: int = 8
    key_width: int = 24
    value_width: int = 32
    store: str = ""

    @property
    def num_nodes(self) -> int:
        return self.nodes or self.arcs // 28

    @property
    def megabytes(self) -> float:
        """About what it takes: for attention the inputs, the result, their gradients and packed
        copies, and for each arc its ends, their transpose and three numbers a head.
        """
        if self.work == "draw":
            return 0.0
        layers = {"attention": 1, "step": 2}[self.work]
        of_nodes = 24 * self.num_nodes * self.heads * (self.key_width + self.value_width)
        return layers * (of_nodes + self.arcs * (24 + 12 * self.heads)) / 1e6


def points(axes: list[str], stores: list[str], most: int, every: int) -> Iterator[Point]:
    """All points of the axes, in order. Each changes one thing of the same middle."""
    middle = Point("attention", "", every, arcs=min(most, 1_000_000))
    powers = [10**n for n in range(4, 10) if 10**n <= most]
    series: dict[str, list[Point]] = {
        "arcs": [replace(middle, arcs=n) for n in powers if n >= 100_000]
        + [replace(middle, work="step", arcs=n) for n in powers if n <= 1_000_000],
        "nodes": [replace(middle, nodes=middle.arcs // n) for n in (256, 64, 16, 4)],
        "heads": [replace(middle, heads=n) for n in (1, 2, 4, 8, 16)],
        "width": [replace(middle, key_width=n, value_width=n) for n in (8, 16, 32, 64, 128)],
        "threads": [replace(middle, threads=n) for n in _counts(every)],
    }
    for axis in axes:
        yield from (replace(point, axis=axis) for point in series[axis])
    for store in stores:
        yield replace(middle, work="draw", axis="store", store=store)


AXES = ("arcs", "nodes", "heads", "width", "threads")


def _counts(every: int) -> list[int]:
    """1, 2, 4, ... and all."""
    return sorted({1 << n for n in range(every.bit_length()) if 1 << n <= every} | {every})


def place(row: dict[str, Any]) -> float:
    """Where a row stands on its axis."""
    names = {"nodes": "num_nodes", "width": "value_width", "store": "arcs"}
    return float(row[names.get(row["axis"], row["axis"])])


def exponent(rows: list[dict[str, Any]], name: str) -> float:
    """b of name ~ place^b, by least squares in logarithms; NaN for fewer than two places."""
    if len({place(row) for row in rows}) < 2:
        return float("nan")
    x, y = np.log([[place(row), row[name]] for row in rows]).T
    return float(np.polyfit(x, y, 1)[0])


def measure(point: Point) -> dict[str, Any]:
    """The row of a point, from a process of its own."""
    script = Path(__file__).with_name("growth_work.py")
    command = [sys.executable, str(script), json.dumps(asdict(point))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{point}: its process ended with {done.returncode}\n{done.stderr}")
    return {**asdict(point), "num_nodes": point.num_nodes, **json.loads(done.stdout)}


UNITS = {"forward": "ns", "backward": "ns", "gather": "ns", "fetching": "ns", "seconds": "ms"}


def report(rows: list[dict[str, Any]]) -> None:
    """A table for each kind of work and axis, with its exponents."""
    for work, axis in dict.fromkeys((row["work"], row["axis"]) for row in rows):
        found = [row for row in rows if (row["work"], row["axis"]) == (work, axis)]
        names = [name for name in UNITS if name in found[0]]
        heads = [f"{n}, ns an arc" if UNITS[n] == "ns" else f"{n}, ms" for n in names]
        on = "" if axis == "threads" else f", threads: {found[0]['threads']}"
        print(f"\ngaancore, {work} by {axis}{on}")
        print(f"{axis:>12}" + "".join(f"{head:>22}" for head in heads) + f"{'MB':>10}")
        for row in found:
            per = [1e9 / row["arcs"] if UNITS[n] == "ns" else 1e3 for n in names]
            cells = (f"{row[n] * scale:>22.1f}" for n, scale in zip(names, per, strict=True))
            print(f"{place(row):>12,.0f}" + "".join(cells) + f"{row['megabytes']:>10,.0f}")
        powers = [f"{name} {exponent(found, name):.2f}" for name in [*names, "megabytes"]]
        print("exponents: " + ", ".join(powers))


def main() -> None:
    args = _arguments()
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    wanted = list(points(args.axes, args.stores, args.most, args.threads))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6
    fitting = [point for point in wanted if point.megabytes <= ROOM * memory]
    for point in wanted:
        if point not in fitting:
            print(f"left out: {point.work} with {point.arcs:,} arcs ({point.megabytes:,.0f} MB)")
    quiet = not sys.stderr.isatty()
    rows = [measure(point) for point in track(fitting, transient=True, disable=quiet)]
    report(rows)
    if args.json:
        text = json.dumps({"machine": facts, "rows": rows}, indent=1)
        args.json.write_text(text + "\n", encoding="utf-8")
    if args.plot:
        plot(rows, place, args.plot)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", type=_axes, default=list(AXES), help=f"of {','.join(AXES)} (all)")
    parser.add_argument("--most", type=lambda t: int(float(t)), default=10**7, help="arcs (1e7)")
    every = threads.get_num_threads()
    parser.add_argument("--threads", type=int, default=every, help=f"at most ({every})")
    parser.add_argument("--stores", nargs="*", default=[], metavar="STORE", help="to draw from")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--plot", type=new_file, metavar="FILE.png", help="draw the curves")
    return parser.parse_args()


def _axes(text: str) -> list[str]:
    """An empty text is no axis: stores alone."""
    wanted = [name for name in text.split(",") if name]
    if unknown := [name for name in wanted if name not in AXES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(AXES)}")
    return wanted


if __name__ == "__main__":
    main()
