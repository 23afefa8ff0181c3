"""What kind of data a path holds, from the names of files and arrays: nothing is loaded."""

import os
from typing import Literal

from gaancore.data.files.arrays import listed_names
from gaancore.data.files.folder import expect_path, listing
from gaancore.data.nodes.layouts import find as graphs
from gaancore.data.traffic import find as speeds
from gaancore.errors import DataError
from gaancore.system.paths import user_path

DataKind = Literal["nodes", "traffic"]


def look(path: str | os.PathLike[str]) -> DataKind:
    """`nodes` for a graph whose nodes have features, `traffic` for speeds of sensors on roads.

    path : whatever `load_nodes` or `load_metr_la` take. Of a folder only the names of its files
           are read, of an `.npz` only the names of its arrays: the loaders find out whether the
           data are complete and sound. An edges.csv without a nodes.csv is a graph of roads.
    Raises DataError, which lists what was looked for and what is there, if it is neither.

    >>> import numpy as np
    >>> from gaancore.data import look
    >>> np.savez("mine.npz", x=np.eye(3), edge_index=[[0, 1], [1, 2]])
    >>> look("mine.npz")
    'nodes'
    """
    source = user_path(path)
    if graphs.holds_graph(source):
        return "nodes"
    if speeds.holds_speeds(source):
        return "traffic"
    expect_path(source)
    if source.is_dir():
        there = f"the folder holds {listing(source)}"
    elif source.suffix.lower() == ".npz":
        there = f"its arrays are {listed_names(source)}"
    else:
        there = f"this is a file of another kind ({source.suffix or 'no ending'})"
    raise DataError(
        f"{source}: neither a graph with features nor speeds of sensors: looked for "
        f"{graphs.LOOKED_FOR}; and for {speeds.LOOKED_FOR}; {there}{graphs.way_on(source)}"
    )
