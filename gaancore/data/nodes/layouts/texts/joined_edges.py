"""Edges whose ends are ids, joined with the nodes that have them."""

from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from gaancore.errors import DataError

SHOWN = 5  # ids in a message


def join_edges(
    path: Path,
    pairs: Iterable[tuple[int, tuple[str, str]]],
    rows: Mapping[str, int],
    nodes: str,
    *,
    drop: bool,
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """(E,) rows of the nodes at the two ends of each edge, and what to say about those that are
    not there.

    pairs : the line and the two ids of each edge. rows: of each id, which has no space around it.
    nodes : what has the nodes, for a message.
    drop  : whether to leave out edges that name an id no node has. Without it they are refused.
    Raises DataError that counts them and names the first ids and their line.
    """
    ends = array("q")
    unknown: dict[str, int] = {}  # id -> the first line that names it
    lacking = 0
    for line, pair in pairs:
        try:
            ends.extend([rows[end] for end in pair])
        except KeyError:
            lacking += 1
            for end in pair:
                if end not in rows:
                    unknown.setdefault(end, line)
    src, dst = np.array(np.frombuffer(ends, np.int64).reshape(-1, 2).T)
    if not unknown:
        return src, dst, ()
    some = ", ".join(f"{end[:80]!r}" for end in list(unknown)[:SHOWN])
    which = f"{lacking:,} of {lacking + src.size:,} edges name {len(unknown):,} ids that no node "
    which += f"of {nodes} has: {some}{', ...' if len(unknown) > SHOWN else ''}"
    if not drop:
        raise DataError(
            f"{path}: line {min(unknown.values())}: {which}; ids are compared as they are "
            "written: correct them, add the nodes, or choose unknown_edges: drop"
        )
    return src, dst, (f"{path.name}: {which}; these edges are dropped",)
