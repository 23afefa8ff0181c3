"""The paper's Table 1 and its data sets as reports: no run is needed for either."""

from typing import Any

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.paper import paper_data
from gaancore.reproduce.data_facts import count_table, data_kind, describe, file_name
from gaancore.reproduce.sampling import PAPER_SIZES, sampled_sizes
from gaancore.reproduce.tables import TABLES
from gaancore.train.run_folder import describe_data

FANOUTS, NUM_SEEDS, REPEATS = (15, 15, 15), 512, 10  # Table 1


def sampling_report(task: str, dataset: NodeDataset) -> dict[str, Any]:
    """|B_l| on the whole graph, means over the paper's ten draws."""
    data = describe_data(dataset)
    sizes = [
        sampled_sizes(
            dataset.graph, FANOUTS, num_seeds=NUM_SEEDS, repeats=REPEATS, seed=0, merge=merge
        )
        for merge in (False, True)
    ]
    kind = data_kind(task, data)
    return {
        "table": "sampling",
        "title": TABLES["sampling"][0],
        "task": task,
        "data": {
            "kind": kind,
            "words": describe(task, data),
            "file": file_name(data),
            "checksum": data["checksum"],
        },
        "changed": [],
        "beside": task == "reddit" and kind == "full",
        "rows": [
            {
                "name": "merged" if size.merge else "not merged",
                "nodes": list(size.nodes),
                "edges": size.edges,
                "place": "Table 1",
                "paper": [NUM_SEEDS, *PAPER_SIZES[size.merge]],
            }
            for size in sizes
        ],
        "missing": [],
    }


def datasets_report(found: dict[str, dict[str, Any] | None]) -> dict[str, Any]:
    """The paper's counts beside those of data.

    found : task -> the data part of a record, or None where there are no data.
    """
    return {
        "table": "datasets",
        "title": TABLES["datasets"][0],
        "counts": [_part(task, facts) for task, facts in found.items()],
    }


def _part(task: str, facts: dict[str, Any] | None) -> dict[str, Any]:
    place = paper_data(task)["place"]
    return {
        "task": task,
        "place": place,
        "kind": data_kind(task, facts) if facts else None,
        "words": describe(task, facts) if facts else "No data were found.",
        "rows": count_table(task, facts),
    }
