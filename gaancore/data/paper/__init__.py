"""What the paper says of its own data: counts, and where it prints them (one TOML file each)."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

COUNTED = ("num_nodes", "num_sensors", "num_steps", "num_features", "num_classes")


@cache
def paper_data(name: str) -> dict[str, Any]:
    """The exact counts of `ppi`, `reddit` or `metr-la`, their `place` in the paper, `printed`, the
    counts as the paper prints them, and `arcs`, the numbers of arcs that files may have."""
    file = resources.files("gaancore.data.paper") / f"{name}.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    return content["paper"] | {"arcs": content["arcs"], "printed": content["printed"]}


def is_whole(name: str, facts: dict[str, Any]) -> bool:
    """Whether data are the paper's whole set: every count is the paper's.

    facts : as a dataset's `facts()`. It may have self-loops in addition to the paper's arcs, since
    some public copies keep them.
    """
    paper = paper_data(name)
    counts = [count for count in (*COUNTED, "nodes_per_split") if count in paper]
    if any(facts.get(count) != paper[count] for count in counts):
        return False
    most_loops = paper.get("num_nodes") or paper["num_sensors"]
    return any(0 <= facts["num_edges"] - arcs <= most_loops for arcs in paper["arcs"])
