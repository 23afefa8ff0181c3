"""A small graph as a store, and cut into parts."""

from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data import NodeDataset, open_store
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store
from gaancore.data.parts.cut import write_parts


def write_whole(folder: Path, arrays: dict[str, np.ndarray], **options: Any) -> NodeDataset:
    np.savez(folder.with_name(f"{folder.name}.npz"), **arrays)
    raw = read_layout(folder.with_name(f"{folder.name}.npz"))
    write_store(raw, folder, name="small", **options)
    return open_store(folder)


def write_both(folder: Path, arrays: dict[str, np.ndarray], parts: int, **options: Any) -> None:
    """One dataset as `whole`, and cut into `parts`."""
    whole = write_whole(folder / "whole", arrays, **options)
    write_parts(folder / "parts", parts, lambda there: whole)
