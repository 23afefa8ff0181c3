"""The rows of some nodes: those of a part of a store, and what is drawn and read of them.

meta.json      which part of which store, and size and CRC-32 of each file below
nodes.npy      (n,) int64             the ids of its nodes, ascending
indptr.npy     (n + 1,) int64         row i is indices[indptr[i]:indptr[i + 1]]
indices.npy    (E,) int32 or int64    ids of neighbours, in any part, ascending in a row
features.npy   (n, F) float32
labels.npy     (n,) int64 classes, or (n, C) uint8 of 0 and 1
edge_attr.npy  (E, B) float32         features of its entries, if they have any
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.store.reader import AGAIN, META, compare, describes_files, mapped_file
from gaancore.data.parts.dataset import PartedDataset, name_of_part
from gaancore.errors import DataError
from gaancore.graph.checks import columns, index_dtype, offsets
from gaancore.graph.ordered_rows import places_of_rows, rows_ascend
from gaancore.graph.sampler import draw_entries
from gaancore.system.disk import read_json
from gaancore.system.jit import jit
from gaancore.system.mapped import forget_pages

PART, PART_VERSION = "gaancore part of a store", 1
FILES = ("nodes", "indptr", "indices", "features", "labels")
OF_EDGES = "edge_attr"


class Part:
    """The rows of `nodes`, ascending ids; the other arrays as in the files above."""

    def __init__(
        self,
        nodes: np.ndarray,
        indptr: np.ndarray,
        indices: np.ndarray,
        features: np.ndarray,
        labels: np.ndarray,
        edge_attr: np.ndarray | None = None,
    ) -> None:
        self.nodes = nodes
        self.indptr = indptr
        self.indices = indices
        self.features = features
        self.labels = labels
        self.edge_attr = edge_attr
        self._stops: dict[int, np.ndarray] = {}

    def columns(self, edges: bool) -> list[np.ndarray]:
        """What is said of each entry: the neighbour and, with `edges`, the features of the edge."""
        told = [self.indices, self.edge_attr] if edges else [self.indices]
        return [column for column in told if column is not None]

    def stops(self, seen: int) -> np.ndarray:
        """(n,) int64: where each row ends for who sees only nodes below `seen`."""
        if seen not in self._stops:
            self._stops[seen] = _stops(self.indptr, self.indices, seen)
            forget_pages(self.indices)
        return self._stops[seen]


class HeldRows:
    """The rows of several parts by their places: part number i has those from firsts[i] on."""

    def __init__(self, parts: Sequence[Part], firsts: Sequence[int]) -> None:
        self.parts = parts
        self.firsts = np.array(firsts, np.int64)

    def find(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) each: the number of the part that has each place, and the row there."""
        number = np.searchsorted(self.firsts, places, side="right") - 1
        return number, places - self.firsts[number]

    def degrees(self, places: np.ndarray, seen: int) -> np.ndarray:
        """(n,) how many neighbours below `seen` the nodes at `places` have."""
        found = np.empty(places.size, np.int64)
        for part, rows, where in self._by_part(places):
            found[where] = part.stops(seen)[rows] - part.indptr[rows]
        return found

    def draw(
        self,
        places: np.ndarray,
        numbers: np.ndarray,
        seen: int,
        fanout: int,
        key: int,
        step: int,
        edges: bool,
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Of each node at `places` how many of its neighbours below `seen` are drawn, and these,
        one node's after the other's, see `draw_entries`; with `edges`, the features of the edges to
        them too.
        """
        counts, columns, order = [], [], []
        for part, rows, where in self._by_part(places):
            starts, stops = part.indptr[:-1], part.stops(seen)
            indptr, entries = draw_entries(
                starts, stops, rows, numbers[where], fanout, np.uint64(key), step
            )
            counts.append(np.diff(indptr))
            columns.append([x[entries] for x in part.columns(edges)])
            order.append(where)
        found = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
        return lists_in_order(np.concatenate(counts), found, np.concatenate(order))

    def features(self, places: np.ndarray) -> np.ndarray:
        """(n, F)"""
        return self._rows(places, [part.features for part in self.parts])

    def labels(self, places: np.ndarray) -> np.ndarray:
        """(n,) or (n, C)"""
        return self._rows(places, [part.labels for part in self.parts])

    def _rows(self, places: np.ndarray, of_parts: Sequence[np.ndarray]) -> np.ndarray:
        found = np.empty((places.size, *of_parts[0].shape[1:]), of_parts[0].dtype)
        for (_, rows, where), values in zip(self._by_part(places), of_parts, strict=True):
            found[where] = values[rows]
        return found

    def _by_part(self, places: np.ndarray) -> Iterator[tuple[Part, np.ndarray, np.ndarray]]:
        """Of each part the rows that are asked for, and their positions in `places`."""
        number, rows = self.find(places)
        for at, part in enumerate(self.parts):
            where = np.flatnonzero(number == at)
            yield part, rows[where], where


def lists_in_order(
    counts: np.ndarray, columns: Sequence[np.ndarray], order: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """counts and columns of lists, one after another, of which the k-th is to become number
    order[k].
    """
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    places = places_of_rows(indptr, back)
    return counts[back], [column[places] for column in columns]


def open_part(dataset: PartedDataset, number: int, who: str = "this process") -> Part:
    """One part of a store, memory-mapped.

    who : whose part it is, in words. Raises DataError (one line) if it is not there, belongs to
    another store or version, or is damaged; sizes, types, rows and ids are looked at, and the
    checksums of files up to 64 MB.
    """
    folder = Path(dataset.path) / name_of_part(number)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such part, but {who} trains with it; copy it there")
    files = _files_of(dataset, number)
    arrays = {name: mapped_file(folder, name, facts) for name, facts in files.items()}
    compare(folder, files)
    n, num_nodes = dataset.parts[number][0], dataset.num_nodes
    with naming_file(str(folder)):
        indptr = offsets("indptr.npy", arrays["indptr"], arrays["indices"].size)
        kind = index_dtype(num_nodes)
        indices = columns("indices.npy", arrays["indices"], indptr, num_nodes, kind)
    first, attr = int(dataset.firsts[number]), arrays.get(OF_EDGES)
    features, labels, nodes = arrays["features"], arrays["labels"], arrays["nodes"]
    several, classes = dataset.multi_label, dataset.num_classes
    sound = {
        "nodes": nodes.shape == (n,)
        and nodes.dtype == np.int64
        and bool(((nodes >= 0) & (nodes < num_nodes)).all())
        and np.array_equal(dataset.places[nodes], np.arange(first, first + n)),
        "indptr": indptr.size == n + 1,
        "indices": rows_ascend(indptr, indices),
        "features": features.dtype == np.float32 and features.shape == (n, dataset.num_features),
        "labels": labels.dtype == (np.uint8 if several else np.int64)
        and labels.shape == ((n, classes) if several else (n,))
        and (several or not n or 0 <= int(labels.min()) <= int(labels.max()) < classes),
    }
    if attr is not None:
        shape = (indices.size, dataset.edge_dim)
        sound[OF_EDGES] = attr.dtype == np.float32 and attr.shape == shape
    forget_pages(indices)
    for name, right in sound.items():
        if not right:
            raise DataError(f"{folder / name}.npy: not the {name} of this part; {AGAIN}")
    return Part(nodes, indptr, indices, features, labels, attr)


def files_of(edge_dim: int) -> set[str]:
    """The files of a part of a store whose edges have so many features."""
    return {*FILES, OF_EDGES} if edge_dim else {*FILES}


def check_part(dataset: PartedDataset, number: int) -> None:
    """Open a part and compare every byte with its checksums. Raises DataError, see `open_part`."""
    open_part(dataset, number)
    files = _files_of(dataset, number)
    compare(Path(dataset.path) / name_of_part(number), files, every=True)


def _files_of(dataset: PartedDataset, number: int) -> dict[str, Any]:
    """What the part says of its files, after it was found to be a part of this store."""
    file = Path(dataset.path) / name_of_part(number) / META
    meta = read_json(file)
    if not isinstance(meta, dict) or meta.get("format") != PART:
        raise DataError(f"{file}: describes no part of a store; {AGAIN}")
    if meta.get("version") != PART_VERSION:
        raise DataError(
            f"{file}: version {meta.get('version')} where this gaancore reads {PART_VERSION}; "
            f"{AGAIN}"
        )
    if (meta.get("store"), meta.get("part")) != (dataset.identity, number):
        raise DataError(
            f"{file.parent}: not part {number} of the store at {dataset.path}, but part "
            f"{meta.get('part')} of another; copy the part that was cut with it"
        )
    files = meta.get("files")
    if not isinstance(files, dict) or not describes_files(files, files_of(dataset.edge_dim)):
        raise DataError(f"{file}: files is missing or malformed; {AGAIN}")
    return files


@jit
def _stops(indptr: np.ndarray, indices: np.ndarray, seen: int) -> np.ndarray:
    """Of each ascending row, where its first entry of `seen` or more is."""
    stops = np.empty(len(indptr) - 1, np.int64)
    for row in range(len(stops)):
        low, high = indptr[row], indptr[row + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < seen:
                low = middle + 1
            else:
                high = middle
        stops[row] = low
    return stops
