"""What bench/segment_ops.py found, for people: a table for each profile and place."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

Row = dict[str, Any]


def print_report(rows: Sequence[Row], roofs: Sequence[Row]) -> None:
    """Times of ours and how many times as long others take; then where ours is not the quickest."""
    console = Console(soft_wrap=True, highlight=False, markup=False, width=150)
    versions = dict.fromkeys(f"{row['library']} ({row['version']})" for row in rows)
    console.print(f"float32; {', '.join(versions)}")
    slower: list[str] = []
    for roof in roofs:
        where = place(roof)
        console.print(
            f"{where}: copy {roof['copy_gb_s']:.1f} GB/s, "
            f"product {roof['product_gflop_s']:.0f} GFLOP/s"
        )
        here = [row for row in rows if place(row) == where]
        for profile in dict.fromkeys(row["profile"] for row in here):
            found = [row for row in here if row["profile"] == profile]
            title = f"{profile}, {where}: ms (median, between quartiles); others / ours"
            console.print(_table(title, found, roof["copy_gb_s"]))
            if with_features := _cost_of_features(found):
                console.print(with_features)
            slower += [f"  {profile}, {where}, {line}" for line in _slower(found)]
    if slower:
        console.print("Quicker than ours:")
    for line in slower:
        console.print(line)


def _cost_of_features(rows: Sequence[Row]) -> str:
    """How many times as long attention of ours takes with features of edges as without them."""
    seconds = dict.fromkeys(("attention", "edge_attention"), 0.0)
    for row in rows:
        if row["library"] == "gaancore" and row["op"] in seconds:
            seconds[row["op"]] += row.get("median", float("nan"))
    if not all(seconds.values()):
        return ""
    ratio = seconds["edge_attention"] / seconds["attention"]
    return f"attention, forward and backward, with features of edges / without: {ratio:.2f}"


def place(row: Row) -> str:
    """`cpu, 2 threads` or the name of the GPU's device."""
    if row["device"] != "cpu":
        return f"{row['device']} ({row['name']})"
    return f"cpu, {row['threads']} thread{'s' if row['threads'] > 1 else ''}"


def _table(title: str, rows: Sequence[Row], copy: float) -> Table:
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("op")
    for name in ("ms", "±", "GB/s", "of copy", *libraries[1:]):
        table.add_column(name, justify="right")
    for ours, others in _side_by_side(rows):
        cells = [f"{ours['op']} {ours['direction']}", *_figures(ours, copy)]
        for name in libraries[1:]:
            cells.append(_ratio(others.get(name), ours))
        table.add_row(*cells)
    return table


def _side_by_side(rows: Sequence[Row]) -> list[tuple[Row, dict[str, Row]]]:
    """(ours, {library: its row}) of each op and direction."""
    return [
        (ours, {row["library"]: row for row in rows if _call(row) == _call(ours) and row != ours})
        for ours in rows
        if ours["library"] == "gaancore"
    ]


def _call(row: Row) -> tuple[str, str]:
    return row["op"], row["direction"]


def _figures(row: Row, copy: float) -> list[str]:
    if "median" not in row:
        return [f"wrong by {row['error']:.1e}", "", "", ""]
    speed = row["bytes"] / row["median"] / 1e9
    times = [f"{1e3 * row[name]:#.3g}".rstrip(".") for name in ("median", "spread")]
    return [*times, f"{speed:.1f}", f"{speed / copy:.0%}"]


def _ratio(other: Row | None, ours: Row) -> str:
    if other is None or "median" not in ours:
        return ""
    if "median" not in other:
        return "wrong"
    return f"{other['median'] / ours['median']:.2f}"


def _slower(rows: Sequence[Row]) -> list[str]:
    """Where another library's median or best is below ours."""
    lines = []
    for ours, others in _side_by_side(rows):
        for name, other in others.items():
            if "median" in ours and "median" in other and other["median"] < ours["median"]:
                times = f"{1e3 * other['median']:.3g} against {1e3 * ours['median']:.3g} ms"
                best = f"at best {1e3 * other['minimum']:.3g} against {1e3 * ours['minimum']:.3g}"
                lines.append(f"{ours['op']} {ours['direction']}: {name} {times} ({best})")
    return lines
