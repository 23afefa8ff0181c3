"""A list of edges, and a file of labels beside it: no features.

Edges  : one file `.edgelist`, `.edges` or `.txt`, also packed (`.txt.gz`): a line is two
         ids. Spaces, tabs or commas are between the ids. A line that begins with # or % is a
         comment, as SNAP and networkx write them. A third cell is the `weight` of an edge; where
         there are more, they are called column3, column4 and so on. They are features of edges
         where they are named, and otherwise not used.
Labels : a file with `label` in its name: a line is an id and its class, or its labels if one has
         several. Of several such files, the one that begins as the edges do.
The nodes are those of the labels' file, then those that only edges name.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from gaancore.choices import AS_IT_IS, AUTO, NONE, Reading
from gaancore.data.files.arrays import listed
from gaancore.data.files.columns import chosen_columns, columns_of_edges
from gaancore.data.files.ids import text_array
from gaancore.data.nodes.labels import code_classes
from gaancore.data.nodes.layouts.citations.content import ends_of, split_lines
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

ENDINGS = (".edgelist", ".edges", ".txt")
LABEL = "label"


def edge_lists(folder: Path) -> list[Path]:
    """The files of a folder that can be lists of edges, by their names."""
    return [
        path
        for path in sorted(folder.iterdir())
        if bare(path).suffix.lower() in ENDINGS and LABEL not in path.name.lower()
    ]


def bare(path: Path) -> Path:
    """The path without `.gz`."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def is_edge_list(path: Path) -> bool:
    """Whether the first lines of a file are an edge each, with numbers for ids unless it is called
    a list of edges."""
    if bare(path).suffix.lower() in ENDINGS[:2]:
        return True
    try:
        lines = [cells for _, cells in islice(split_lines(path), 5)]
    except DataError:
        return False
    return bool(lines) and all(2 <= len(c) <= 4 and (c[0] + c[1]).isdecimal() for c in lines)


def read_edge_list(path: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError naming the file and the line of what is wrong."""
    rows: dict[str, int] = {}
    labels_file = _labels_file(path)
    found: dict[str, list[str]] = {}
    if labels_file is not None:
        found = _read_labels(labels_file)
        rows = {node: row for row, node in enumerate(found)}
    num_labelled = len(rows)
    src, dst = [], []
    edges = EdgeLines(path, reading)
    for line, cells in edges:
        first, second = ends_of(path, line, cells)
        edges.keep(line, cells)
        src.append(rows.setdefault(first, len(rows)))
        dst.append(rows.setdefault(second, len(rows)))
    if not src:
        raise DataError(f"{path}: no edges in it")
    edge_names, edge_attr, told = edges.result()
    notes = [f"layout: list of edges, {path.name}", *told]
    lacking = len(rows) - num_labelled
    if labels_file is not None:
        notes.append(f"{labels_file.name}: labels of {num_labelled:,} nodes")
        if lacking:
            notes.append(f"{lacking:,} nodes of {path.name} are not in {labels_file.name}")
    labels, names, said = _labels(found, len(rows))
    return RawDataset(
        path=str(path),
        graph=ArcList(src, dst, len(rows), edge_attr),
        features=np.zeros((len(rows), 0), np.float32),
        labels=labels,
        split=None,
        node_ids=text_array(str(path), list(rows)),
        sources=dict.fromkeys(("features", "labels", "split"), str(labels_file or path)),
        class_names=names,
        edge_names=edge_names,
        notes=(*notes, *said),
    )


class EdgeLines:
    """Goes through the lines of a list of edges, once, and keeps the features that are chosen.

    Raises DataError for a name that no cell has, and where a line has more or fewer of them.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path = path
        _, first = next(split_lines(path), (0, []))
        self.width, self.more = len(first), False
        there = ["weight"] if self.width == 3 else [f"column{n}" for n in range(3, self.width + 1)]
        by_name = reading.edge_features not in (AUTO, NONE)
        wanted = chosen_columns(str(path), there, reading.edge_features) if by_name else []
        places = {name: 2 + there.index(name) for name in wanted}
        self.features = columns_of_edges(str(path), places)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self.features.watch(self._lines())

    def keep(self, line: int, cells: list[str]) -> None:
        """Take the features of an edge that stays in the graph."""
        self.features.add(line, cells)

    def result(self) -> tuple[tuple[str, ...] | None, np.ndarray | None, list[str]]:
        """The names and numbers (E, B) of the features of the edges, and what to say."""
        if not self.features.columns:
            unused = f"{self.path.name}: what follows the two ids of a line is not used"
            return None, None, [unused] if self.more else []
        numbers, names, said = self.features.result()
        said.insert(0, f"{len(names)} features of edges: {listed(names)}")
        told = [f"{self.path.name}: {note}" for note in said]
        return names, numbers.astype(np.float32), told

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        for line, cells in split_lines(self.path):
            self.more |= len(cells) > 2
            if self.features.columns and len(cells) != self.width:
                raise DataError(
                    f"{self.path}: line {line} has {len(cells):,} cells, the first {self.width:,}; "
                    "features of edges need as many in every line, or none (edge_features)"
                )
            yield line, cells


def _labels_file(path: Path) -> Path | None:
    beside = [
        other
        for other in sorted(path.parent.iterdir())
        if LABEL in other.name.lower() and other.is_file() and other != path
    ]
    stem = bare(path).stem.lower()
    named = [other for other in beside if stem in other.name.lower()]
    start = [other for other in beside if other.name.lower().startswith(stem.partition(".")[0])]
    for some in (named, start, beside):
        if len(some) == 1:
            return some[0]
        if some:
            raise DataError(
                f"{path}: several files of labels: {', '.join(other.name for other in some)}; "
                "leave one beside the edges"
            )
    return None


def _read_labels(path: Path) -> dict[str, list[str]]:
    """id -> its labels; a first line that names columns is no node."""
    found: dict[str, list[str]] = {}
    for line, cells in split_lines(path):
        if not found and line == 1 and LABEL in " ".join(cells[1:]).lower():
            continue
        if cells[0] in found:
            raise DataError(f"{path}: line {line}: the id {cells[0][:80]!r} for the second time")
        found[cells[0]] = cells[1:]
    return found


def _labels(
    found: dict[str, list[str]], num_nodes: int
) -> tuple[np.ndarray | None, tuple[str, ...] | None, tuple[str, ...]]:
    """Labels of the nodes in their order, NaN for those that have none."""
    if not any(found.values()):
        return None, None, ()
    if max(map(len, found.values())) < 2:
        texts = [labels[0] if labels else "" for labels in found.values()]
        classes = code_classes(texts + [""] * (num_nodes - len(texts)))
        return classes.places, classes.names, classes.notes
    every = sorted({label for labels in found.values() for label in labels})
    if all(map(str.isdecimal, every)):
        every.sort(key=float)
    place = {label: at for at, label in enumerate(every)}
    values = np.full((num_nodes, len(every)), np.nan)
    for row, labels in enumerate(found.values()):
        if labels:
            values[row] = 0
            values[row, [place[label] for label in labels]] = 1
    return values, tuple(every), ()
