"""Scores of a classifier on labelled nodes of a graph that it was not trained on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.choices import Nan
from gaancore.data.nodes.checks import check_split
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, NodeDataset
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.make import make_dataset
from gaancore.data.nodes.missing import fill_missing
from gaancore.data.nodes.split import has_label
from gaancore.data.nodes.store.reader import is_store, open_store
from gaancore.errors import DataError, SettingsError
from gaancore.parallel import ALONE, Team
from gaancore.system.paths import user_path
from gaancore.trained.opened import Scored
from gaancore.trained.own import SPLITS
from gaancore.trained.scores import scores_of
from gaancore.training.nodes.metrics import class_counts
from gaancore.training.nodes.predict import Classifier
from gaancore.training.nodes.settings import NodeSettings

ALL = "all"  # the name of the labelled nodes of a graph without a split


@dataclass(frozen=True)
class Labelled:
    """A graph and the nodes that it can be scored by: rows (n,) of each part by its name."""

    dataset: NodeDataset
    parts: dict[str, np.ndarray]


def labelled_nodes(data: NodeDataset | str | Path, settings: NodeSettings, nan: Nan) -> Labelled:
    """The labelled nodes of a graph: by its own split if it has one, else all of them as `all`.

    data     : a dataset, or a path in any layout. No part of the split is needed.
    settings : of the run, which say what labels are and how a graph is read.
    nan      : see `fill_missing`.
    Raises DataError without a labelled node, or for values that are unsound.
    """
    if not isinstance(data, NodeDataset):
        source = user_path(data)
        if not is_store(source):
            return _read(source, settings, nan)
        replace(settings.reading, needed=False).expect_of_store(source)
        store = open_store(source)
        data = replace(store, graph=store.graph.self_loops(settings.self_loops))
    if data.multi_label != settings.multi_label:
        raise DataError(
            f"{data.path or 'data'}: labels: the run gives a node "
            f"{'several labels' if settings.multi_label else 'one class'}, these data do not"
        )
    return Labelled(data, _some(data.path, _parts(data.split)))


def _read(path: Path, settings: NodeSettings, nan: Nan) -> Labelled:
    raw = read_layout(path, replace(settings.reading, needed=False))
    if raw.labels is None:
        raise DataError(f"{path}: no labels to score by; predictions need none")
    labelled = has_label(raw)
    split = None
    if raw.split is not None:
        split = check_split(raw.sources["split"], raw.split, raw.node_ids)
        split[~labelled] = UNFLAGGED
    parts = {ALL: np.flatnonzero(labelled)} if split is None else _parts(split)
    parts = _some(str(path), parts)
    scored = np.full(labelled.size, UNFLAGGED, np.int8)
    scored[np.concatenate(list(parts.values()))] = TRAIN  # what is checked as labels to learn from
    sources = {"split": str(path), **raw.sources}
    dataset = make_dataset(
        fill_missing(replace(raw, split=scored, sources=sources), nan),
        name=path.stem,
        multi_label=settings.multi_label,
        self_loops=settings.self_loops,
        unflagged="context",
        repeated_edges=settings.repeated_edges,
    )
    return Labelled(dataset, parts)


def _some(path: str | None, parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if not sum(rows.size for rows in parts.values()):
        raise DataError(f"{path or 'data'}: no labelled node to score by; label some, and name "
                        "their part if the data have a split")  # fmt: skip
    return parts


def _parts(split: np.ndarray) -> dict[str, np.ndarray]:
    rows = {name: np.flatnonzero(split == number) for name, number in SPLITS.items()}
    return {name: found for name, found in rows.items() if found.size}


class NewGraph:
    """Scores a classifier on a graph that it has not seen, its classes joined by their names.

    known : what the run calls its classes or labels, in its order.
    team  : the ranks that compute the logits together.
    notes : a line on names that only one side has.
    Raises DataError if both have no name in common, or if the features are not the run's.
    """

    def __init__(
        self,
        classifier: Classifier,
        labelled: Labelled,
        known: Sequence[str],
        team: Team = ALONE,
    ) -> None:
        self.classifier = classifier
        self.team = team
        self.dataset, self.parts = labelled.dataset, labelled.parts
        d = self.dataset
        here = d.class_names or tuple(map(str, range(d.num_classes)))
        place = {name: at for at, name in enumerate(known)}
        rows = np.concatenate(list(self.parts.values()))
        has = d.labels[rows]
        have = has.any(axis=0) if has.ndim == 2 else np.bincount(has, minlength=len(here)) > 0
        self.unseen = [name for name, some in zip(here, have, strict=True)
                       if some and name not in place]  # fmt: skip
        self.known, self.here = tuple(known), here
        if d.multi_label and d.class_names is None and len(here) != len(known):
            raise DataError(
                f"{self._where}: labels: {len(here):,} columns, but the run has {len(known):,}, "
                "and no names to join them by; name the labels"
            )
        if not any(some and name in place for name, some in zip(here, have, strict=True)):
            raise DataError(
                f"{self._where}: labels: none of its classes ({_few(here)}) is one that the run "
                f"was trained on ({_few(known)}); name them alike"
            )
        place |= {name: len(known) + at for at, name in enumerate(self.unseen)}
        self.place = np.array([place.get(name, -1) for name in here])
        self.notes = self._notes(have)

    def scored(
        self,
        parts: Sequence[str] | None,
        settings: NodeSettings,
        prefetch: int,
        *,
        per_class: bool,
    ) -> Scored:
        """The scores of some parts, by default of all. Raises SettingsError for a part without a
        labelled node.
        """
        for part in parts or ():
            if part not in self.parts:
                has = ", ".join(self.parts)
                raise SettingsError(
                    f"splits: {self._where} has no {part} nodes with a label; it has {has}"
                )
        found = Scored(
            (part, self.scores(part, settings, prefetch, per_class=per_class))
            for part in (self.parts if parts is None else parts)
        )
        found.notes, found.kind = self.notes, self.dataset.kind
        return found

    def scores(
        self, part: str, settings: NodeSettings, prefetch: int, *, per_class: bool
    ) -> dict[str, Any]:
        """As `evaluate` gives them for a split, over the classes that the nodes of `part` have or
        are given, or over the labels that the graph knows.
        """
        rows, d = self.parts[part], self.dataset
        split = np.full(d.num_nodes, UNFLAGGED, np.int8)
        split[rows] = TEST
        view = replace(d, split=split)
        scorer = self.classifier.scorer(view, settings, prefetch, self.team)
        logits = scorer.logits(self.classifier.model, TEST)
        extra = len(self.unseen)
        joined = _joined(d.labels[rows], self.place, len(self.known) + extra)
        logits = np.pad(logits, ((0, 0), (0, extra)), constant_values=_NEVER)
        found = class_counts(logits, joined)
        if d.multi_label:  # a label that the graph does not know is not one that a node lacks
            there = np.isin(np.arange(found.support.size), self.place)
        else:
            there = found.predicted + found.support > 0
        counted = np.flatnonzero(there)
        called = [*self.known, *self.unseen]
        probabilities = self.classifier.probabilities(logits)
        names = [called[at] for at in counted]
        return scores_of(
            logits, probabilities, joined, names, per_class=per_class, counted=counted.tolist()
        )

    def _notes(self, have: np.ndarray) -> tuple[str, ...]:
        d = self.dataset
        how = "by position" if d.multi_label and d.class_names is None else "by their names"
        what = "labels" if d.multi_label else "classes"
        notes = [f"{what} are joined {how}: {_few(self.here)}"]
        if self.unseen:
            notes.append(
                f"warning: {self._where}: the run has not seen {_few(self.unseen)} in training: "
                "these count as missed wherever a node has them"
            )
        had = {name for name, some in zip(self.here, have, strict=True) if some}
        if without := [name for name in self.known if name not in had]:
            notes.append(f"{what} of the run that no scored node has: {_few(without)}")
        return tuple(notes)

    @property
    def _where(self) -> str:
        return self.dataset.path or "data"


_NEVER = np.float32(-1e30)  # the logit of a class that the model does not know


def _joined(labels: np.ndarray, place: np.ndarray, count: int) -> np.ndarray:
    """Labels under the run's numbers, then those that it has not seen."""
    if labels.ndim == 1:
        return place[labels]
    out = np.zeros((len(labels), count), np.uint8)
    out[:, place[place >= 0]] = labels[:, place >= 0]
    return out


def _few(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f", ... ({len(names):,})" if len(names) > most else "")
