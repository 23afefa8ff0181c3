"""A dataset as a folder of `.npy` files that are memory-mapped, for graphs of any size.

    meta.json      what it is: counts, notes, names of classes and features if the source
                  has them, and size and CRC-32 of each file below
    indptr.npy     (N + 1,) int64         row i of the graph is indices[indptr[i]:indptr[i + 1]]
    indices.npy    (E,) int32 or int64    both directions of every edge, once, ascending in a row
    features.npy   (N, F) float32 or float16, finite; or, where they are sparse, in its place
    feature_indptr.npy, feature_indices.npy, feature_values.npy: (N + 1,) int64, (E,) int32 and
                   (E,) float32, rows like those of the graph, of columns below num_features
    labels.npy     (N,) int64 classes, or (N, C) uint8 of 0 and 1
    split.npy      (N,) int8              0 train, 1 validation, 2 test; never falls
    graph_id.npy   (N,) int64             only if the source names several graphs
    node_ids.npy   (N,) integers or text  the source's own names, only if they are not 0 to N - 1
    edge_attr.npy  (E, B) float32         finite features of indices.npy's arcs, if they have any

Nodes are in the order of their splits, so training sees the first rows of every array: a view of a
split is a slice of the files, not a copy. Its graph, which must lack the other neighbours, is
written to a temporary file. The layout is this project's own.

    dataset = open_store("reddit-store")       # only the row pointers are read into memory
    dataset.features[dataset.nodes(TRAIN)[:512]]
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.dataset import TEST, UNFLAGGED, NodeDataset
from gaancore.data.nodes.labels import MOST_CLASSES
from gaancore.data.nodes.store.features import DENSE, SPARSE, features_of
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.progress import tell
from gaancore.system.disk import read_json

META = "meta.json"
FORMAT, VERSION = "gaancore store", 1
PARTED = "gaancore store in parts"  # the same of a store that was cut, see parts/dataset.py
REQUIRED = ("indptr", "indices", "labels", "split")
OPTIONAL = ("graph_id", "node_ids", "edge_attr")
NAMES = ("class_names", "feature_names", "edge_names")  # in meta.json; null, or not there: none
AGAIN = "convert the data again"
COMPARED = 64_000_000  # bytes of a file up to which it is compared with its checksum on opening


def is_store(path: Path) -> bool:
    """Whether `path` is a folder that says it is a store."""
    return (path / META).is_file()


def open_store(path: str | os.PathLike[str]) -> NodeDataset:
    """The dataset in the store at `path`, its arrays memory-mapped read-only.

    Checked: the sizes, types and shapes of all files against meta.json, the graph's row pointers
    and neighbours (one pass over indices.npy, so that no damage can lead outside an array), the
    split and the classes, and the checksums of files up to COMPARED bytes. A note names larger
    files: `check_store` compares every byte.
    Raises DataError (one line: file, what is wrong, remedy) for a store that is not whole.

    >>> from gaancore.data import TRAIN, open_store
    >>> from gaancore.data.synthetic.reddit import write_synthetic_reddit
    >>> write_synthetic_reddit("store", scale=0.001)
    >>> data = open_store("store")
    >>> data.features[data.nodes(TRAIN)[:2]].shape
    (2, 602)
    """
    folder = Path(path)
    meta = _read_meta(folder)
    arrays = {name: mapped_file(folder, name, facts) for name, facts in meta["files"].items()}
    tell("checking the graph")
    with naming_file(str(folder)):
        edges = arrays.get("edge_attr")
        graph = CSRGraph(arrays["indptr"], arrays["indices"], meta["num_nodes"], edge_attr=edges)
    names: dict[str, Any] = {
        name: tuple(meta[name]) for name in NAMES if meta.get(name) is not None
    }
    dataset = NodeDataset(
        name=meta["name"],
        kind=meta["kind"],
        path=str(folder),
        graph=graph,
        features=features_of(folder, arrays, meta.get("num_features")),
        labels=arrays["labels"],
        split=arrays["split"],
        graph_ids=arrays.get("graph_id"),
        node_ids=arrays.get("node_ids", np.arange(graph.num_nodes)),
        num_classes=meta["num_classes"],
        **names,
        notes=tuple(meta["notes"]),
        ceiling=meta["ceiling"],
    )
    _expect_consistent(folder, dataset, meta)
    large = compare(folder, meta["files"])
    if not large:
        return dataset
    note = f"not compared with their checksums, being large: {', '.join(large)}; check_store does"
    return replace(dataset, notes=(*dataset.notes, note))


def check_store(path: str | os.PathLike[str]) -> NodeDataset:
    """Open the store at `path` and compare every byte with its checksums.

    Raises DataError naming the first file that is not what was written.

    >>> from gaancore.data import check_store
    >>> from gaancore.data.synthetic.reddit import write_synthetic_reddit
    >>> write_synthetic_reddit("store", scale=0.001)
    >>> check_store("store").num_nodes
    233
    """
    dataset = open_store(path)
    compare(Path(path), _read_meta(Path(path))["files"], every=True)
    return dataset


def compare(folder: Path, files: dict[str, Any], *, every: bool = False) -> list[str]:
    """The names of those `files` that are large, and that are only compared if `every` one is.

    Raises DataError naming the first that is not what was written.
    """
    large = [name for name, facts in files.items() if facts["bytes"] > COMPARED]
    for name, facts in files.items():
        if name in large and not every:
            continue
        file = folder / f"{name}.npy"
        if (found := file_checksum(file)) != facts["crc32"]:
            raise DataError(
                f"{file}: its checksum is {found} where {META} says {facts['crc32']}: the file has "
                f"changed since it was written; {AGAIN}"
            )
    return large


def _read_meta(folder: Path) -> dict[str, Any]:
    """The content of meta.json, with the fields and types that the rest relies on."""
    path = folder / META
    meta = read_json(path)
    if isinstance(meta, dict) and meta.get("format") == PARTED:
        raise DataError(
            f"{folder}: a store in parts, which train, predict, embed, evaluate, info and check "
            "read; for anything else give the store or the files that it was cut from"
        )
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise DataError(f"{path}: describes no store; give the folder of a converted dataset")
    if meta.get("version") != VERSION:
        raise DataError(
            f"{path}: version {meta.get('version')} where this gaancore reads {VERSION}; {AGAIN}"
        )
    files = meta.get("files")
    sound = {
        "name": isinstance(meta.get("name"), str),
        "kind": meta.get("kind") in ("real", "synthetic"),
        "num_nodes": type(meta.get("num_nodes")) is int,
        "num_classes": type(meta.get("num_classes")) is int,
        **{name: meta.get(name) is None or _are_texts(meta[name]) for name in NAMES},
        "num_features": type(meta.get("num_features")) is int
        or not isinstance(files, dict)
        or DENSE[0] in files,
        "ceiling": "ceiling" in meta and type(meta["ceiling"]) in (float, type(None)),
        "notes": _are_texts(meta.get("notes")),
        "files": isinstance(files, dict)
        and any(describes_files(files, {*REQUIRED, *kept}, OPTIONAL) for kept in (DENSE, SPARSE)),
    }
    for field, is_sound in sound.items():
        if not is_sound:
            raise DataError(f"{path}: {field} is missing or malformed; {AGAIN}")
    return meta


def describes_files(files: dict[str, Any], required: set[str], more: Sequence[str] = ()) -> bool:
    """Whether `files` has the facts of each of the files `required`, and at most of some `more`."""
    kinds = {"dtype": str, "shape": list, "bytes": int, "crc32": str}
    return required <= files.keys() <= {*required, *more} and all(
        isinstance(facts, dict) and all(type(facts.get(k)) is kind for k, kind in kinds.items())
        for facts in files.values()
    )


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def mapped_file(folder: Path, name: str, facts: dict[str, Any]) -> np.ndarray:
    """NAME.npy, memory-mapped. Raises DataError unless size, type and shape are as `facts` say."""
    path = folder / f"{name}.npy"
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; {AGAIN}") from error
    if size != facts["bytes"]:
        raise DataError(
            f"{path}: {size:,} bytes where {META} says {facts['bytes']:,}: "
            f"{'truncated' if size < facts['bytes'] else 'changed'}; {AGAIN}"
        )
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header makes NumPy raise nearly anything
        raise DataError(f"{path}: not a readable .npy array; {AGAIN}") from error
    if not array.flags.c_contiguous:
        raise DataError(f"{path}: its numbers lie column by column, not row by row; {AGAIN}")
    if array.dtype.str != facts["dtype"] or list(array.shape) != facts["shape"]:
        raise DataError(
            f"{path}: {array.dtype} {array.shape} where {META} says {facts['dtype']} "
            f"{tuple(facts['shape'])}; {AGAIN}"
        )
    return array


def _expect_consistent(folder: Path, dataset: NodeDataset, meta: dict[str, Any]) -> None:
    """What the shapes and types of the files must be, whatever meta.json says."""
    n, labels, split = dataset.num_nodes, dataset.labels, dataset.split
    single = labels.ndim == 1
    problems = {
        "indices": dataset.num_edges != meta.get("num_arcs"),
        "features": dataset.features.dtype not in (np.float32, np.float16)
        or dataset.features.shape[:-1] != (n,)
        or not _are_names_of(dataset.feature_names, dataset.num_features),
        "labels": labels.dtype != (np.int64 if single else np.uint8)
        or (single and dataset.num_classes > MOST_CLASSES)
        or labels.shape != ((n,) if single else (n, dataset.num_classes))
        or not _are_names_of(dataset.class_names, dataset.num_classes)
        or (single and n > 0 and not 0 <= labels.min() <= labels.max() < dataset.num_classes),
        "split": split.dtype != np.int8
        or split.shape != (n,)
        or (
            n > 0
            and (split[0] < UNFLAGGED or split[-1] > TEST or bool((split[1:] < split[:-1]).any()))
        )
        or [int(dataset.nodes(s).size) for s in range(3)] != meta.get("nodes_per_split"),
        "graph_id": dataset.graph_ids is not None
        and (dataset.graph_ids.dtype != np.int64 or dataset.graph_ids.shape != (n,)),
        "node_ids": dataset.node_ids.dtype.kind not in "iuU" or dataset.node_ids.shape != (n,),
        "edge_attr": not _are_names_of(dataset.edge_names, dataset.graph.edge_dim)
        or ("edge_attr" in meta["files"] and meta["files"]["edge_attr"]["dtype"] != "<f4"),
    }
    for name, wrong in problems.items():
        if wrong:
            raise DataError(
                f"{folder / name}.npy: not the {name} of a store of {n:,} nodes; {AGAIN}"
            )


def _are_names_of(names: tuple[str, ...] | None, count: int) -> bool:
    return names is None or len(names) == count


def file_checksum(path: Path) -> str:
    """CRC-32 of all bytes of a file, eight hexadecimal digits."""
    crc, size = 0, path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            crc = zlib.crc32(block, crc)
            tell(f"checksum of {path.name}", file.tell() / size)
    return f"{crc:08x}"
