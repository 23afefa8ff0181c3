"""Graphs that networkx wrote, where it is installed, and plain readings of them: see fuzzing.py."""

import re
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from fuzzing import Facts, Sample, UnclearError
from plain_nodes import arc_of, load, of_nodes
from small_public import write_networkx

from gaancore.data import Reading


def _attributes(facts: dict[str, str | None]) -> dict[str, str | None]:
    return {"label" if name == "club" else name: value for name, value in facts.items()}


def graphml(content: bytes) -> Facts:
    root = ElementTree.fromstring(content)
    names = {key.get("id"): key.get("attr.name", "") for key in root.iterfind("{*}key")}
    facts: Facts = {}
    for node in root.iterfind(".//{*}node"):
        own = {names[data.get("key")]: data.text for data in node.iterfind("{*}data")}
        facts |= {(node.get("id"), name): value for name, value in _attributes(own).items()}
    ends = [(edge.get("source"), edge.get("target")) for edge in root.iterfind(".//{*}edge")]
    return facts | {arc_of(a, b): True for a, b in ends}


def gexf(content: bytes) -> Facts:
    root = ElementTree.fromstring(content)
    names = {
        item.get("id"): item.get("title", "")
        for group in root.iterfind(".//{*}attributes")
        if group.get("class") == "node"
        for item in group
    }
    facts: Facts = {}
    for node in root.iterfind(".//{*}node"):
        values = {names[v.get("for")]: v.get("value") for v in node.iterfind(".//{*}attvalue")}
        facts |= {(node.get("id"), name): value for name, value in _attributes(values).items()}
    ends = [(edge.get("source"), edge.get("target")) for edge in root.iterfind(".//{*}edge")]
    return facts | {arc_of(a, b): True for a, b in ends}


def gml(content: bytes) -> Facts:
    text = content.decode("ascii")
    facts: Facts = {}
    name_of = {}
    for block in re.findall(r"\bnode\s*\[(.*?)\]", text, re.DOTALL):
        own = dict(re.findall(r"(\w+)\s+(\"[^\"]*\"|\S+)", block))
        name = name_of[own.pop("id")] = own.pop("label").strip('"')
        facts |= {(name, key): value for key, value in _attributes(own).items()}
    if len({*name_of.values()}) < len(name_of):
        raise UnclearError  # a label that is there twice is no name
    for block in re.findall(r"\bedge\s*\[(.*?)\]", text, re.DOTALL):
        own = dict(re.findall(r"(\w+)\s+(\"[^\"]*\"|\S+)", block))
        facts[arc_of(name_of[own["source"]], name_of[own["target"]])] = True
    return facts


def _load(folder: Path) -> Facts:
    return load(folder, reading=Reading(label="club"))


SAMPLES = {
    kind: Sample(partial(write_networkx, kind=kind), _load, {f"toy.{kind}": of_nodes(read)})
    for kind, read in {"graphml": graphml, "gml": gml, "gexf": gexf}.items()
    if find_spec("networkx")
}
