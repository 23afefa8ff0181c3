"""A small graph with several labels, and runs on it that take a moment.

120 nodes in six graphs of 20, a few of them isolated; each graph has nodes of all three splits, so
edges cross the splits. Labels follow from the features of a node and its neighbours.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from gaancore.data import NodeDataset
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.graph import CSRGraph
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.progress import RunInterrupt, Watcher
from gaancore.training.run_folder import RunFolder

NODES, GRAPHS, FEATURES, LABELS = 120, 6, 6, 5
WIDTHS = {
    "embed_dim": 4,
    "out_dim": 6,
    "num_heads": 2,
    "key_dim": 3,
    "value_dim": 4,
    "gate_dim": 3,
    "hidden_dim": 8,
    "batch_size": 16,
}
# What a clock or the system's memory decides, and no seed can
MEASURED = {
    "seconds",
    "peak_rss_mb",
    "rss_mb",
    "edges_per_second",
    "training_seconds",
    "waiting_share",
    "exchange_share",
    "own_rows",
    "cache_hits",
    "rows_fetched",
}


def small_arrays(seed: int = 0) -> dict[str, np.ndarray]:
    """The arrays of the npz layout."""
    rng = np.random.default_rng(seed)
    graph_id = np.repeat(np.arange(GRAPHS), NODES // GRAPHS)
    src, dst = rng.integers(NODES, size=(2, 1200))
    inside = (graph_id[src] == graph_id[dst]) & (src != dst) & (src % 19 > 0) & (dst % 19 > 0)
    src, dst = src[inside], dst[inside]
    x = rng.standard_normal((NODES, FEATURES)).astype(np.float32)
    seen = x.copy()
    np.add.at(seen, dst, x[src])
    y = (seen @ rng.standard_normal((FEATURES, LABELS)) > 0).astype(np.uint8)
    split = rng.permutation(NODES) % 5 - 2  # three fifths for training
    return {
        "edge_index": np.stack([src, dst]),
        "x": x,
        "y": y,
        "split": np.maximum(split, 0),
        "graph_id": graph_id,
    }


def write_small_npz(path: Path, **changes: np.ndarray) -> Path:
    """The graph as one file; a change gives an array another value."""
    np.savez(path, **(small_arrays() | changes))
    return path


def small_dataset(**changes: np.ndarray) -> NodeDataset:
    """The same graph without a file."""
    arrays = small_arrays() | changes
    src, dst = arrays["edge_index"]
    raw = RawDataset(
        path="small.npz",
        graph=CSRGraph.from_edges(src, dst, NODES, duplicates="keep"),
        features=arrays["x"],
        labels=arrays["y"],
        split=arrays["split"],
        node_ids=np.arange(NODES),
        graph_ids=arrays["graph_id"],
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "small.npz"),
    )
    return make_dataset(raw, name="small", multi_label=True)


def small_settings(**changes: Any) -> NodeSettings:
    return NodeSettings(**({"epochs": 3, "validate_every": 0} | WIDTHS | changes))


def small_run(
    folder: Path,
    dataset: NodeDataset | None = None,
    device: str = "cpu",
    prefetch: int = 2,
    **changes: Any,
) -> ClassifierRun:
    """A run in `folder` that is about to start."""
    settings, data = small_settings(**changes), dataset or small_dataset()
    run = ClassifierRun(settings, data, RunFolder(folder), device, prefetch=prefetch)
    run.start()
    return run


def resumed_run(
    folder: Path, dataset: NodeDataset | None = None, device: str = "cpu", **changes: Any
) -> ClassifierRun:
    """The run in `folder`, from its last saved step on."""
    settings, data = small_settings(**changes), dataset or small_dataset()
    run = ClassifierRun(settings, data, RunFolder(folder), device)
    run.resume()
    return run


def run_until(run: ClassifierRun, step: int) -> None:
    """Train to the end of `step`, save, and stop."""
    run.watcher = Watcher(stop_requested=lambda: run.progress.step >= step)
    with pytest.raises(RunInterrupt):
        run.train()


def small_options(**changes: Any) -> list[str]:
    """The same settings for the command line."""
    assignments = {"epochs": 3, "validate_every": 0} | WIDTHS | changes
    return [f"--set={name}={value}" for name, value in assignments.items()]


def contents(folder: Path) -> dict[str, Any]:
    """Everything that a run left, without what was measured: to compare two runs bit for bit."""
    found: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".safetensors":
            with safe_open(path, framework="numpy") as file:
                found[path.name] = {k: file.get_tensor(k).tobytes() for k in file.keys()}  # noqa: SIM118
                note = json.loads(file.metadata()["gaancore"])
            found[f"{path.name}: facts"] = without_measured(note["facts"])
        elif path.name == ".lock":
            assert not path.read_bytes()
        elif path.suffix == ".jsonl":
            lines = path.read_text(encoding="utf-8").splitlines()
            found[path.name] = [without_measured(json.loads(line)) for line in lines]
        elif path.suffix == ".csv":
            rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
            kept = [at for at, name in enumerate(rows[0] if rows else ()) if name not in MEASURED]
            found[path.name] = [[row[at] for at in kept] for row in rows]
        else:
            found[path.name] = without_measured(json.loads(path.read_text(encoding="utf-8")))
    return found


def without_measured(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_measured(v) for k, v in value.items() if k not in MEASURED}
    return value
