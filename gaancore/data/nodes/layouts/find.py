"""Which of the public layouts a path holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gaancore.data.files.folder import expect_path, listing
from gaancore.data.nodes.layouts import dgl_ppi, dgl_reddit, graphsaint, npz
from gaancore.data.nodes.layouts.citations import planetoid
from gaancore.data.nodes.layouts.citations.attributed import is_attributed
from gaancore.data.nodes.layouts.citations.content import CITES, CONTENT, read_content
from gaancore.data.nodes.layouts.citations.planetoid import read_planetoid
from gaancore.data.nodes.layouts.dgl_ppi import read_dgl_ppi
from gaancore.data.nodes.layouts.dgl_reddit import read_dgl_reddit
from gaancore.data.nodes.layouts.graphsage import read_graphsage
from gaancore.data.nodes.layouts.graphsaint import read_graphsaint
from gaancore.data.nodes.layouts.matlab import read_matlab
from gaancore.data.nodes.layouts.npz import read_one_npz
from gaancore.data.nodes.layouts.reading import AS_IT_IS, Reading
from gaancore.data.nodes.layouts.texts.csv_graph import EDGES, NODES, either, read_csv_graph
from gaancore.data.nodes.layouts.texts.edge_list import (
    LABEL,
    bare,
    edge_lists,
    is_edge_list,
    read_edge_list,
)
from gaancore.data.nodes.layouts.texts.networkx_files import READERS, read_networkx_file
from gaancore.data.nodes.layouts.texts.ogb import is_ogb, read_ogb
from gaancore.data.nodes.layouts.without_features import with_features
from gaancore.data.nodes.make import RawDataset
from gaancore.data.nodes.store.reader import is_store
from gaancore.errors import DataError, SettingsError

LOOKED_FOR = (
    f"{NODES} {EDGES}, {' '.join(graphsaint.FILES)} (GraphSAINT), PREFIX-G.json (GraphSAGE), "
    f"train_graph.json or {' '.join(dgl_reddit.FILES)} (DGL), ind.NAME.graph (Planetoid), "
    f"NAME{CONTENT} NAME{CITES}, raw/edge.csv.gz (OGB), a list of edges (.edgelist, .edges, .txt) "
    "with a file of labels, .npy files named as the arrays of an .npz, or a single .npz, .mat, "
    ".graphml, .gml or .gexf"
)

# What reads each layout, and which choices of a Reading have a meaning for it
Reader = Callable[..., RawDataset]
TAKES: dict[Reader, tuple[str, ...]] = {
    read_csv_graph: ("label", "split_column", "edge_features"),
    read_networkx_file: ("label", "split_column", "edge_features"),
    read_one_npz: ("split_column", "edge_features"),
    read_ogb: ("split_column",),
    read_matlab: ("label",),
    read_graphsage: (),
    read_planetoid: (),
    read_content: (),
    read_edge_list: ("edge_features",),
}


class Found(NamedTuple):
    """A layout: what reads it, and the file, folder or prefix that it is given."""

    read: Reader
    path: Path


def read_layout(path: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the dataset at `path`: a folder, a file, or a prefix of GraphSAGE's or Planetoid's.

    Raises DataError that lists what was looked for if it is none of them, SettingsError for a
    choice of `reading` that means nothing to the layout.
    """
    if (found := _reader(path)) is not None:
        for name in reading.chosen:
            if name not in TAKES.get(found.read, ()):
                raise SettingsError(
                    f"{name}: the files at {found.path} leave nothing to choose; leave it out"
                )
        options: tuple[Any, ...] = (reading,) if found.read in TAKES else ()
        return with_features(found.read(found.path, *options), reading.features)
    expect_path(path)
    if not path.is_dir():
        raise DataError(
            f"{path}: no graph is read from such a file; give a folder or a file that is one of "
            f"{LOOKED_FOR}"
        )
    if is_store(path):
        raise DataError(f"{path}: already a store; use it as it is")
    raise DataError(
        f"{path}: no dataset found: looked for {LOOKED_FOR}; the folder holds {listing(path)}"
    )


def holds_graph(path: Path) -> bool:
    """Whether `path` looks like a store or like one of the layouts, by names of files and arrays.

    An edges.csv without a nodes.csv does not. Raises DataError for a folder with several prefixes,
    and a damaged `.npz`.
    """
    if is_store(path):
        return True
    found = _reader(path)
    if found is None:
        return False
    if found.read is read_one_npz:
        names = npz.array_names(found.path)
        return npz.looks_like_graph(names) or is_attributed(names)
    return found.read is not read_csv_graph or either(path, NODES).exists()


def _reader(path: Path) -> Found | None:
    """What reads the layout at `path`; None if it is none. Names of files are looked at, and the
    first lines of a `.txt`."""
    if path.is_file():
        return _reader_of_file(path)
    if path.with_name(f"{path.name}-G.json").is_file():
        return Found(read_graphsage, path)
    of_planetoid = path.name.startswith(planetoid.PREFIX)
    if of_planetoid and path.with_name(f"{path.name}{planetoid.GRAPH}").is_file():
        return Found(read_planetoid, path)
    if not path.is_dir() or is_store(path):
        return None
    names = sorted(entry.name for entry in path.iterdir())
    if either(path, NODES).exists() or either(path, EDGES).exists():
        return Found(read_csv_graph, path)
    if "adj_full.npz" in names or "role.json" in names:
        return Found(read_graphsaint, path)
    if prefix := _prefix(path, names, "", "-G.json", "GraphSAGE"):
        return Found(read_graphsage, prefix)
    if prefix := _prefix(path, names, planetoid.PREFIX, planetoid.GRAPH, "Planetoid"):
        return Found(read_planetoid, prefix)
    if any(f"{split}_graph.json" in names for split in dgl_ppi.SPLITS):
        return Found(read_dgl_ppi, path)
    if dgl_reddit.GRAPH in names or dgl_reddit.DATA in names:
        return Found(read_dgl_reddit, path)
    if npz.looks_like_graph(npz.array_names(path)):
        return Found(read_one_npz, path)
    if is_ogb(path):
        return Found(read_ogb, path)
    if prefix := _prefix(path, names, "", CONTENT, "LINQS"):
        return Found(read_content, prefix.with_name(f"{prefix.name}{CONTENT}"))
    lists = edge_lists(path)
    if len(lists) == 1 and any(LABEL in name.lower() for name in names):
        return Found(read_edge_list, lists[0])
    alone = [name for name in names if Path(name).suffix.lower() in {".npz", *READERS}]
    return _reader_of_file(path / alone[0]) if len(alone) == 1 else None


def _reader_of_file(path: Path) -> Found | None:
    suffix = path.suffix.lower()
    if suffix in (".npz", ".mat"):
        return Found(read_one_npz if suffix == ".npz" else read_matlab, path)
    if suffix in READERS:
        return Found(read_networkx_file, path)
    if suffix == CONTENT:
        return Found(read_content, path)
    of_list = bare(path).suffix.lower() in (".edgelist", ".edges", ".txt")
    return Found(read_edge_list, path) if of_list and is_edge_list(path) else None


def _prefix(path: Path, names: list[str], begin: str, end: str, layout: str) -> Path | None:
    """The one prefix of files in a folder that begin and end so. Raises DataError for several."""
    found = [name.removesuffix(end) for name in names if name.endswith(end)]
    found = [name for name in found if name.startswith(begin)]
    if len(found) > 1:
        raise DataError(
            f"{path}: several {layout} datasets ({', '.join(found)}); "
            f"give one prefix, such as {path / found[0]}"
        )
    return path / found[0] if found else None
