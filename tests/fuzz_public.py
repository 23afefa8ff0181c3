"""Small graphs in the layouts of public projects, and plain readings of them: see fuzzing.py."""

import io
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import Facts, Sample, by_facts, plain_npy
from plain_nodes import (
    arc_of,
    csv_rows,
    load,
    load_undivided,
    nodes_csv,
    of_nodes,
    one_npy,
    rows_npy,
    with_labels,
)
from scipy import sparse
from small_files import npz_arrays, write_csv, write_npz
from small_public import (
    NAMES_OF_ATTRIBUTED,
    OGB,
    attributed,
    csr_matrix,
    write_gz,
    write_ogb,
    write_planetoid,
)

from gaancore.data import Reading

# ------------------------------------------------------------------ Planetoid


class _Plain(pickle._Unpickler):
    """Python's own reader, which makes real arrays."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "csr_matrix":
            return csr_matrix
        assert name in ("_reconstruct", "ndarray", "dtype")
        return super().find_class(module, name)


def _unpickled(content: bytes) -> Any:
    return _Plain(io.BytesIO(content), encoding="latin1").load()


def _table(content: bytes) -> np.ndarray:
    value = _unpickled(content)
    if isinstance(value, np.ndarray):
        return value
    v = value.__dict__
    found: np.ndarray = sparse.csr_matrix(
        (v["data"], v["indices"], v["indptr"]), v["_shape"]
    ).toarray()
    return found


def _features(rows: Sequence[int]) -> Callable[[bytes], Facts]:
    return lambda content: {
        (str(rows[r]), c): float(x) for (r, c), x in np.ndenumerate(_table(content))
    }


def _one_hot(rows: Sequence[int]) -> Callable[[bytes], Facts]:
    """A row with two classes makes them several labels, everywhere."""

    def read(content: bytes) -> Facts:
        table = _table(content)
        facts: Facts = {(str(rows[r]), "label"): row for r, row in enumerate(table.tolist())}
        if (table.sum(axis=1) > 1).any():
            facts |= {(str(node), "label"): "several" for node in range(9)}
        return facts

    return read


def _labelled(content: bytes) -> Facts:
    count = len(_table(content))
    return {(str(node), "split"): node < count for node in range(5)}


def _neighbours(content: bytes) -> Facts:
    graph = _unpickled(content)
    return {arc_of(node, other): True for node, others in graph.items() for other in others}


def _test_index(content: bytes) -> Facts:
    order = [int(text) for text in content.decode("utf-8-sig").split()]
    return {
        (str(node), name): order.index(node) if node in order else "nothing of it"
        for node in range(5, max(order) + 1)
        for name in (*range(4), "split", "label")
    }


PLANETOID = {
    "tx": by_facts(_features([8, 6])),
    "allx": by_facts(_features(range(5))),
    "y": of_nodes(_labelled),
    "ty": of_nodes(_one_hot([8, 6])),
    "ally": of_nodes(_one_hot(range(5))),
    "graph": by_facts(_neighbours),
    "test.index": of_nodes(_test_index),
}

# ------------------------------------------------------------------ OGB


def _number(text: str) -> str:
    """Of a node."""
    number = float(text)
    assert number.is_integer()
    return str(int(number))


def _ogb_edges(content: bytes) -> Facts:
    return {arc_of(*map(_number, row)): True for row in csv_rows(content)}


def _ogb_features(content: bytes) -> Facts:
    rows = enumerate(csv_rows(content))
    return {(str(r), c): cell for r, row in rows for c, cell in enumerate(row)}


def _ogb_labels(content: bytes) -> Facts:
    return {(str(r), "label"): row for r, row in enumerate(csv_rows(content))}


def _ogb_part(content: bytes) -> Facts:
    return {(_number(row[0]), "split"): True for row in csv_rows(content)}


OGB_UNPACKED = {
    "raw/edge.csv": by_facts(_ogb_edges),
    "raw/node-feat.csv": by_facts(_ogb_features),
    "raw/node-label.csv": of_nodes(_ogb_labels),
    **{f"split/time/{part}.csv": of_nodes(_ogb_part) for part in ("train", "valid", "test")},
}


def write_ogb_unpacked(folder: Path) -> None:
    for name, text in OGB.items():
        path = folder / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# ------------------------------------------------------------------ lists of words


def _words(content: bytes) -> list[list[str]]:
    """Cells between spaces or commas, of lines that are no comments."""
    lines = io.StringIO(content.decode("utf-8-sig"), newline="")
    kept = [line.replace(",", " ").split() for line in lines if line[:1] not in "#%"]
    return [cells for cells in kept if cells]


def _content(content: bytes) -> Facts:
    facts: Facts = {}
    for node, *cells, label in _words(content):
        facts |= {(node, c): cell for c, cell in enumerate(cells)} | {(node, "label"): label}
    return facts


def _listed_arcs(content: bytes) -> Facts:
    return {arc_of(*cells[:2]): True for cells in _words(content)}


def _weighted_arcs(content: bytes) -> Facts:
    facts: Facts = {}
    for a, b, weight in _words(content):
        _, *pair = arc = arc_of(a, b)
        facts[arc] = True
        facts.setdefault(("edge", *pair, "weight"), set()).add(weight)
    return facts


def _listed_edges(content: bytes) -> Facts:
    """The one feature of a node says that it is there."""
    ends = {end for cells in _words(content) for end in cells[:2]}
    return _listed_arcs(content) | {(end, "one"): True for end in ends}


def _listed_labels(content: bytes) -> Facts:
    rows = {node: labels for node, *labels in _words(content)}
    facts: Facts = {(node, "one"): True for node in rows}
    if max(map(len, rows.values())) < 2:
        return facts | {(node, "label"): labels for node, labels in rows.items()}
    every = {label for labels in rows.values() for label in labels}
    return facts | {
        (node, f"label:{name}"): name in labels
        for node, labels in rows.items()
        for name in every
        if labels
    }


def write_texts(**texts: str) -> Callable[[Path], None]:
    """Files by their names, `_` for the dot."""

    def write(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")

    return write


ONES = Reading(features="ones")
LIST = "# Undirected: toy\n10 7\n7\t3 0.5\n3,10\n5 5\n"
NODES = "id,x,label,split\na,1.5,red,train\nb,2.5,blue,train\nc,3.5,red,val\nd,4.5,blue,test\n"
EDGES = "src,dst,amount,kind\na,b,1.5,card\nc,b,2,wire\nc,d,-3,card\nd,d,7,wire\n"


def _of_list(labels: str) -> Sample:
    return Sample(
        write_texts(toy_edgelist=LIST, toy_labels=labels),
        lambda folder: load_undivided(folder, reading=ONES),
        {"toy.edgelist": by_facts(_listed_edges), "toy.labels": of_nodes(_listed_labels)},
    )


# ------------------------------------------------------------------ packed tables, edge features


def write_packed_csv(folder: Path) -> None:
    write_csv(folder)
    for path in (folder / "nodes.csv", folder / "edges.csv"):
        write_gz(path.with_name(f"{path.name}.gz"), path.read_text(encoding="utf-8"))
        path.unlink()


def _edges_with_features(content: bytes) -> Facts:
    """A column is all numbers or all text, which is categories, but for cells of nothing."""
    header, *rows = csv_rows(content)
    lowered = [name.lower() for name in header]
    ends = lowered.index("src"), lowered.index("dst")
    facts: Facts = {}
    for at, name in enumerate(header):
        texts = [row[at] for row in rows]
        told = [text for text in texts if text.lower() not in EMPTY]
        numbers = at not in ends and all(map(_is_number, told))
        assert numbers or at in ends or not any(map(_is_number, told))
        for row, text in zip(rows, texts, strict=True):
            _, *pair = arc = arc_of(*(row[end] for end in ends))
            facts[arc] = True
            values = {name: text} if numbers else {f"{name}={t}": t == text for t in {*told}}
            for feature, value in values.items() if at not in ends else ():
                facts.setdefault(("edge", *pair, feature), set()).add(value)
    return facts


EMPTY = {"", "nan", "na", "n/a", "null", "none"}  # what means that there is nothing


def _is_number(text: str) -> bool:
    if text.lower() in ("true", "false"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_npz_edge_attr(folder: Path) -> None:
    count = npz_arrays()["src"].size
    write_npz(folder, edge_attr=np.arange(2.0 * count).reshape(count, 2))


NODES_OF_NPY = [str(node) for node in range(len(npz_arrays()["x"]))]


def write_npy_files(folder: Path) -> None:
    for name, array in npz_arrays().items():
        np.save(folder / f"{name}.npy", array)


def _ends_with(other: str) -> Callable[[bytes], Facts]:
    """The arcs between the ends in a file and those in another, which is whole."""
    ends = npz_arrays()[other]
    return lambda content: {
        arc_of(*pair): True for pair in zip(plain_npy(content).tolist(), ends, strict=True)
    }


NPY_FILES = {
    "src.npy": by_facts(_ends_with("dst")),
    "dst.npy": by_facts(_ends_with("src")),
    "x.npy": rows_npy(NODES_OF_NPY),
    "y.npy": with_labels(rows_npy(NODES_OF_NPY, "label:")),
    "split.npy": with_labels(one_npy(NODES_OF_NPY, "split")),
}


EDGE_FEATURES = Reading(edge_features="auto")

SAMPLES = {
    "planetoid": Sample(
        lambda folder: write_planetoid(folder, protocol=3),
        load,
        {f"ind.toy.{part}": touched for part, touched in PLANETOID.items()},
    ),
    "attributed npz": Sample(
        lambda folder: np.savez(
            folder / "toy.npz",
            **attributed(("adj_matrix.", "attr_matrix."), **NAMES_OF_ATTRIBUTED),  # type: ignore[arg-type]
        ),
        load_undivided,
    ),
    "ogb": Sample(write_ogb, load),
    "ogb, unpacked": Sample(write_ogb_unpacked, load, OGB_UNPACKED),
    "content and cites": Sample(
        write_texts(
            toy_content="p1\t0\t1\tred\np2,0,1,blue\np3\t1\t1\tred\np4\t1\t0\tblue\n",
            toy_cites="p2\tp1\np1 p3\np3\tp3\n",
        ),
        load_undivided,
        {"toy.content": of_nodes(_content), "toy.cites": by_facts(_listed_arcs)},
    ),
    "edge list, classes": _of_list("3 b\n7 a\n10 b\n4 a\n"),
    "edge list, several labels": _of_list("3 10 2\n7 2\n10 10\n4 2 10\n"),
    "edge list beside nodes": Sample(
        write_texts(nodes_csv=NODES, toy_edgelist="# toy\na b\nc\tb 2\nc,d\nd d\n"),
        load,
        {"nodes.csv": of_nodes(nodes_csv), "toy.edgelist": by_facts(_listed_arcs)},
    ),
    "edge list beside nodes, weights": Sample(
        write_texts(nodes_csv=NODES, toy_edgelist="a b 1.5\nc\tb 2\nc,d,-3\nd d 7\n"),
        lambda folder: load(folder, reading=Reading(edge_features="weight")),
        {"nodes.csv": of_nodes(nodes_csv), "toy.edgelist": by_facts(_weighted_arcs)},
    ),
    "csv, packed": Sample(write_packed_csv, load),
    "csv, features of edges": Sample(
        write_texts(nodes_csv=NODES, edges_csv=EDGES),
        lambda folder: load(folder, reading=EDGE_FEATURES),
        {"nodes.csv": of_nodes(nodes_csv), "edges.csv": by_facts(_edges_with_features)},
    ),
    "npy files": Sample(write_npy_files, load, NPY_FILES),
    "npz, features of edges": Sample(
        write_npz_edge_attr, lambda folder: load(folder, reading=EDGE_FEATURES)
    ),
}
