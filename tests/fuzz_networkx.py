"""Graphs that networkx wrote, where it is installed, and plain readings of them: see fuzzing.py."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fuzzing import Facts, Sample, UnclearError
from plain_nodes import arc_of, load, of_nodes
from small_public import write_networkx

from gaancore.data import Reading

NAMES = {"club": "label", "split": "split"}
TOKEN = r"\"[^\"]*\"|#.*|[][]|[A-Za-z]\w*|[+-]?[0-9.]+(?:[eE][+-]?\d+)?"  # of GML


def _told(nodes: dict[str, dict[str, str | None]], ends: Iterable[Sequence[str]]) -> Facts:
    """What stands at a node, and for other text than labels whether it is there, for each node."""
    facts: Facts = {arc_of(a, b): True for a, b in ends}
    for node, own in nodes.items():
        facts |= {(node, NAMES.get(name, name)): value for name, value in own.items()}
    texts = {item for own in nodes.values() for item in own.items() if item[0] not in NAMES}
    for name, text in texts:
        facts |= {(n, f"{name}={text}"): own.get(name) == text for n, own in nodes.items()}
    return facts


def graphml(content: bytes) -> Facts:
    root = ElementTree.fromstring(content)
    names = {key.get("id"): key.get("attr.name", "") for key in root.iterfind("{*}key")}
    nodes = {
        node.get("id", ""): {names[d.get("key")]: d.text for d in node.iterfind("{*}data")}
        for node in root.iterfind("{*}graph/{*}node")
    }
    return _told(nodes, _ends(root))


def gexf(content: bytes) -> Facts:
    root = ElementTree.fromstring(content)
    names = {
        item.get("id"): item.get("title", "")
        for group in root.iterfind(".//{*}attributes")
        if group.get("class") == "node"
        for item in group
    }
    nodes = {
        node.get("id", ""): {
            names[v.get("for")]: v.get("value") for v in node.iterfind(".//{*}attvalue")
        }
        for node in root.iterfind("{*}graph/{*}nodes/{*}node")
    }
    return _told(nodes, _ends(root))


def _ends(root: ElementTree.Element) -> list[tuple[str, str]]:
    edges = [*root.iterfind("{*}graph/{*}edge"), *root.iterfind("{*}graph/{*}edges/{*}edge")]
    return [(edge.get("source", ""), edge.get("target", "")) for edge in edges]


def gml(content: bytes) -> Facts:
    tokens = (text for text in re.findall(TOKEN, content.decode("ascii")) if text[0] != "#")
    graph = next(value for key, value in _items(tokens) if key == "graph")
    parts = [dict(value) for key, value in graph if key == "node"]
    name_of = {int(own.pop("id")): own["label"] for own in parts}
    nodes = {own.pop("label"): own for own in parts}
    if len(nodes) < len(parts):
        raise UnclearError  # a label that is there twice is no name
    edges = [dict(value) for key, value in graph if key == "edge"]
    return _told(
        nodes, [[name_of[int(edge[end])] for end in ("source", "target")] for edge in edges]
    )


def _items(tokens: Iterator[str]) -> list[tuple[str, Any]]:
    """Keys and values, up to a bracket that closes them."""
    items: list[tuple[str, Any]] = []
    for key in tokens:
        if key == "]":
            break
        value = next(tokens)
        items.append((key, _items(tokens) if value == "[" else value.strip('"')))
    return items


def _load(folder: Path) -> Facts:
    return load(folder, reading=Reading(label="club"))


SAMPLES = {
    kind: Sample(partial(write_networkx, kind=kind), _load, {f"toy.{kind}": of_nodes(read)})
    for kind, read in {"graphml": graphml, "gml": gml, "gexf": gexf}.items()
    if find_spec("networkx")
}
