"""A store in parts: what all of its parts have in common. No row is read here.

    meta.json        counts, notes and names, the parts, and size and CRC-32 of each file below
    places.npy       (N,) int32 or int64   where a node is if the parts lie one after another
    statistics.npy   (2, F) float64        mean and deviation of the training nodes' features
    edge_statistics.npy   (2, B) float64   the same of the edges', only if they have features
    node_ids.npy     (N,) integers or text the source's own names, only if they are not 0 to N - 1
    part-000/        the rows of its nodes; see part.py
    part-001/ ...

A node has the id that it has in the store that was cut: nodes are in the order of their splits, so
the nodes of a split, and those that it sees, are a range of ids. The layout is this project's own.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from gaancore.data.nodes.store.reader import (
    AGAIN,
    META,
    PARTED,
    compare,
    describes_files,
    mapped_file,
)
from gaancore.display import Shown
from gaancore.errors import DataError, SettingsError, expect_choice
from gaancore.system.disk import read_json
from gaancore.system.paths import user_path

VERSION = 2
PLACES, STATISTICS, NODE_IDS = "places", "statistics", "node_ids"
EDGE_STATISTICS = "edge_statistics"
CACHE = 0.05  # a share of the nodes
HOWS = ("none", "standard", "row")


@dataclass(frozen=True, repr=False)
class PartedDataset(Shown):
    """What a store in parts says of itself; its rows are read by `PartedRows`.

    facts        : what a run writes down about the data that was cut (see NodeDataset.facts).
    summary      : what `summarize_nodes` found in them.
    places       : (N,) memory-mapped; part p has those from firsts[p] to firsts[p + 1] - 1.
    parts        : the nodes and arcs of each part.
    crossing     : arcs that lead from one part to another.
    label_counts : nodes that have each class or label, of each split.
    filled       : the share of the features that are not 0, of some nodes (see `filled_in_some`).
    identity     : of this cut; each part has it too.
    node_ids     : (N,) the source's own names of the nodes, memory-mapped where it has any.
    edge_statistics : mean and scale (B,) of the features of edges; None if they have none.
    cache        : the share of the nodes whose rows each of several processes keeps, see OpenParts.
    """

    family: ClassVar[str] = "nodes"
    learned: ClassVar[bool] = False

    name: str
    path: str
    kind: Literal["real", "synthetic"]
    multi_label: bool
    facts_of_whole: dict[str, Any]
    summary: dict[str, Any]
    parts: tuple[tuple[int, int], ...]
    crossing: int
    label_counts_of: tuple[tuple[int, ...], ...]
    filled: float
    identity: str
    places: np.ndarray
    standard: np.ndarray
    node_ids: np.ndarray
    edge_statistics: tuple[np.ndarray, np.ndarray] | None = None
    cache: float = CACHE

    @property
    def num_nodes(self) -> int:
        return self.places.size

    @property
    def num_edges(self) -> int:
        return int(self.facts_of_whole["num_edges"])

    @property
    def num_features(self) -> int:
        return self.standard.shape[1]

    @property
    def edge_dim(self) -> int:
        return 0 if self.edge_statistics is None else self.edge_statistics[0].size

    @property
    def num_classes(self) -> int:
        return int(self.facts_of_whole["num_classes"])

    @property
    def num_parts(self) -> int:
        return len(self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.facts_of_whole["notes"])

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        names = self.facts_of_whole.get("feature_names")
        return None if names is None else tuple(names)

    @property
    def edge_names(self) -> tuple[str, ...] | None:
        names = self.facts_of_whole.get("edge_names")
        return None if names is None else tuple(names)

    @property
    def crossing_share(self) -> float:
        """The share of the arcs that lead from one part to another."""
        return self.crossing / max(1, self.num_edges)

    @property
    def firsts(self) -> np.ndarray:
        """(parts + 1,): the place of each part's first node; at the end N."""
        return np.cumsum([0, *(nodes for nodes, _ in self.parts)])

    def seen(self, split: int) -> int:
        """How many nodes `split` may see: the first ones, see NodeDataset.view."""
        per_split = self.facts_of_whole["nodes_per_split"]
        return int(self.num_nodes - sum(per_split[split + 1 :]))

    def nodes(self, split: int) -> np.ndarray:
        """The int64 ids of the nodes of TRAIN, VALIDATION or TEST, ascending."""
        stop = self.seen(split)
        return np.arange(stop - self.facts_of_whole["nodes_per_split"][split], stop)

    def label_counts(self, split: int) -> np.ndarray:
        """(C,) int64: how many nodes of `split` have each class or label."""
        return np.array(self.label_counts_of[split], np.int64)

    def statistics(self, how: str) -> tuple[np.ndarray, np.ndarray]:
        """mean and scale (F,) of the features, as `feature_statistics` found them before the cut.

        Raises SettingsError for another `how` than it knows.
        """
        expect_choice("normalize", how, HOWS)
        if how != "standard":
            return np.zeros(self.num_features), np.ones(self.num_features)
        return self.standard[0], self.standard[1]

    def with_notes(self, *lines: str) -> "PartedDataset":
        """The same, of which there is more to say."""
        return replace(self, facts_of_whole=self.facts_of_whole | {"notes": [*self.notes, *lines]})

    def counts(self) -> dict[str, Any]:
        """How many of everything, as JSON can hold it."""
        names = ("num_nodes", "num_edges", "num_features", "num_classes", "nodes_per_split")
        return {name: self.facts_of_whole[name] for name in names}

    def facts(self) -> dict[str, Any]:
        """Those of the data that were cut, so that a run can be asked with these too; and which
        parts they are in.
        """
        return self.facts_of_whole | {
            "path": self.path,
            "parts": self.num_parts,
            "checksums": {"parts": self.identity},
        }

    def _shown(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "path": self.path,
            "num_nodes": self.num_nodes,
            "num_edges": self.num_edges,
            "num_features": self.num_features,
            "num_classes": self.num_classes,
            "num_parts": self.num_parts,
            "notes": len(self.notes) or None,
        }


