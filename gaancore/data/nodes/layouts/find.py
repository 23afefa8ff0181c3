"""Which of the public layouts a path holds."""

from pathlib import Path

from gaancore.data.nodes.layouts import csv_graph, dgl_ppi, dgl_reddit, graphsaint
from gaancore.data.nodes.layouts.csv_graph import read_csv_graph
from gaancore.data.nodes.layouts.dgl_ppi import read_dgl_ppi
from gaancore.data.nodes.layouts.dgl_reddit import read_dgl_reddit
from gaancore.data.nodes.layouts.graphsage import read_graphsage
from gaancore.data.nodes.layouts.graphsaint import read_graphsaint
from gaancore.data.nodes.layouts.matlab import read_matlab
from gaancore.data.nodes.layouts.npz import read_one_npz
from gaancore.data.nodes.make import RawDataset
from gaancore.data.nodes.store.store import is_store
from gaancore.errors import DataError


def read_layout(path: Path) -> RawDataset:
    """Read the dataset at `path`: a folder, a GraphSAGE prefix, or one `.npz` or `.mat` file.

    A folder is tried as two CSV tables, as GraphSAINT's, GraphSAGE's and DGL's layouts, then for a
    lone `.npz`.
    Raises DataError that lists what was looked for if it is none of them.
    """
    if path.is_file() and path.suffix == ".npz":
        return read_one_npz(path)
    if path.is_file() and path.suffix == ".mat":
        return read_matlab(path)
    if path.with_name(f"{path.name}-G.json").is_file():
        return read_graphsage(path)
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; give the folder that holds the dataset")
    if not path.is_dir():
        raise DataError(
            f"{path}: neither a folder nor a .npz or .mat file; give the folder it is in"
        )
    if is_store(path):
        raise DataError(
            f"{path}: a store already; use it as --data, or compare it with its checksums: "
            f"gaancore check {path}"
        )
    names = sorted(entry.name for entry in path.iterdir())
    if csv_graph.NODES in names or csv_graph.EDGES in names:
        return read_csv_graph(path)
    if "adj_full.npz" in names or "role.json" in names:
        return read_graphsaint(path)
    prefixes = [name.removesuffix("-G.json") for name in names if name.endswith("-G.json")]
    if len(prefixes) == 1:
        return read_graphsage(path / prefixes[0])
    if len(prefixes) > 1:
        raise DataError(
            f"{path}: several GraphSAGE datasets ({', '.join(prefixes)}); "
            f"give one prefix, such as {path / prefixes[0]}"
        )
    if any(f"{split}_graph.json" in names for split in dgl_ppi.SPLITS):
        return read_dgl_ppi(path)
    if dgl_reddit.GRAPH in names or dgl_reddit.DATA in names:
        return read_dgl_reddit(path)
    archives = [name for name in names if name.endswith(".npz")]
    if len(archives) == 1:
        return read_one_npz(path / archives[0])
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    raise DataError(
        f"{path}: no dataset found: looked for {csv_graph.NODES} {csv_graph.EDGES}, "
        f"{' '.join(graphsaint.FILES)} (GraphSAINT), "
        f"PREFIX-G.json (GraphSAGE), train_graph.json or {' '.join(dgl_reddit.FILES)} (DGL), "
        "or a single .npz; "
        f"the folder holds {shown or 'nothing'}"
    )
