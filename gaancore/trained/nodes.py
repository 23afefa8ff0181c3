"""A run that classifies nodes, opened."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np

from gaancore.choices import Nan
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs, inputs_of, read_inputs
from gaancore.data.parts.dataset import PartedDataset
from gaancore.errors import DataError, SettingsError, expect_choice
from gaancore.trained.elsewhere import NewGraph, labelled_nodes
from gaancore.trained.opened import DEFAULT_SPLITS, OpenedRun, Scored
from gaancore.trained.own import SPLITS, scored_on_own
from gaancore.trained.predictions import Predictions, predictions_of
from gaancore.trained.told import expect_own, parts_at, told_of_features, told_of_parts
from gaancore.training.choices import with_changes
from gaancore.training.nodes import words
from gaancore.training.nodes.heads.explain import ArcAttention, arc_attention, node_gates
from gaancore.training.nodes.heads.of_test import look_at_heads
from gaancore.training.nodes.parted.scorer import PartedScorer
from gaancore.training.nodes.predict import Classifier, load_classifier
from gaancore.training.nodes.scorer import Scorer
from gaancore.training.prefetch import made_ahead
from gaancore.training.same_data import data_differences

Data = str | Path | NodeDataset | NodeInputs | PartedDataset | None  # None: the run's own


class NodeRun(OpenedRun):
    """A run that classifies nodes.

    `data` is a path in any layout, a dataset or NodeInputs; it needs no labels and no split. By
    default it is the run's own.

    >>> import gaancore
    >>> square = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    >>> data = gaancore.from_scipy(square, [[0], [1], [2], [3]], ["a", "b", "a", "b"])
    >>> run = gaancore.train(data, out="square", epochs=2, num_heads=2, verbose=False)
    >>> run.predict_proba().shape, run.predictions().class_names.tolist()
    ((4, 2), ['a', 'b'])
    >>> run.gates(nodes=[1])[2].shape  # of layer 2: one node, two heads
    (1, 2)
    >>> sorted(run.evaluate(["train", "validation"], per_class=True)["validation"])
    ['ece', 'macro_f1', 'micro_f1', 'per_class']
    """

    kind_of_data = NodeDataset
    words: ClassVar[ModuleType] = words

    @cached_property
    def classifier(self) -> Classifier:
        """The best weights. Raises DataError if there are none yet."""
        return load_classifier(self.folder, self.settings, self.facts, self.device)

    def asked(self, data: Data = None, *, nan: Nan | None = None) -> NodeInputs | PartedDataset:
        """The graph that the run is asked about: as `inputs`, or as a store in parts."""
        if (parted := parts_at(data, self.path, self.facts)) is None:
            return self.inputs(data, nan=nan)
        if nan is not None:
            raise SettingsError(f"nan: {parted.path}: a store has no such features; leave it out")
        return told_of_parts(parted, self.classifier, self.facts, self.team)

    def inputs(self, data: Data = None, *, nan: Nan | None = None) -> NodeInputs:
        """The graph that the run is asked about, whole.

        nan : what to do with features that are NaN, of a path: refuse them (`error`) or take them
              as `zero`; by default `zero` if it was so in training.
        """
        if nan is not None and not isinstance(data, str | Path):
            raise SettingsError("nan: the run's own data is read as in training; leave it out")
        _ = self.classifier  # weights are read at once, and the data may take minutes
        if data is None:
            return inputs_of(self.dataset)
        if isinstance(data, NodeInputs):
            return self._told(data)
        if not isinstance(data, str | Path):
            return self._told(inputs_of(self._given(data)))
        nan = nan or self._nan_elsewhere
        options: dict[str, Any] = {
            "self_loops": self.settings.self_loops,
            "repeated_edges": self.settings.repeated_edges,
            "reading": replace(self.settings.reading, needed=False),
        }
        return self._told(read_inputs(data, nan=nan, **options))

    @property
    def _nan_elsewhere(self) -> Nan:
        """As in training; but the mean over training nodes is not one of a new graph."""
        return "zero" if self.settings.nan == "zero" else "error"

    def _told(self, inputs: NodeInputs) -> NodeInputs:
        return told_of_features(inputs, self.classifier, self.facts)

    def predictions(
        self,
        data: Data = None,
        *,
        nan: Nan | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> Predictions:
        """Everything about every node, from whole neighbourhoods. See predict, predict_proba.

        top_k     : name the so many most likely classes of each node; of several labels, take them.
        threshold : of several labels, take those that are more likely than this; by default 1/2.
        Raises SettingsError for a number or a threshold that makes no sense here.
        """
        asked = self.asked(data, nan=nan)
        self._expect_same(self.classifier.model, asked.facts)
        return predictions_of(self.classifier, asked, top_k, threshold, self.team)

    def predict(self, data: Data = None) -> np.ndarray:
        """(N,) the most likely class of each node, by name; with several labels (N, C) bool."""
        return self.predictions(data).labels

    def predict_proba(self, data: Data = None) -> np.ndarray:
        """(N, C) the probability of each class, or of each label by itself."""
        return self.predictions(data).probabilities

    def embed(
        self, data: Data = None, *, layer: int | None = None, nan: Nan | None = None
    ) -> np.ndarray:
        """(N, width) what a hidden layer puts out, from 1; by default the last, which the head
        reads. Raises SettingsError if there is no such layer.
        """
        asked = self.asked(data, nan=nan)
        self._expect_same(self.classifier.model, asked.facts)
        return self.classifier.embeddings(asked, layer, self.team)

    def gates(
        self, data: Data = None, *, nodes: Sequence[Any] | None = None, layer: int | None = None
    ) -> dict[int, np.ndarray]:
        """Layer, from 1 -> g_i^k (n, K) of `nodes`, named by their ids; of all by default."""
        inputs = self.inputs(data)
        return node_gates(self.classifier, inputs, _rows(inputs, nodes), layer)

    def attention(
        self, data: Data = None, *, nodes: Sequence[Any] | None = None, layer: int | None = None
    ) -> ArcAttention:
        """w_ij^k of every arc into `nodes`, named by their ids; into all by default."""
        inputs = self.inputs(data)
        return arc_attention(self.classifier, inputs, _rows(inputs, nodes), layer)

    def explain(
        self,
        data: Data = None,
        *,
        what: Literal["gates", "attention"] = "gates",
        nodes: Sequence[Any] | None = None,
        layer: int | None = None,
    ) -> dict[int, np.ndarray] | ArcAttention:
        """`gates` or `attention` of some nodes, see the methods of these names."""
        expect_choice("what", what, ("gates", "attention"))
        ask = self.gates if what == "gates" else self.attention
        return ask(data, nodes=nodes, layer=layer)

    def evaluate(
        self,
        splits: Sequence[str] | None = None,
        *,
        data: str | Path | NodeDataset | None = None,
        eval_fanouts: Any = None,
        per_class: bool = False,
        prefetch: int | None = None,
    ) -> Scored:
        """F1 of the best weights on splits of the run's data, as its validations score, or on the
        labelled nodes of another graph.

        splits       : `train`, `validation` or `test`. By default the last two; of another graph
                       all parts of its split, or `all` labelled nodes if it has none.
        data         : the same data, if they have moved or came from memory, or another graph with
                       the same features, which every node sees whole, all of its neighbours by
                       default. Classes are joined by their names; one that the run has not seen
                       counts as missed. Only classes that a node has or is given are in macro-F1.
        eval_fanouts : neighbours drawn at each step, -1 for all; by default as in training.
        per_class    : precision, recall, F1, support and calibration of each class or label as
                       well; see `calibration_errors`.
        prefetch     : batches made ahead by threads, where neighbours are drawn; by default two on
                       a GPU, and none on a CPU.
        Returns {split: scores}, on the run's own data with those of guesses beside them (see
        `baselines`); its `notes` say whether the data were the run's, what was joined, and which
        guesses were left out. Raises SettingsError for other splits, DataError for data that cannot
        be scored.
        """
        for split in splits or ():
            expect_choice("splits", split, tuple(SPLITS))
        if (parted := parts_at(data, self.path, self.facts)) is not None:
            parts = splits or DEFAULT_SPLITS
            expect_own(parted, self.facts)
            return self._on_own(parted, parts, eval_fanouts, per_class, prefetch)
        asked = (eval_fanouts, per_class, made_ahead(prefetch, self.device))
        own, differ = (self.dataset, []) if data is None else self._compared(data)
        if own is None:
            return self._elsewhere(data, differ, splits, *asked)
        return self._on_own(own, splits or DEFAULT_SPLITS, *asked)

    def _compared(self, data: str | Path | NodeDataset) -> tuple[NodeDataset | None, list[str]]:
        """The run's own data, or None and how these differ."""
        try:
            dataset = self._given(data)
        except (DataError, SettingsError):
            if not isinstance(data, str | Path):
                raise
            # a graph to score needs no part to learn from
            return None, ["they cannot be read as those were"]
        differ = data_differences(self.facts, dataset.facts())
        return (None, differ) if differ else (dataset, [])

    def _elsewhere(
        self,
        data: Any,
        differ: list[str],
        splits: Sequence[str] | None,
        eval_fanouts: Any,
        per_class: bool,
        prefetch: int,
    ) -> Scored:
        fanouts = (-1,) if eval_fanouts is None else eval_fanouts
        settings = with_changes(self.settings, ("eval_fanouts", {"eval_fanouts": fanouts}))
        labelled = labelled_nodes(data, settings, self._nan_elsewhere)
        where = labelled.dataset.path or "data"
        inputs = self._told(inputs_of(labelled.dataset))
        matched: dict[str, Any] = {
            "graph": inputs.graph,
            "features": inputs.features,
            "feature_names": inputs.feature_names,
            "edge_names": inputs.edge_names,
        }
        labelled = replace(labelled, dataset=replace(labelled.dataset, **matched))
        self._expect_same(self.classifier.model, labelled.dataset.facts)
        self.classifier.features(inputs), self.classifier.graph(inputs)  # refuse other ones
        facts: Any = self.facts
        known = facts.get("class_names") or map(str, range(facts["num_classes"]))
        graph = NewGraph(self.classifier, labelled, tuple(known), self.team)
        scores = graph.scored(splits, settings, prefetch, per_class=per_class)
        told = (
            f"{where}: not the data that the run was trained on ({'; '.join(differ)}): scored as a "
            "new graph, which every node sees whole"
        )
        scores.notes = (told, *inputs.notes, *scores.notes)
        return scores

    def _on_own(
        self,
        dataset: NodeDataset | PartedDataset,
        splits: Sequence[str],
        eval_fanouts: Any,
        per_class: bool,
        prefetch: int | None,
    ) -> Scored:
        if empty := [split for split in splits if not dataset.nodes(SPLITS[split]).size]:
            raise SettingsError(f"splits: the run's data have no {empty[0]} nodes")
        settings = self.settings
        if eval_fanouts is not None:
            settings = with_changes(settings, ("eval_fanouts", {"eval_fanouts": eval_fanouts}))
        self._expect_same(self.classifier.model, dataset.facts)
        scorer: Scorer | PartedScorer
        if isinstance(dataset, PartedDataset):
            scorer = self.classifier.scorer_of_parts(dataset, settings, prefetch, self.team)
        else:
            scorer = self.classifier.scorer(dataset, settings, prefetch or 0, self.team)
        return scored_on_own(self.classifier, scorer, splits, per_class=per_class)

    def plot(
        self,
        folder: str | Path | None = None,
        *,
        data: str | Path | NodeDataset | None = None,
    ) -> list[Path]:
        """Draw learning curves and, of a gaan, its gates, as PNG and SVG; returns the files.

        folder : by default `plots` in the run's folder. data: the run's data, if they have moved.
        """
        from gaancore.plots import curves, gates  # matplotlib takes a second to import

        target = Path(folder) if folder is not None else self.path / "plots"
        name = f"{self.settings.model}, seed {self.settings.seed}"
        files = curves.learning_curves({name: self.path}, target / "learning-curves.png")
        if self.settings.model == "gaan":
            dataset = self.dataset if data is None else self.own_data(data)
            heads = look_at_heads(self.classifier, dataset)
            facts = gates.gate_pictures(heads, self.folder.read_log(), target)
            files += [target / name for name in facts["files"]]
        return files


def _rows(inputs: NodeInputs, nodes: Sequence[Any] | None) -> np.ndarray:
    if nodes is None:
        return np.arange(inputs.graph.num_nodes)
    return inputs.rows_of(map(str, nodes))
