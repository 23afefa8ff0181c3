"""What bench/scale.py found, for people."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

GOAL = 0.15  # how far a prediction may be from what is measured


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> Iterator[str]:
    """Lines of a table, for a terminal or for docs."""
    if markdown:
        yield from ("| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns)))
        yield from ("| " + " | ".join(row) + " |" for row in rows)
        return
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))


def of_work(work: Mapping[int, np.ndarray], markdown: bool) -> Iterator[str]:
    """What shares have to do, by their number. work: of each, (steps, shares, 3)."""
    columns = ["shares", "edges", "nodes whose features it reads"]
    means = {
        shares: of_steps[:, :, :2].sum(axis=1).mean(axis=0) for shares, of_steps in work.items()
    }
    rows = [[str(shares), *map(_count, found)] for shares, found in means.items()]
    return table(columns, rows, markdown)


def of_run(found: Mapping[str, Any], args: argparse.Namespace) -> Iterator[str]:
    """What was measured, the model, its check, and what it predicts."""
    yield "\nMeasured: a step, a rank's mean; ms and MB"
    columns = ["ranks", "shares", "step", "sample", "gather", "learn", "rest", "talk", "waiting"]
    columns += ["sent", "received", "edges", "nodes", "model", "error"]
    times = ("step", "sample", "gather", "learn", "rest", "talk", "waiting")
    rows = [
        [str(row["ranks"]), str(row["shares"])]
        + [f"{row[name] * 1e3:.2f}" for name in times]
        + [f"{row[name] / 1e6:.2f}" for name in ("sent", "received")]
        + [_count(row[name]) for name in ("edges", "nodes")]
        + [f"{row['predicted'] * 1e3:.2f}", f"{row['error']:+.1%}"]
        for row in found["rows"]
    ]
    yield from table(columns, rows, args.markdown)
    yield from found["notes"]
    yield ""
    yield _of_model(found["model"])
    yield _of_check(found["rows"], args)
    yield (
        f"\nPredicted, not measured: a machine is a rank of {_words(args.threads, 'thread')} as "
        f"here; a wire adds {args.latency:g} us to a round of messages. Seconds of an epoch"
    )
    for scaling, words in WORDS.items():
        rows = [row for row in found["predicted"] if row["scaling"] == scaling]
        if rows:
            yield f"\n{words}"
            cells = [_cells(row, rows[0], _in_parts(rows)) for row in rows]
            yield from table(_columns(rows), cells, args.markdown)
            yield from _limits(rows) if scaling == "strong" else ()


WORDS = {
    "strong": "Strong scaling: the same batch, with a share for each machine",
    "weak": "Weak scaling: a batch for each machine; its steps are others, so is what it learns",
}


def _of_model(model: Mapping[str, Any]) -> str:
    latency, per_byte = model["network"]
    network = "a rank alone has nobody to talk to"
    if latency or per_byte:
        speed = f"{1e-9 / per_byte:.1f} GB/s" if per_byte else "any number of bytes a second"
        network = f"{latency * 1e6:.0f} us for a round of messages, {speed}"
    return (
        f"Model: {model['per_share'] * 1e3:.2f} ms for a share, {model['per_edge'] * 1e6:.2f} us "
        f"for an edge, {model['per_node'] * 1e6:.2f} us for a node it reads; "
        f"{model['rest'] * 1e3:.2f} ms for the rest of a step; {network}"
    )


def _of_check(rows: Sequence[Mapping[str, Any]], args: argparse.Namespace) -> str:
    of_held_out = f"{name_of(*args.held_out)}, which it was not fitted to"
    row = next((row for row in rows if not row["fitted"]), None)
    if row is None:
        return f"Check: {of_held_out}: left out, so nothing was checked"
    verdict = "within" if abs(row["error"]) <= GOAL else "NOT within"
    return (
        f"Check: {of_held_out}: measured {row['step']:.3f} s a step, predicted "
        f"{row['predicted']:.3f} s, {row['error']:+.1%}: {verdict} {GOAL:.0%}"
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    networks = rows[0]["seconds_per_epoch"]
    return [
        *("machines", "seeds", "steps", "edges", "nodes", "MB sent"),
        *(["cache hits"] if _in_parts(rows) else []),
        *(f"{gigabits} Gb/s" for gigabits in networks),
        *(f"speedup {gigabits}" for gigabits in networks),
    ]


def _in_parts(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether machines read rows of each other."""
    return any(row["hits"] is not None for row in rows)


def _cells(row: Mapping[str, Any], alone: Mapping[str, Any], in_parts: bool) -> list[str]:
    epochs = row["seconds_per_epoch"]
    hits = "" if row["hits"] is None else f"{row['hits']:.0%}"
    return [
        *(str(row["machines"]), f"{row['seeds']:,}", f"{row['steps_per_epoch']:.1f}"),
        *(_count(row["edges"]), _count(row["nodes"]), f"{row['bytes'] / 1e6:.2f}"),
        *([hits] if in_parts else []),
        *(f"{seconds:.2f}" for seconds in epochs.values()),
        *(f"{alone['seconds_per_epoch'][network] / epochs[network]:.1f}" for network in epochs),
    ]


def _limits(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why it does not go on: what is computed more than once, and where more machines cost time."""
    alone, most = rows[0], rows[-1]
    yield (
        f"{most['machines']} shares of {most['seeds']} seeds go over "
        f"{most['edges'] / alone['edges']:.1f} times the edges of one share and read "
        f"{most['nodes'] / alone['nodes']:.1f} times the nodes: what several reach, each computes"
    )
    for network in alone["seconds_per_epoch"]:
        best = min(rows, key=lambda row: row["seconds_per_epoch"][network])
        if best is not most:
            yield (
                f"{network} Gb/s: quickest on {best['machines']} machines; more of them talk for "
                "longer than they save"
            )


def name_of(ranks: int, shares: int) -> str:
    """Of a pair, for people."""
    return f"{_words(ranks, 'rank')}, {_words(shares, 'share')}"


def _words(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _count(number: float) -> str:
    """Three digits of it."""
    return f"{float(f'{number:.3g}'):,.0f}"
