"""Which data a number was measured on, and what the paper says of its own."""

from pathlib import Path
from typing import Any

from gaancore.data.paper import COUNTED, NAMES, is_whole, paper_data

COUNTS = (*COUNTED, "nodes_per_split", "edges")


def data_kind(task: str, facts: dict[str, Any]) -> str:
    """ "full" for the paper's whole data set, "part" for other real data, or "synthetic".

    facts : as in a record.
    """
    if facts["kind"] == "synthetic":
        return "synthetic"
    return "full" if task in NAMES and is_whole(task, facts) else "part"


def short_words(task: str, data: dict[str, Any]) -> str:
    """The data of a report in a few words, as in the title of a picture."""
    return {
        "full": f"the full {NAMES[task]}",
        "part": f"other real data than the full {NAMES[task]}",
        "synthetic": f"SYNTHETIC look-alike of {NAMES[task]}",
    }[data["kind"]]


def file_name(facts: dict[str, Any]) -> str:
    """The last part of the path to the data: a report names no folder of one machine."""
    return Path(facts["path"]).name if facts["path"] else "built in"


def describe(task: str, facts: dict[str, Any]) -> str:
    """The data in one sentence, which says first what its scores are worth."""
    kind, name = data_kind(task, facts), NAMES[task]
    if task == "metr-la":
        size = f"{facts['num_sensors']:,} sensors, {facts['num_steps']:,} steps"
    else:
        split = " / ".join(f"{n:,}" for n in facts["nodes_per_split"])
        size = f"{facts['num_nodes']:,} nodes, split {split}"
    return {
        "full": f"Real, full {name} (`{file_name(facts)}`: {size}).",
        "part": f"Real data, but not the paper's full {name} (`{file_name(facts)}`: {size}): "
        "a score here is a check and is not set beside the paper's.",
        "synthetic": f"SYNTHETIC look-alike of {name} ({size}): scores say nothing about {name}.",
    }[kind]


def count_table(task: str, facts: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The paper's counts beside those of the data, if there are any: quantity, paper, found."""
    paper = paper_data(task)
    found = facts | {"edges": facts["num_edges"]} if facts else {}
    return [
        {"quantity": _words(name), "paper": paper[name], "found": found.get(name)}
        for name in COUNTS
        if name in paper
    ]


def _words(name: str) -> str:
    return {
        "edges": "edges (the paper's counting; found: stored arcs)",
        "nodes_per_split": "nodes to train, validate, test",
    }.get(name, name.removeprefix("num_"))
