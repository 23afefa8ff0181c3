"""A small graph whose nodes have one class each, and runs on it that take a moment."""

from pathlib import Path
from typing import Any

import numpy as np
from small_run import NODES, WIDTHS, small_arrays

from gaancore.data import NodeDataset
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.graph import CSRGraph
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.nodes.settings import NodeSettings, task_settings
from gaancore.training.run_folder import RunFolder

CLASSES = 5


def small_classes(**changes: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of small_run with the position of the largest of five scores as the class."""
    arrays = small_arrays()
    src, dst = arrays["edge_index"]
    seen = arrays["x"].copy()
    np.add.at(seen, dst, arrays["x"][src])
    arrays["y"] = seen[:, :CLASSES].argmax(axis=1)
    return arrays | changes


def small_reddit(**changes: np.ndarray) -> NodeDataset:
    arrays = small_classes(**changes)
    raw = RawDataset(
        path="small.npz",
        graph=CSRGraph.from_edges(*arrays["edge_index"], NODES, duplicates="keep"),
        features=arrays["x"],
        labels=arrays["y"],
        split=arrays["split"],
        node_ids=np.arange(NODES),
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "small.npz"),
    )
    return make_dataset(raw, name="small", multi_label=False)


def small_reddit_settings(**changes: Any) -> NodeSettings:
    widths = WIDTHS | {"epochs": 3, "validate_every": 0, "fanouts": (4, 3)} | changes
    return task_settings("reddit", ("test", widths))


def small_reddit_run(
    folder: Path, dataset: NodeDataset | None = None, **changes: Any
) -> ClassifierRun:
    data = dataset or small_reddit()
    run = ClassifierRun(small_reddit_settings(**changes), data, RunFolder(folder))
    run.start()
    return run