def parted_at(path: Any) -> Any:
    """The PartedDataset at `path` if that is a store in parts; anything else as it is.

    Raises DataError (one line: file, what is wrong, remedy) for one that is not whole.
    """
    if not isinstance(path, str | Path):
        return path
    file = user_path(path) / META
    if not file.is_file():
        return path
    meta = read_json(file)
    if not isinstance(meta, dict) or meta.get("format") != PARTED:
        return path
    return _described_by(user_path(path), meta)


def with_cache(data: Any, share: float) -> PartedDataset:
    """A PartedDataset whose `cache` is another share. Raises SettingsError for one outside 0 to 1,
    and for data that are not in parts.
    """
    if not isinstance(data, PartedDataset):
        raise SettingsError(
            "cache: rows are kept of a store in parts alone, and the data are none; leave it out"
        )
    if not 0 <= share <= 1:
        raise SettingsError(f"cache: expected 0 to 100 per cent of the nodes, got {100 * share:g}")
    return replace(data, cache=share)


def _described_by(folder: Path, meta: dict[str, Any]) -> PartedDataset:
    file = folder / META
    if meta.get("version") != VERSION:
        raise DataError(
            f"{file}: version {meta.get('version')} where this gaancore reads {VERSION}; {AGAIN}"
        )
    kinds = {
        "name": str,
        "kind": str,
        "multi_label": bool,
        "facts": dict,
        "summary": dict,
        "parts": list,
        "crossing_arcs": int,
        "label_counts": list,
        "filled": float,
        "files": dict,
    }
    for name, kind in kinds.items():
        if type(meta.get(name)) is not kind:
            raise DataError(f"{file}: {name} is missing or malformed; {AGAIN}")
    files = meta["files"]
    if not describes_files(files, {PLACES, STATISTICS}, [NODE_IDS, EDGE_STATISTICS]):
        raise DataError(f"{file}: files is missing or malformed; {AGAIN}")
    arrays = {name: mapped_file(folder, name, facts) for name, facts in files.items()}
    compare(folder, files)
    try:
        dataset = PartedDataset(
            name=meta["name"],
            path=str(folder),
            kind=meta["kind"],
            multi_label=meta["multi_label"],
            facts_of_whole=meta["facts"],
            summary=meta["summary"],
            parts=tuple((int(part["nodes"]), int(part["arcs"])) for part in meta["parts"]),
            crossing=meta["crossing_arcs"],
            label_counts_of=tuple(tuple(map(int, counts)) for counts in meta["label_counts"]),
            filled=meta["filled"],
            identity=identity_of_cut(files, meta["facts"]),
            places=arrays[PLACES],
            standard=arrays[STATISTICS],
            node_ids=arrays.get(NODE_IDS, np.arange(arrays[PLACES].size)),
            edge_statistics=_pair(arrays.get(EDGE_STATISTICS)),
        )
        sound = (
            dataset.counts()["num_nodes"] == dataset.num_nodes == dataset.firsts[-1]
            and dataset.standard.shape == (2, dataset.counts()["num_features"])
            and len(dataset.label_counts_of) == len(dataset.counts()["nodes_per_split"]) == 3
            and dataset.num_edges == sum(arcs for _, arcs in dataset.parts)
            and all(len(counts) == dataset.num_classes for counts in dataset.label_counts_of)
            and all(isinstance(note, str) for note in dataset.notes)
            and dataset.places.ndim == 1
            and dataset.node_ids.shape == dataset.places.shape
            and bool((dataset.places >= 0).all() and (dataset.places < dataset.num_nodes).all())
        )
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise DataError(f"{file}: its counts do not fit together; {AGAIN}")
    return dataset


def _pair(rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    if rows is None:
        return None
    mean, scale = rows
    return mean, scale


def identity_of_cut(files: dict[str, Any], facts: dict[str, Any]) -> str:
    """What tells this cut of these data from any other."""
    return f"{facts['checksum']}-{files[PLACES]['crc32']}"


def name_of_part(number: int) -> str:
    """The folder of a part, counted from 0."""
    return f"part-{number:03}"
