"""What is told of a graph of nodes, and plain readings of files of the usual layouts."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import Facts, Touched, UnclearError, by_facts, plain_npy

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.load import load_nodes

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
    arcs = [arc_of(ids[a], ids[b]) for a, b in zip(*d.graph.edges(), strict=True)]
    facts |= dict.fromkeys(arcs, True)
    if d.graph.edge_attr is not None:
        edge_names = d.edge_names or tuple(range(d.graph.edge_dim))
        for (_, *ends), row in zip(arcs, d.graph.edge_attr.tolist(), strict=True):
            for name, value in zip(edge_names, row, strict=True):
                facts.setdefault(("edge", *ends, name), set()).add(value)  # of both ways
    return facts


def load(path: Path, **choices: Any) -> Facts:
    return told(load_nodes(path, name="fuzz", unflagged="context", **choices))


def load_undivided(path: Path, **choices: Any) -> Facts:
    """Of files without a split; which nodes a drawn one takes depends on how many there are."""
    facts = load(path, split_shares=(50, 25, 25), **choices)
    return {key: value for key, value in facts.items() if key[1] != "split"}


def of_nodes(read: Callable[[bytes], Facts]) -> Touched:
    return with_labels(by_facts(read))


def with_labels(touched_alone: Touched) -> Touched:
    """A node that another split takes, or none, shows or hides its labels too, and one that loses
    its label leaves the split."""

    def touched(whole: bytes, damaged: bytes) -> set[Any]:
        found = touched_alone(whole, damaged)
        found |= {(key[0], "split") for key in found if str(key[1]).startswith("label")}
        moved = {key[0] for key in found if key[1] == "split" or str(key[1]).endswith("_mask")}
        shown = ("split", "label", *(f"label:{name}" for name in "012xyz"))
        return found | {(node, name) for node in moved for name in shown}

    return touched


def arc_of(a: Any, b: Any) -> tuple[str, str, str]:
    return ("arc", *sorted((str(a), str(b))))  # type: ignore[return-value]


def csv_rows(content: bytes) -> list[list[str]]:
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    first = text.readline()
    separator = max(",;\t", key=first.count)
    text.seek(0)
    rows = csv.reader(text, delimiter=separator)
    return [row for row in ([cell.strip() for cell in cells] for cells in rows) if any(row)]


def nodes_csv(content: bytes) -> Facts:
    """(id, column) -> the cell."""
    header, *rows = csv_rows(content)
    columns = [c.lower() if c.lower() in {*WORDS, "id"} else c for c in header]
    names = [f"label:{c[6:].strip()}" if c.lower().startswith("label:") else c for c in columns]
    at = names.index("id")
    return {(row[at], name): row[n] for row in rows for n, name in enumerate(names) if n != at}


def edges_csv(content: bytes) -> Facts:
    header, *rows = csv_rows(content)
    lowered = [name.lower() for name in header]
    pairs = [("source", "target"), ("src", "dst"), ("from", "to")]
    a, b = next(pair for pair in pairs if {*pair} <= {*lowered})
    a, b = lowered.index(a), lowered.index(b)
    return {arc_of(row[a], row[b]): True for row in rows}


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
            facts[arc_of(*(prefix + name for name in names))] = True
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
    named = ("class_names", "feature_names", "edge_names", "num_classes")
    return {name: meta.get(name) for name in named}


def names_only(whole: bytes, damaged: bytes) -> set[Any]:
    if meta_json(whole) != meta_json(damaged):
        raise UnclearError
    return set()
