"""Small graphs in the usual layouts of nodes: see fuzzing.py."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing import Sample, Touched, by_facts
from plain_nodes import (
    class_map,
    edges_csv,
    graph_json,
    load,
    names_only,
    nodes_csv,
    of_nodes,
    one_npy,
    role,
    rows_npy,
)
from small_files import (
    CLASSES,
    FEATURES,
    NAMES,
    SPLIT,
    write_csv,
    write_dgl,
    write_graphsage,
    write_graphsaint,
    write_json,
    write_npz,
    write_npz_csr,
    write_npz_edge_index,
    write_reddit,
)

from gaancore.data import Reading
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store

SAGE_IDS = list("fabced")
SAGE_ROWS = [SAGE_IDS[[3, 0, 5, 1, 4, 2].index(row)] for row in range(6)]
POSITIONS = [str(i) for i in range(6)]


def graphsage(number_labels: bool = False, **choices: Any) -> Sample:
    def write(folder: Path) -> None:
        write_graphsage(folder, ids=SAGE_IDS, **choices)
        if number_labels:
            classes = dict(zip(SAGE_IDS, ["red", "blue", "red", "7", "blue", "red"], strict=True))
            write_json(folder / "toy-class_map.json", classes)

    plain = {
        "toy-G.json": graph_json(),
        "toy-class_map.json": of_nodes(class_map),
        "toy-id_map.json": by_facts(
            lambda c: {(node, f): row for node, row in json.loads(c).items() for f in range(2)}
        ),
        "toy-feats.npy": rows_npy(SAGE_ROWS),
    }
    return Sample(write, load, plain)


def _dgl() -> Sample:
    plain: dict[str, Touched] = {}
    for split, count in (("train", 3), ("valid", 1), ("test", 2)):
        ids = [f"{split}/{i}" for i in range(count)]
        plain |= {
            f"{split}_graph.json": graph_json(f"{split}/"),
            f"{split}_feats.npy": rows_npy(ids),
            f"{split}_labels.npy": rows_npy(ids, "label:"),
            f"{split}_graph_id.npy": one_npy(ids, "graph_id"),
        }
    return Sample(write_dgl, load, plain)


def _write_classes_csv(folder: Path) -> None:
    """A class by name, masks, a semicolon between cells."""
    lines = ["id;x1;x2;label;train_mask;val_mask;test_mask"]
    for number, (name, (a, b)) in enumerate(zip(NAMES, FEATURES, strict=True)):
        masks = ";".join(str(SPLIT[number] == part) for part in range(3))
        lines.append(f"{name};{a};{b};{['red', 'Blue', '10'][CLASSES[number]]};{masks}")
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    edges = [f"{NAMES[a]}\t{NAMES[b]}\t0.5" for a, b in [(5, 4), (2, 2), (1, 0), (2, 1)]]
    (folder / "edges.csv").write_text("\n".join(["src\tdst\tw", *edges]) + "\n", encoding="utf-8")


def _write_store(folder: Path) -> None:
    source = folder.with_name(f"{folder.name}-source")
    source.mkdir(exist_ok=True)
    write_csv(source)
    folder.rmdir()
    write_store(read_layout(source), folder, name="toy")


def _write_class_store(folder: Path) -> None:
    source = folder.with_name(f"{folder.name}-source")
    source.mkdir(exist_ok=True)
    write_reddit(source)
    folder.rmdir()
    write_store(read_layout(source), folder, name="toy")


def _write_edge_store(folder: Path) -> None:
    """A weight and a category on every edge."""
    source = folder.with_name(f"{folder.name}-source")
    source.mkdir(exist_ok=True)
    write_csv(source)
    header, *lines = (source / "edges.csv").read_text(encoding="utf-8").splitlines()
    rows = [f"{line},{number / 2},{'ab'[number % 2]}" for number, line in enumerate(lines)]
    table = "\n".join([f"{header},w,kind", *rows])
    (source / "edges.csv").write_text(table, encoding="utf-8")
    folder.rmdir()
    write_store(read_layout(source, Reading(edge_features="auto")), folder, name="toy")


def _files(write: Callable[[Path], Any], name: str) -> Sample:
    return Sample(write, lambda folder: load(folder / name))


SAMPLES = {
    "graphsaint": Sample(
        write_graphsaint,
        load,
        {
            "feats.npy": rows_npy(POSITIONS),
            "class_map.json": of_nodes(class_map),
            "role.json": of_nodes(role),
        },
    ),
    "graphsage, positions": graphsage(),
    "graphsage, ids": graphsage(ends=SAGE_IDS, number_labels=True),
    "dgl ppi": _dgl(),
    "dgl reddit": Sample(write_reddit, load),
    "npz, src dst": _files(write_npz, "toy.npz"),
    "npz, edge_index and masks": _files(write_npz_edge_index, "toy.npz"),
    "npz, csr": _files(write_npz_csr, "toy.npz"),
    "csv, several labels": Sample(
        write_csv, load, {"nodes.csv": of_nodes(nodes_csv), "edges.csv": by_facts(edges_csv)}
    ),
    "csv, classes": Sample(
        _write_classes_csv,
        load,
        {"nodes.csv": of_nodes(nodes_csv), "edges.csv": by_facts(edges_csv)},
    ),
    "store, several labels": Sample(_write_store, load, {"meta.json": names_only}),
    "store, classes": Sample(_write_class_store, load, {"meta.json": names_only}),
    "store, features of edges": Sample(_write_edge_store, load, {"meta.json": names_only}),
}
