"""Which of the public layouts a path holds."""

from functools import partial
from pathlib import Path
from typing import Any

from gaancore.data.files.arrays import npz_names
from gaancore.data.files.columns import NONE
from gaancore.data.files.folder import expect_path, listing
from gaancore.data.nodes.layouts import csv_graph, dgl_ppi, dgl_reddit, graphsaint, npz
from gaancore.data.nodes.layouts.csv_graph import UnknownEdges, read_csv_graph
from gaancore.data.nodes.layouts.dgl_ppi import read_dgl_ppi
from gaancore.data.nodes.layouts.dgl_reddit import read_dgl_reddit
from gaancore.data.nodes.layouts.graphsage import read_graphsage
from gaancore.data.nodes.layouts.graphsaint import read_graphsaint
from gaancore.data.nodes.layouts.matlab import read_matlab
from gaancore.data.nodes.layouts.npz import read_one_npz
from gaancore.data.nodes.make import RawDataset
from gaancore.data.nodes.store.reader import is_store
from gaancore.errors import DataError

LOOKED_FOR = (
    f"{csv_graph.NODES} {csv_graph.EDGES}, {' '.join(graphsaint.FILES)} (GraphSAINT), "
    f"PREFIX-G.json (GraphSAGE), train_graph.json or {' '.join(dgl_reddit.FILES)} (DGL), "
    "or a single .npz"
)

OF_NETWORKX = {
    ".graphml": "read_graphml",
    ".gml": "read_gml",
    ".gexf": "read_gexf",
    ".edgelist": "read_edgelist",
}


def way_on(path: Path) -> str:
    """What to do with a graph in a form that is not read here, as the end of a message; or ""."""
    if read := OF_NETWORKX.get(path.suffix.lower()):
        return (
            f"; networkx.{read} reads this file, and gaancore.from_networkx takes the graph with "
            "the features of its nodes"
        )
    if path.is_dir() and (found := sorted(path.glob("*.content"))):
        return (
            f"; {found[0].name} has a node a line: write it as nodes.csv with the header "
            "id,x1,x2,...,label, and the .cites as edges.csv with the header src,dst"
        )
    return ""


def read_layout(
    path: Path, *, unknown_edges: UnknownEdges = "error", edge_features: str = NONE
) -> RawDataset:
    """Read the dataset at `path`: a folder, a GraphSAGE prefix, or one `.npz` or `.mat` file.

    A folder is tried as two CSV tables, as GraphSAINT's, GraphSAGE's and DGL's layouts, then for a
    lone `.npz`. unknown_edges is for two CSV tables, edge_features for these and an `.npz`: see
    `read_csv_graph` and `read_one_npz`.
    Raises DataError that lists what was looked for if it is none of them.
    """
    if (read := _reader(path)) is not None:
        options: dict[str, Any] = {}
        if read.func in (read_csv_graph, read_one_npz):
            options["edge_features"] = edge_features
        if read.func is read_csv_graph:
            options["unknown_edges"] = unknown_edges
        return read(**options)
    expect_path(path)
    if not path.is_dir():
        raise DataError(
            f"{path}: neither a folder nor a .npz or .mat file; give a folder that holds one of "
            f"{LOOKED_FOR}{way_on(path)}"
        )
    if is_store(path):
        raise DataError(f"{path}: already a store; use it as it is")
    raise DataError(
        f"{path}: no dataset found: looked for {LOOKED_FOR}; the folder holds {listing(path)}"
        f"{way_on(path)}"
    )


def holds_graph(path: Path) -> bool:
    """Whether `path` looks like a store or like one of the layouts, by names of files and arrays.

    An edges.csv without a nodes.csv does not. Raises DataError for a folder with several GraphSAGE
    prefixes, and a damaged `.npz`.
    """
    if is_store(path):
        return True
    read = _reader(path)
    if read is None:
        return False
    if read.func is read_one_npz:
        return npz.looks_like_graph(npz_names(read.args[0]))
    return read.func is not read_csv_graph or (path / csv_graph.NODES).exists()


def _reader(path: Path) -> "partial[RawDataset] | None":
    """What reads the layout at `path`; None if it is none. Only names of files are looked at."""
    if path.is_file():
        readers = {".npz": read_one_npz, ".mat": read_matlab}
        suffix = path.suffix.lower()
        return partial(readers[suffix], path) if suffix in readers else None
    if path.with_name(f"{path.name}-G.json").is_file():
        return partial(read_graphsage, path)
    if not path.is_dir() or is_store(path):
        return None
    names = sorted(entry.name for entry in path.iterdir())
    if csv_graph.NODES in names or csv_graph.EDGES in names:
        return partial(read_csv_graph, path)
    if "adj_full.npz" in names or "role.json" in names:
        return partial(read_graphsaint, path)
    prefixes = [name.removesuffix("-G.json") for name in names if name.endswith("-G.json")]
    if len(prefixes) > 1:
        raise DataError(
            f"{path}: several GraphSAGE datasets ({', '.join(prefixes)}); "
            f"give one prefix, such as {path / prefixes[0]}"
        )
    if prefixes:
        return partial(read_graphsage, path / prefixes[0])
    if any(f"{split}_graph.json" in names for split in dgl_ppi.SPLITS):
        return partial(read_dgl_ppi, path)
    if dgl_reddit.GRAPH in names or dgl_reddit.DATA in names:
        return partial(read_dgl_reddit, path)
    archives = [name for name in names if name.lower().endswith(".npz")]
    return partial(read_one_npz, path / archives[0]) if len(archives) == 1 else None
