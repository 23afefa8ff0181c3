"""networkx's node-link JSON, read without networkx.

{"nodes": [{"id": ..., ...}, ...], "links": [{"source": ..., "target": ...}, ...]}. What an
endpoint means depends on the networkx that wrote the file: a POSITION in `nodes` (1.x), or a node
id (2.x and later; 3.4 also renamed `links` to `edges`).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.system.disk import read_json


@dataclass(frozen=True)
class NodeLink:
    """nodes: their attributes, `id` among them. graph: the links, one way, between positions."""

    nodes: list[dict[str, Any]]
    graph: CSRGraph

    @property
    def ids(self) -> list[str]:
        """The node ids as text, which is how other JSON files use them as keys."""
        return [str(node["id"]) for node in self.nodes]


def read_node_link(path: Path) -> NodeLink:
    """Read the graph. Raises DataError naming the first bad node or link."""
    document = read_json(path)
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, list) or not nodes:
        raise DataError(f"{path}: no list `nodes` with nodes in it; expected node-link JSON")
    key = next((k for k in ("links", "edges") if isinstance(document.get(k), list)), None)
    if key is None:
        raise DataError(
            f"{path}: neither a list `links` nor a list `edges`; expected node-link JSON"
        )
    positions = _positions(path, nodes)
    ends = _endpoints(path, key, document[key])
    table = _meaning(path, key, positions, ends)
    try:
        pairs = np.array([table[end] for end in ends], dtype=np.int64).reshape(-1, 2)
    except KeyError as error:
        raise _unknown_endpoint(path, key, table, ends) from error
    graph = CSRGraph.from_edges(pairs[:, 0], pairs[:, 1], len(nodes), duplicates="keep")
    return NodeLink(nodes, graph)


def _is_id(value: Any) -> TypeGuard[int | str]:
    return type(value) in (int, str)  # not bool, which is an int to isinstance


def _positions(path: Path, nodes: list[Any]) -> dict[int | str, int]:
    """Node id -> position."""
    positions: dict[int | str, int] = {}
    for place, node in enumerate(nodes):
        node_id = node.get("id") if isinstance(node, dict) else None
        if not _is_id(node_id):
            raise DataError(f"{path}: nodes[{place}] has no `id` that is an integer or a string")
        if positions.setdefault(node_id, place) != place:
            raise DataError(
                f"{path}: nodes[{positions[node_id]}] and nodes[{place}] have the same id "
                f"{node_id!r}; ids must differ"
            )
    return positions


def _endpoints(path: Path, key: str, links: list[Any]) -> list[int | str]:
    """source, target, source, target, ... as in the file."""
    ends: list[int | str] = []
    for place, link in enumerate(links):
        pair = (link.get("source"), link.get("target")) if isinstance(link, dict) else (None, None)
        for end in pair:
            if not _is_id(end):
                raise DataError(
                    f"{path}: {key}[{place}] needs a `source` and a `target` that are integers "
                    f"or strings, got {pair[0]!r} and {pair[1]!r}"
                )
            ends.append(end)
    return ends


def _meaning(
    path: Path, key: str, positions: dict[int | str, int], ends: list[int | str]
) -> dict[int | str, int]:
    """Endpoint -> position, under the reading of the endpoints that fits the file."""
    by_position: dict[int | str, int] = {i: i for i in range(len(positions))}
    used = set(ends)
    are_ids, are_positions = used <= positions.keys(), used <= by_position.keys()
    if key == "links" and are_positions and not are_ids:
        return by_position
    if key == "links" and are_positions and any(positions[end] != end for end in used):
        raise DataError(
            f"{path}: links could name node ids or positions in `nodes`, and the two differ; "
            "rename `links` to `edges` if they are ids, or write the node ids as strings if they "
            "are positions"
        )
    return positions


def _unknown_endpoint(
    path: Path, key: str, table: dict[int | str, int], ends: list[int | str]
) -> DataError:
    place = next(i for i, end in enumerate(ends) if end not in table)
    numbers = [end for end in ends if isinstance(end, int)]
    one_based = bool(numbers) and min(numbers) == 1 and max(numbers) == len(table)
    hint = "the ids look 1-based: subtract 1" if one_based else "add the node or remove the link"
    return DataError(
        f"{path}: {key}[{place // 2}] ends at {ends[place]!r}, which is neither the id of a node "
        f"nor a position below {len(table)}; {hint}"
    )
