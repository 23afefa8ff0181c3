"""networkx's node-link JSON, read without networkx.

{"nodes": [{"id": ..., ...}, ...], "links": [{"source": ..., "target": ...}, ...]}. What an
endpoint means depends on the networkx that wrote the file: a POSITION in `nodes` (1.x), or a node
id (2.x and later; 3.4 also renamed `links` to `edges`). Other programs write the ids as text and
the same numbers at the ends, or the other way round: ids are compared as text. Where both readings
fit and differ, the file is refused.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from gaancore.data.files.ids import text_array
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.system.disk import read_json

SHOWN = 3  # ends in a note


@dataclass(frozen=True)
class NodeLink:
    """nodes: their attributes, `id` among them. graph: the links, one way, between positions.

    notes: how the ends of the links were read, unless they are the ids themselves.
    """

    nodes: list[dict[str, Any]]
    graph: CSRGraph
    notes: tuple[str, ...]

    @property
    def ids(self) -> list[str]:
        """The node ids as text, which is how other JSON files use them as keys."""
        return [str(node["id"]) for node in self.nodes]

    def id_array(self, where: str) -> np.ndarray:
        """(N,) the node ids: integers if all of them fit into 64 bits, else text.

        where : the file, to begin an error with; see `text_array`.
        """
        ids = [node["id"] for node in self.nodes]
        if all(isinstance(node_id, int) for node_id in ids):
            for dtype in (np.int64, np.uint64):
                bounds = np.iinfo(dtype)
                if bounds.min <= min(ids) and max(ids) <= bounds.max:
                    return np.array(ids, dtype)
        return text_array(where, self.ids)


def read_node_link(path: Path, *, drop: bool = False) -> NodeLink:
    """Read the graph. drop: whether links that name an id no node has are left out, and counted.

    Raises DataError naming the first bad node or link."""
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
    by_position = _are_positions(path, key, nodes, positions, ends)
    lost: tuple[str, ...] = ()
    try:
        places = ends if by_position else [positions[str(end)] for end in ends]
    except KeyError as error:
        if not drop:
            raise _unknown_endpoint(path, key, positions, ends) from error
        known = [str(end) in positions for end in ends]
        kept = [known[at] and known[at ^ 1] for at in range(len(ends))]  # both ends of a link
        places = [positions[str(end)] for end, stays in zip(ends, kept, strict=True) if stays]
        lost = (
            f"{path.name}: {(len(ends) - len(places)) // 2:,} of {len(ends) // 2:,} {key} name ids "
            "that no node has; these edges are dropped",
        )
    pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
    graph = CSRGraph.from_edges(pairs[:, 0], pairs[:, 1], len(nodes), duplicates="keep")
    return NodeLink(nodes, graph, (*_notes(path, key, nodes, ends, by_position), *lost))


def _is_id(value: Any) -> TypeGuard[int | str]:
    return type(value) in (int, str)  # not bool, which is an int to isinstance


def _positions(path: Path, nodes: list[Any]) -> dict[str, int]:
    """Node id, as text -> position."""
    positions: dict[str, int] = {}
    for place, node in enumerate(nodes):
        node_id = node.get("id") if isinstance(node, dict) else None
        if not _is_id(node_id):
            raise DataError(f"{path}: nodes[{place}] has no `id` that is an integer or a string")
        first = positions.setdefault(str(node_id), place)
        if first != place:
            raise DataError(
                f"{path}: nodes[{first}] and nodes[{place}] have the same id "
                f"{node_id!r:.80}; ids must differ"
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


def _are_positions(
    path: Path, key: str, nodes: list[Any], positions: dict[str, int], ends: list[int | str]
) -> bool:
    """Whether the ends are positions in `nodes`, under the one reading that fits the file."""
    used = set(ends)
    fit_positions = all(isinstance(end, int) and 0 <= end < len(nodes) for end in used)
    if not used or not fit_positions:
        return False
    if any(str(end) not in positions for end in used):
        return key == "links"  # by that name networkx 3.4 and later write ids alone
    same = all(positions[str(end)] == end for end in used)
    written_as_ids = key == "edges" and all(isinstance(node["id"], int) for node in nodes)
    if same or written_as_ids:
        return False
    raise DataError(
        f"{path}: {key} could name node ids or positions in `nodes`, and the two differ; if they "
        "are ids, write ids and ends as numbers and name the list `edges`; if they are positions, "
        "write ids that are no numbers, such as n0"
    )


def _notes(
    path: Path, key: str, nodes: list[Any], ends: list[int | str], by_position: bool
) -> tuple[str, ...]:
    if by_position:
        some = [int(end) for end in dict.fromkeys(ends)][:SHOWN]
        first = ", ".join(f"{end} is {nodes[end]['id']!r}" for end in some)
        return (f"{path.name}: {key} name positions in `nodes`, no ids: {first}",)
    kinds = {type(node["id"]) for node in nodes} | set(map(type, ends))
    if len(kinds) > 1:
        return (f"{path.name}: {key} name ids: numbers and text compared as text",)
    return ()


def _unknown_endpoint(
    path: Path, key: str, positions: dict[str, int], ends: list[int | str]
) -> DataError:
    place = next(i for i, end in enumerate(ends) if str(end) not in positions)
    numbers = [end for end in ends if isinstance(end, int)]
    one_based = bool(numbers) and min(numbers) == 1 and max(numbers) == len(positions)
    hint = "the ids look 1-based: subtract 1" if one_based else "add the node, remove the link"
    hint += "" if one_based else ", or choose unknown_edges: drop"
    return DataError(
        f"{path}: {key}[{place // 2}] ends at {ends[place]!r:.80}, which is neither the id of a "
        f"node nor a position below {len(positions)}; {hint}"
    )
