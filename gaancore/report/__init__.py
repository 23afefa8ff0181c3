"""A page of its own about what a run has learned, and another one that compares several."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaancore.errors import SettingsError
from gaancore.report.html import expect_library, written

NODES = 200  # that can be looked at one by one
Run = Any  # an opened run, see gaancore.trained


def write(
    runs: Run | Sequence[Run], path: str | Path, *, nodes: int = NODES, seed: int = 0
) -> Path:
    """Write one HTML file that needs no network, and return its path.

    runs  : an opened run, or several of one kind to compare.
    nodes : how many nodes can be looked at one by one; also the most of each list of nodes.
    seed  : draws these nodes, and any other sample that a large graph asks for. The page says
            what is a sample.
    Raises SettingsError for no runs, runs of several kinds or fewer than 1 node, DataError if the
    library of charts is missing, a run has no weights yet, or the file cannot be written.
    """
    expect_library()
    if nodes < 1:
        raise SettingsError(f"nodes: expected 1 or more, got {nodes}")
    asked = list(runs) if isinstance(runs, Sequence) else [runs]
    families = {run.kind_of_data.family for run in asked}
    if len(families) != 1:
        what = "no run" if not asked else "runs that classify nodes and runs that forecast"
        raise SettingsError(f"runs: expected runs of one kind, got {what}; give one or more alike")
    if len(asked) > 1:
        from gaancore.report.compare import compared

        return written(compared(asked, families.pop(), nodes, seed), path)
    if families == {"nodes"}:
        from gaancore.report.nodes import of_nodes

        return written(of_nodes(asked[0], nodes, seed), path)
    from gaancore.report.traffic import of_traffic

    return written(of_traffic(asked[0], seed), path)
