"""A run that classifies nodes, opened."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.inputs import NodeInputs, inputs_of, read_inputs
from gaancore.data.nodes.missing import Nan
from gaancore.errors import SettingsError, expect_choice
from gaancore.trained.opened import OpenedRun
from gaancore.training.choices import with_changes
from gaancore.training.nodes.heads.explain import ArcAttention, arc_attention, node_gates
from gaancore.training.nodes.heads.of_test import look_at_heads
from gaancore.training.nodes.predict import Classifier, load_classifier
from gaancore.training.nodes.scorer import Scorer

SPLITS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
Data = str | Path | NodeDataset | NodeInputs | None  # None: the run's own


@dataclass(frozen=True)
class Predictions:
    """What a run says about each of N nodes.

    node_ids      : (N,) the data's own ids.
    logits        : (N, C).
    probabilities : (N, C): of each class, or of each label by itself.
    class_names   : (C,) the names of the classes or labels, as text; numbers where there are none.
    labels        : (N,) the most likely class by name; or (N, C) bool, the labels that are more
                    likely than not.
    notes         : what was assumed when the graph was read.
    """

    node_ids: np.ndarray
    logits: np.ndarray
    probabilities: np.ndarray
    class_names: np.ndarray
    labels: np.ndarray
    notes: tuple[str, ...]


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
    >>> sorted(run.evaluate())
    ['test', 'validation']
    """

    @cached_property
    def classifier(self) -> Classifier:
        """The best weights. Raises DataError if there are none yet."""
        return load_classifier(self.folder, self.settings, self.facts, self.device)

    def inputs(self, data: Data = None, *, nan: Nan | None = None) -> NodeInputs:
        """The graph that the run is asked about.

        nan : what to do with features that are NaN, of a path: refuse them (`error`) or take them
              as `zero`; by default `zero` if it was so in training.
        """
        if nan is not None and not isinstance(data, str | Path):
            raise SettingsError("nan: the run's own data is read as in training; leave it out")
        if data is None:
            return inputs_of(self.dataset)
        if isinstance(data, NodeInputs):
            return data
        if not isinstance(data, str | Path):
            return inputs_of(data)
        # The mean over training nodes is not one of a new graph, which has none
        as_trained: Nan = "zero" if self.settings.nan == "zero" else "error"
        return read_inputs(data, self_loops=self.settings.self_loops, nan=nan or as_trained)

    def predictions(self, data: Data = None, *, nan: Nan | None = None) -> Predictions:
        """Everything about every node, from whole neighbourhoods. See predict, predict_proba."""
        classifier, inputs = self.classifier, self.inputs(data, nan=nan)
        logits = classifier.logits(inputs)
        names = classifier.class_names or tuple(map(str, range(logits.shape[1])))
        called = np.array(names)
        labels = logits > 0 if classifier.multi_label else called[logits.argmax(axis=1)]
        probabilities = classifier.probabilities(logits)
        return Predictions(inputs.node_ids, logits, probabilities, called, labels, inputs.notes)

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
        return self.classifier.embeddings(self.inputs(data, nan=nan), layer)

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
        splits: Sequence[str] = ("validation", "test"),
        *,
        data: str | Path | NodeDataset | None = None,
        eval_fanouts: Any = None,
        per_class: bool = False,
        prefetch: int = 2,
    ) -> dict[str, Any]:
        """F1 of the best weights on splits of the run's data, as its validations score.

        data         : the same data, if they have moved or came from memory.
        eval_fanouts : neighbours drawn at each step, -1 for all; by default as in training.
        per_class    : precision, recall, F1 and support of each class or label as well.
        prefetch     : batches made ahead by threads, where neighbours are drawn.
        Returns {split: scores}. Raises SettingsError for other splits or other data.
        """
        for split in splits:
            expect_choice("splits", split, tuple(SPLITS))
        dataset = self.dataset if data is None else self.own_data(data)
        if empty := [split for split in splits if not dataset.nodes(SPLITS[split]).size]:
            raise SettingsError(f"splits: the run's data have no {empty[0]} nodes")
        settings = self.settings
        if eval_fanouts is not None:
            settings = with_changes(settings, ("eval_fanouts", {"eval_fanouts": eval_fanouts}))
        classifier = self.classifier
        scorer = Scorer(dataset, (classifier.mean, classifier.scale), settings, prefetch)
        found = {}
        for split in splits:
            counts = scorer.counts(classifier.model, SPLITS[split])
            found[split] = asdict(counts.scores())
            if per_class:
                names = dataset.class_names or range(dataset.num_classes)
                rows = zip(names, counts.per_class(), strict=True)
                found[split]["per_class"] = [{"class": n, **asdict(row)} for n, row in rows]
        return found

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
