"""Load a graph whose nodes have labels, from a store or any other layout."""

import os
from dataclasses import replace
from pathlib import Path

from gaancore.choices import AS_IT_IS, Nan, Reading, RepeatedEdges, SelfLoops, Unflagged
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.layouts.without_features import with_learned
from gaancore.data.nodes.make import make_dataset, split_notes
from gaancore.data.nodes.missing import fill_missing
from gaancore.data.nodes.split import Shares, with_drawn_validation, with_random_split
from gaancore.data.nodes.store.reader import is_store, open_store
from gaancore.errors import DataError
from gaancore.system.paths import user_path


def load_nodes(
    path: str | os.PathLike[str],
    *,
    name: str,
    multi_label: bool | None = None,
    self_loops: SelfLoops = "keep",
    unflagged: Unflagged = "drop",
    nan: Nan = "error",
    reading: Reading = AS_IT_IS,
    repeated_edges: RepeatedEdges = "error",
    split_shares: Shares | None = None,
    split_seed: int = 0,
) -> NodeDataset:
    """Load the dataset at `path`: memory-mapped if that is a store, else read into memory.

    path         : a store, or any of the layouts: a folder, a prefix such as `data/ppi`, or a
                   file. `~` is expanded.
    name         : what to call the dataset.
    multi_label  : whether a node has several labels (True) or one class (False). None takes what
                   the files say: see `check_labels`. A store knows.
    self_loops   : `keep`, `drop`, or `add` one to every node.
    unflagged    : nodes that are in no split: see `make_dataset`.
    nan          : features that are NaN: see `fill_missing`.
    reading      : what to do where files leave a choice: see `Reading`.
    repeated_edges : what features of edges become where edges are merged: see `make_dataset`.
    split_shares : per cent of training, validation and test nodes, such as (60, 20, 20): a split
                   for files that name none, drawn with `split_seed` among the nodes that have a
                   label. Files that name a split keep it; if they name no validation nodes, these
                   are drawn from the training nodes. None refuses files without a split.

    `notes` say what was merged, dropped, assumed or drawn. A store has a split, and a value for
    every feature, so that `unflagged`, `nan` and the shares do not matter; its self-loops are
    dropped or added in memory. Raises DataError (one line: file, row or id, remedy) and
    SettingsError.

    >>> import numpy as np
    >>> from gaancore.data import load_nodes
    >>> np.savez("mine.npz", x=np.eye(5), y=[0, 1, 0, 1, 2], edge_index=[[0, 1, 2], [1, 2, 3]])
    >>> data = load_nodes("mine.npz", name="mine", split_shares=(60, 20, 20))
    >>> data.num_edges, data.num_classes, data.multi_label
    (6, 3, False)
    """
    source = user_path(path)
    if not is_store(source):
        raw = read_layout(source, reading)
        if raw.labels is not None and split_shares is not None:
            draw = with_random_split if raw.split is None else with_drawn_validation
            raw = draw(raw, split_shares, seed=split_seed)
        made = make_dataset(
            fill_missing(raw, nan),
            name=name,
            multi_label=multi_label,
            self_loops=self_loops,
            unflagged=unflagged,
            repeated_edges=repeated_edges,
        )
        made = replace(made, notes=(*made.notes, *split_notes(made.split)))
        return with_learned(made) if reading.features == "learned" else made
    reading.expect_of_store(source)
    dataset = open_store(source)
    if multi_label is not None and dataset.multi_label != multi_label:
        has, other = ("one class", False) if multi_label else ("several labels", True)
        raise DataError(f"{source}: the store has {has} per node; multi_label: {other} takes them")
    dataset = replace(dataset, graph=dataset.graph.self_loops(self_loops))
    if reading.features != "learned":
        return dataset
    unused = f"{dataset.num_features:,} features of the files are not used"
    return with_learned(replace(dataset, notes=(*dataset.notes, unused)))


def find_dataset(name: str) -> Path | None:
    """The folder `name` in the user's data folder, or None if there is none.

    >>> import os, pathlib
    >>> from gaancore.data import find_dataset
    >>> os.environ["GAANCORE_DATA"] = "data"
    >>> pathlib.Path("data/ppi").mkdir(parents=True)
    >>> find_dataset("ppi").name, find_dataset("reddit")
    ('ppi', None)
    """
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
