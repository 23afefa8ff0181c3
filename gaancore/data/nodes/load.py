"""What all node tasks share: find the data, and load it from a store or any other layout."""

import os
from dataclasses import replace
from pathlib import Path

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.make import SelfLoops, Unflagged, make_dataset
from gaancore.data.nodes.missing import Nan, fill_missing
from gaancore.data.nodes.store.store import is_store, open_store
from gaancore.errors import DataError
from gaancore.system.paths import user_path


def load_dataset(
    path: str | os.PathLike[str],
    *,
    name: str,
    multi_label: bool,
    self_loops: SelfLoops,
    unflagged: Unflagged,
    nan: Nan,
) -> NodeDataset:
    """The dataset at `path`: memory-mapped if that is a store, else read into memory.

    See `make_dataset` and `fill_missing` for the options; in a store every node has a split and
    every feature a value. Self-loops of a store are dropped or added in memory. Raises DataError,
    SettingsError.
    """
    source = user_path(path)
    if not is_store(source):
        return make_dataset(
            fill_missing(read_layout(source), nan),
            name=name,
            multi_label=multi_label,
            self_loops=self_loops,
            unflagged=unflagged,
        )
    dataset = open_store(source)
    if dataset.multi_label != multi_label:
        has, task = ("one class per node", "reddit") if multi_label else ("several labels", "ppi")
        raise DataError(f"{source}: the store has {has}, which --task {task} is for")
    return replace(dataset, graph=dataset.graph.self_loops(self_loops))


def find_dataset(name: str) -> Path | None:
    """The folder `name` in the user's data folder, or None if there is none."""
    folder = data_folder() / name
    return folder if folder.is_dir() else None


def data_folder() -> Path:
    """$GAANCORE_DATA, else gaancore/ in $XDG_DATA_HOME (~/.local/share) or, on Windows, in
    %LOCALAPPDATA%.
    """
    if given := os.environ.get("GAANCORE_DATA"):
        return user_path(given)
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "gaancore"
    shared = os.environ.get("XDG_DATA_HOME")
    return (Path(shared) if shared else Path.home() / ".local" / "share") / "gaancore"
