"""Small graphs in every layout of nodes, and plain readings of their files: see fuzzing.py."""

import csv
import io
import json
import multiprocessing
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import Facts, Sample, Touched, UnclearError, by_bytes, by_facts, plain_npy
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
    write_matlab,
    write_npz,
    write_npz_csr,
    write_npz_edge_index,
    write_reddit,
)

from gaancore.data.files.matlab import child, reader
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.load import load_nodes
from gaancore.data.nodes.store.convert import write_store

WORDS = {"split", "label", "graph_id"}


def told(d: NodeDataset) -> Facts:
    """Every value of a dataset, by what the files call it."""
    assert all(note.isprintable() for note in d.notes), d.notes
    ids = list(map(str, d.node_ids.tolist()))
    features = d.feature_names or tuple(range(d.num_features))
    classes = d.class_names or tuple(map(str, range(d.num_classes)))
    facts: Facts = {}
    for row, node in enumerate(ids):
        facts |= {(node, name): float(x) for name, x in zip(features, d.features[row], strict=True)}
        facts[node, "split"] = int(d.split[row])
        if d.graph_ids is not None:
            facts[node, "graph_id"] = int(d.graph_ids[row])
        if d.split[row] < 0:
            continue  # its label means nothing
        if d.multi_label:
            values = zip(classes, d.labels[row].tolist(), strict=True)
            facts |= {(node, f"label:{name}"): value for name, value in values}
        else:
            facts[node, "label"] = classes[d.labels[row]]
    src, dst = d.graph.edges()
    return facts | {("arc", *sorted((ids[a], ids[b]))): True for a, b in zip(src, dst, strict=True)}


def load(path: Path, **choices: Any) -> Facts:
    return told(load_nodes(path, name="fuzz", unflagged="context", **choices))


def of_nodes(read: Callable[[bytes], Facts]) -> Touched:
    """As `by_facts`; a node that another split takes, or none, shows or hides its labels too."""

    def touched(whole: bytes, damaged: bytes) -> set[Any]:
        found = by_facts(read)(whole, damaged)
        moved = {key[0] for key in found if key[1] == "split" or str(key[1]).endswith("_mask")}
        shown = ("split", "label", *(f"label:{name}" for name in "012xyz"))
        return found | {(node, name) for node in moved for name in shown}

    return touched


def _arc(a: Any, b: Any) -> tuple[str, str, str]:
    return ("arc", *sorted((str(a), str(b))))  # type: ignore[return-value]


def _csv(content: bytes) -> list[list[str]]:
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    first = text.readline()
    separator = max(",;\t", key=first.count)
    text.seek(0)
    rows = csv.reader(text, delimiter=separator)
    return [row for row in ([cell.strip() for cell in cells] for cells in rows) if any(row)]


def nodes_csv(content: bytes) -> Facts:
    """(id, column) -> the cell."""
    header, *rows = _csv(content)
    columns = [c.lower() if c.lower() in {*WORDS, "id"} else c for c in header]
    names = [f"label:{c[6:].strip()}" if c.lower().startswith("label:") else c for c in columns]
    at = names.index("id")
    return {(row[at], name): row[n] for row in rows for n, name in enumerate(names) if n != at}


def edges_csv(content: bytes) -> Facts:
    header, *rows = _csv(content)
    lowered = [name.lower() for name in header]
    pairs = [("source", "target"), ("src", "dst"), ("from", "to")]
    a, b = next(pair for pair in pairs if {*pair} <= {*lowered})
    a, b = lowered.index(a), lowered.index(b)
    return {_arc(row[a], row[b]): True for row in rows}


def graph_json(prefix: str = "") -> Touched:
    """Flags and links of node-link JSON; a number at an end may be a position."""

    def read(content: bytes) -> Facts:
        document = json.loads(content)
        ids = [str(node["id"]) for node in document["nodes"]]
        facts: Facts = {}
        for node, name in zip(document["nodes"], ids, strict=True):
            facts[name, "split"] = (node.get("val"), node.get("test"))
        for link in document.get("links", document.get("edges")):
            ends = [link["source"], link["target"]]
            names = [str(e) if str(e) in ids or type(e) is str else ids[e] for e in ends]
            facts[_arc(*(prefix + name for name in names))] = True
        return facts

    return of_nodes(read)


def class_map(content: bytes) -> Facts:
    facts: Facts = {}
    for node, labels in json.loads(content).items():
        if isinstance(labels, list):
            facts |= {(node, f"label:{c}"): label for c, label in enumerate(labels)}
        else:
            facts[node, "label"] = labels
    return facts


def role(content: bytes) -> Facts:
    roles = json.loads(content)
    return {(str(i), "split"): key for key in ("tr", "va", "te") for i in roles[key]}


def rows_npy(ids: Sequence[str], prefix: str = "") -> Touched:
    """A row for each of `ids`."""

    def read(content: bytes) -> Facts:
        table = plain_npy(content).reshape(len(ids), -1)
        cells = np.ndenumerate(table)
        return {(ids[row], f"{prefix}{c}" if prefix else c): x.tobytes() for (row, c), x in cells}

    return by_facts(read)


def one_npy(ids: Sequence[str], name: str) -> Touched:
    return by_facts(
        lambda content: dict(
            zip([(i, name) for i in ids], plain_npy(content).tolist(), strict=True)
        )
    )


def meta_json(content: bytes) -> Facts:
    meta = json.loads(content)
    named = ("class_names", "feature_names", "num_classes")
    return {name: meta.get(name) for name in named}


def _names_only(whole: bytes, damaged: bytes) -> set[Any]:
    if meta_json(whole) != meta_json(damaged):
        raise UnclearError
    return set()


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
        "toy-class_map.json": by_facts(class_map),
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


def _forked(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[bytes]":
    """Stands for `subprocess.run`: the same child, forked, which spares the start of Python."""
    path, *rest = command[3:]
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_main, args=(sender, path, *rest))
    process.start()
    sender.close()
    try:
        output = receiver.recv_bytes()
    except EOFError:
        output = b""
    process.join()
    return subprocess.CompletedProcess(command, process.exitcode or 0, output, b"")


def _main(sender: Any, *arguments: str) -> None:
    import contextlib

    with contextlib.redirect_stdout(io.StringIO()) as out:
        child.main(*arguments)
    sender.send_bytes(out.getvalue().encode())


def load_matlab(folder: Path) -> Facts:
    reader.subprocess.run = _forked  # type: ignore[assignment]
    return load(folder / "toy.mat", split_shares=(50, 25, 25))


FEATURE_TABLE = np.array(FEATURES)
ENTRIES = [(r, c) for c in range(2) for r in range(6) if FEATURES[r][c]]  # column by column
MATLAB = by_bytes(
    (np.array([FEATURES[r][c] for r, c in ENTRIES]), [(str(r), c) for r, c in ENTRIES]),
    (np.array(CLASSES, np.uint8) + 1, [(str(r), "label") for r in range(6)]),
)


def _files(write: Callable[[Path], Any], name: str) -> Sample:
    return Sample(write, lambda folder: load(folder / name))


SAMPLES = {
    "graphsaint": Sample(
        write_graphsaint,
        load,
        {
            "feats.npy": rows_npy(POSITIONS),
            "class_map.json": by_facts(class_map),
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
    "matlab": Sample(lambda f: write_matlab(f), load_matlab, {"toy.mat": MATLAB}),
    "store, several labels": Sample(_write_store, load, {"meta.json": _names_only}),
    "store, classes": Sample(_write_class_store, load, {"meta.json": _names_only}),
}
