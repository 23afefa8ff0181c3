"""A small graph as a store, and cut into parts."""

from pathlib import Path
from typing import Any

import numpy as np

from gaancore.choices import Reading
from gaancore.data import NodeDataset, open_store
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store
from gaancore.data.parts.cut import write_parts


def write_whole(folder: Path, arrays: dict[str, np.ndarray], **options: Any) -> NodeDataset:
    np.savez(folder.with_name(f"{folder.name}.npz"), **arrays)
    reading = Reading(edge_features="auto")
    raw = read_layout(folder.with_name(f"{folder.name}.npz"), reading)
    write_store(raw, folder, name="small", **options)
    return open_store(folder)


def with_edge_features(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same graph with each arc once, whose edges have three features."""
    ends = np.unique(arrays["edge_index"], axis=1)
    attr = np.random.default_rng(5).normal(2, 3, (ends.shape[1], 3)).astype(np.float32)
    return arrays | {"edge_index": ends, "edge_attr": attr}


def write_both(folder: Path, arrays: dict[str, np.ndarray], parts: int, **options: Any) -> None:
    """One dataset as `whole`, and cut into `parts`."""
    whole = write_whole(folder / "whole", arrays, **options)
    write_parts(folder / "parts", parts, lambda there: whole)
