"""`NAME.content` and `NAME.cites`: Cora's and Citeseer's papers as LINQS gives them out.

A line of content is an id, the features and the class; a line of cites is two ids. Cells are
separated by tabs, spaces or commas. There is no split.
Origin: P. Sen et al., "Collective classification in network data" (AI Magazine 2008).
"""

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import open_text
from gaancore.data.files.ids import text_array
from gaancore.data.files.number_table import parse_numbers
from gaancore.data.nodes.labels import code_classes
from gaancore.data.nodes.layouts.texts.joined_edges import join_edges
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

CONTENT, CITES = ".content", ".cites"


def read_content(content: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError naming the file and the line of what is wrong."""
    cites = content.with_suffix(CITES)
    rows: dict[str, int] = {}
    features, labels = array("d"), list[str]()
    width = 0
    for line, cells in split_lines(content):
        width = width or len(cells)
        if len(cells) != width or width < 2:
            raise DataError(
                f"{content}: line {line} has {len(cells):,} cells, the first {width:,}; expected "
                "an id, as many features in every line, and a class"
            )
        if rows.setdefault(cells[0], len(rows)) != len(labels):
            raise DataError(f"{content}: line {line}: the id {cells[0][:80]!r} for the second time")
        features.extend(
            parse_numbers(content, line, cells[1:-1], range(2, width), remedy="expected a feature")
        )
        labels.append(cells[-1])
    if not rows:
        raise DataError(f"{content}: no nodes in it")
    pairs = ((line, ends_of(cites, line, cells)) for line, cells in split_lines(cites))
    drop = reading.unknown_edges == "drop"
    src, dst, notes = join_edges(cites, pairs, rows, content.name, drop=drop)
    classes = code_classes(labels)
    return RawDataset(
        path=str(content),
        graph=ArcList(src, dst, len(rows)),
        features=np.array(features).reshape(len(rows), width - 2),
        labels=classes.places if classes.names else None,
        split=None,
        node_ids=text_array(str(content), list(rows)),
        sources=dict.fromkeys(("features", "labels", "split"), str(content)),
        class_names=classes.names or None,
        notes=(f"layout: {content.name} and {cites.name}", *classes.notes, *notes),
    )


def split_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line number from 1, cells) of each line that has any and is no comment (`#` or `%`)."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if line[:1] not in "#%" and (cells := line.replace(",", " ").split()):
                yield number, cells


def ends_of(path: Path, line: int, cells: list[str]) -> tuple[str, str]:
    """The two ids that a line begins with. Raises DataError if there are not two."""
    if len(cells) < 2:
        raise DataError(f"{path}: line {line}: one id, {cells[0][:80]!r}, where an edge has two")
    return cells[0], cells[1]
