"""`nodes.csv` of a graph in two tables: ids, features, and what else is known of the nodes."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import listed
from gaancore.data.files.columns import WORDS, FeatureColumns
from gaancore.data.files.ids import text_array
from gaancore.data.files.named_table import NamedTable, open_named_table
from gaancore.data.files.number_table import INTEGER, parse_numbers
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.labels import code_classes
from gaancore.data.nodes.layouts.splits import split_of_masks
from gaancore.data.nodes.layouts.texts.node_columns import (
    CLASS,
    GRAPH_ID,
    ID_NAMES,
    REMEDY,
    SPLIT,
    sort_columns,
)
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList, CSRGraph

SPLITS = {
    "train": TRAIN,
    "val": VALIDATION,
    "valid": VALIDATION,
    "validation": VALIDATION,
    "test": TEST,
    "": UNFLAGGED,
}


@dataclass(frozen=True)
class CsvNodes:
    """What the file says of N nodes.

    rows      : the row of each id, from 0 on, in the order of the file.
    features  : (N, F) float64, NaN where a cell is empty; F is 0 if no column is a feature.
    labels    : (N,) places in class_names or (N, C) of 0 and 1, NaN where a cell means no label;
                None if no node has a class.
    split     : (N,) int8, -1 where a node is in no part; None if no node has one.
    graph_ids : (N,) int64, or None.
    columns   : the names of those that are features.
    """

    rows: dict[str, int]
    features: np.ndarray
    labels: np.ndarray | None
    class_names: tuple[str, ...] | None
    feature_names: tuple[str, ...]
    split: np.ndarray | None
    graph_ids: np.ndarray | None
    columns: tuple[str, ...]
    notes: tuple[str, ...]

    def with_edges(
        self,
        path: Path,
        arcs: CSRGraph | ArcList,
        edge_names: tuple[str, ...] | None,
        *,
        of_nodes: Path,
        layout: str,
        notes: Sequence[str],
    ) -> RawDataset:
        """The dataset of these nodes, read from the file `of_nodes`, and of the edges."""
        return RawDataset(
            path=str(path),
            graph=arcs,
            features=self.features,
            labels=self.labels,
            split=self.split,
            node_ids=text_array(str(of_nodes), list(self.rows)),
            sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), str(of_nodes)),
            graph_ids=self.graph_ids,
            class_names=self.class_names,
            feature_names=self.feature_names,
            edge_names=edge_names,
            columns=self.columns,
            notes=(f"layout: {layout}", *self.notes, *notes),
        )


def read_csv_nodes(path: Path, reading: Reading = AS_IT_IS) -> CsvNodes:
    """Read the file. Raises DataError naming the line, or the column of the header."""
    return read_nodes(open_named_table(path, ID_NAMES), reading)


def read_nodes(table: NamedTable, reading: Reading) -> CsvNodes:
    """The same, of a table whose one key is the column of ids."""
    path = table.path
    columns = sort_columns(table, reading)
    rows: dict[str, int] = {}
    lines, labels, masks = array("q"), array("d"), array("d")
    texts: dict[str, list[str]] = {name: [] for name in columns.texts}
    features = FeatureColumns(str(path), columns.features, remedy=REMEDY)
    for line, cells in features.watch(table.rows):
        node = cells[table.keys[0]]
        if not node:
            raise DataError(f"{path}: line {line}: no id; every node needs one")
        if (row := rows.setdefault(node, len(lines))) != len(lines):
            raise DataError(
                f"{path}: lines {lines[row]} and {line} have the same id {node[:80]!r}; ids must "
                "differ"
            )
        lines.append(line)
        features.add(line, cells)
        labels.extend(_numbers(path, line, cells, columns.labels))
        masks.extend(_numbers(path, line, cells, columns.masks))
        for name, at in columns.texts.items():
            texts[name].append(cells[at])
    label_values: np.ndarray | None = None
    names = tuple(columns.labels)
    said_of_labels: tuple[str, ...] = ()
    if columns.labels:
        label_values = np.frombuffer(labels).reshape(len(rows), -1)
    elif CLASS in texts:
        classes = code_classes(texts[CLASS])
        names, said_of_labels = classes.names, classes.notes
        label_values = classes.places if names else None
    split = _split(path, lines, texts.get(SPLIT, []))
    if columns.masks:
        table_of_masks = np.nan_to_num(np.frombuffer(masks)).reshape(len(rows), -1)
        by_name = dict(zip(columns.masks, table_of_masks.T, strict=True))
        split = split_of_masks(path, by_name, len(rows))
    values, feature_names, said = features.result()
    said.insert(0, f"{len(feature_names):,} features: {listed(feature_names)}")
    if names:
        said.append(f"{len(names):,} {'labels' if columns.labels else 'classes'}: {listed(names)}")
    said += said_of_labels
    if columns.masks:
        said.append(f"{', '.join(columns.masks)} taken as the split")
    if columns.unused:
        said.append(f"column(s) {', '.join(columns.unused)} not used: others were chosen")
    return CsvNodes(
        rows=rows,
        features=values,
        labels=label_values,
        class_names=names or None,
        feature_names=feature_names,
        split=None if split is None or (split == UNFLAGGED).all() else split,
        graph_ids=_graph_ids(path, lines, texts[GRAPH_ID]) if GRAPH_ID in texts else None,
        columns=tuple(columns.features),
        notes=(*table.notes, *(f"{path.name}: {note}" for note in said)),
    )


def _numbers(path: Path, line: int, cells: list[str], places: dict[str, int]) -> list[float]:
    values = [cells[at] for at in places.values()]
    return parse_numbers(path, line, values, places, words=WORDS, remedy=REMEDY)


def _split(path: Path, lines: Sequence[int], texts: list[str]) -> np.ndarray | None:
    if not texts:
        return None
    split = np.empty(len(texts), np.int8)
    for row, text in enumerate(texts):
        number = SPLITS.get(text.lower())
        if number is None:
            raise DataError(
                f"{path}: line {lines[row]}: {SPLIT} {text[:80]!r}; expected train, val, test or "
                "nothing"
            )
        split[row] = number
    return split


def _graph_ids(path: Path, lines: Sequence[int], texts: list[str]) -> np.ndarray:
    for line, text in zip(lines, texts, strict=True):
        if not INTEGER.fullmatch(text) or len(text) > 18:
            raise DataError(f"{path}: line {line}: {GRAPH_ID} {text[:80]!r} is not an integer")
    return np.array(texts).astype(np.int64)
