"""OGB's node sets as they are downloaded: a folder with `raw/` and `split/`, all `.csv.gz`.

raw/edge.csv.gz            : two numbers of nodes a line
raw/node-feat.csv.gz       : a row of features for each node; may be missing
raw/node-label.csv.gz      : a class, or several labels of 0 and 1, for each node; nan: none
raw/num-node-list.csv.gz   : how many nodes there are
split/NAME/{train,valid,test}.csv.gz : numbers of nodes; of several NAMEs one is chosen
No file has a header. Nodes are numbered from 0. Files that were unpacked (`.csv`) are read too.
Origin: W. Hu et al., "Open graph benchmark" (NeurIPS 2020).
"""

from array import array
from pathlib import Path

import numpy as np

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.number_table import parse_numbers
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.layouts.splits import split_of_lists
from gaancore.data.nodes.layouts.texts.csv_graph import either
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

EDGES, FEATURES, LABELS, COUNT = "edge.csv", "node-feat.csv", "node-label.csv", "num-node-list.csv"
PARTS = ("train", "valid", "test")
EXACT = 2**53  # whole numbers up to it are exact in float64
MOST_A_EDGE = 1_000  # nodes, where files have neither features nor labels of them
READ = (EDGES, FEATURES, LABELS, COUNT, "num-edge-list.csv")


def is_ogb(folder: Path) -> bool:
    """Whether the folder, or `raw` in it, has edges and numbers of nodes under OGB's names."""
    return all(either(_raw(folder), name).is_file() for name in (EDGES, COUNT))


def read_ogb(folder: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError naming the file and the line of what is wrong."""
    raw = _raw(folder)
    files = {name: either(raw, name) for name in (EDGES, FEATURES, LABELS, COUNT)}
    counts = _table(files[COUNT])
    if counts.shape != (1, 1):
        raise DataError(
            f"{files[COUNT]}: {counts.size:,} graphs; expected one, whose nodes have labels"
        )
    num_nodes = _count(files[COUNT], counts[0, 0])
    edges = _numbers_of_nodes(files[EDGES], width=2)
    features = np.zeros((num_nodes, 0))
    if files[FEATURES].is_file():
        features = _table(files[FEATURES])
    labels = _table(files[LABELS]) if files[LABELS].is_file() else None
    rows = len(edges) * MOST_A_EDGE if labels is None else len(labels)
    if num_nodes > rows:  # before memory is taken for so many
        raise DataError(f"{files[COUNT]}: {num_nodes:,} nodes, but the files hold but {rows:,}")
    split, said = _read_split(raw.parent / "split", num_nodes, reading)
    with naming_file(str(files[EDGES])):
        graph = ArcList(edges[:, 0], edges[:, 1], num_nodes)
    known = {file for name in READ for file in (name, f"{name}.gz")}
    unused = sorted(path.name for path in raw.iterdir() if path.name not in known)
    return RawDataset(
        path=str(folder),
        graph=graph,
        features=features,
        labels=labels,
        split=split,
        node_ids=np.arange(num_nodes),
        sources={
            "features": str(files[FEATURES]),
            "labels": str(files[LABELS]),
            "split": str(raw.parent / "split"),
        },
        notes=("layout: OGB", *said, *([f"not used: {', '.join(unused)}"] if unused else [])),
    )


def _count(path: Path, number: float) -> int:
    if not (1 <= number < EXACT and number == np.floor(number)):
        raise DataError(f"{path}: {number:g} is no number of nodes")
    return int(number)


def _raw(folder: Path) -> Path:
    return folder / "raw" if (folder / "raw").is_dir() else folder


def _table(path: Path) -> np.ndarray:
    """(R, C) float64, NaN where a cell is empty."""
    numbers = array("d")
    width = 0
    for line, cells in read_csv_rows(path):
        width = width or len(cells)
        if len(cells) != width:
            raise DataError(f"{path}: line {line} has {len(cells):,} cells, the first {width:,}")
        remedy = "expected a number"
        numbers.extend(parse_numbers(path, line, cells, range(1, width + 1), remedy=remedy))
    return np.array(numbers).reshape(-1, width)


def _numbers_of_nodes(path: Path, *, width: int) -> np.ndarray:
    """(R, width) int64."""
    table = _table(path)
    if table.shape[1] != width:
        raise DataError(f"{path}: {table.shape[1]:,} columns; expected {width}, numbers of nodes")
    wrong = ~((np.abs(table) < EXACT) & (table == np.floor(table)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"{path}: row {row + 1:,}, column {column + 1}: {table[row, column]:g} is not the "
            "number of a node"
        )
    return table.astype(np.int64)


def _read_split(
    folder: Path, num_nodes: int, reading: Reading
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The split in one of the folders in `split`, and what to say about it."""
    schemes = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    names = [path.name for path in schemes]
    chosen = reading.split_column
    if not reading.needed and (chosen not in names if chosen else len(names) > 1):
        return None, ()
    if chosen and chosen not in names:
        raise DataError(
            f"split_column: {folder} has no split {chosen!r}, but {', '.join(names) or 'none'}"
        )
    if not schemes:
        return None, ()
    if len(schemes) > 1 and not chosen:
        raise DataError(f"{folder}: several splits: {', '.join(names)}; choose one (split_column)")
    scheme = folder / (chosen or names[0])
    lists = {}
    for part in PARTS:
        numbers = _numbers_of_nodes(either(scheme, f"{part}.csv"), width=1)
        lists[f"{part}_idx"] = numbers[:, 0]
    return split_of_lists(scheme, lists, num_nodes), (f"split: {scheme.name}",)
