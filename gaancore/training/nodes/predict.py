"""Outputs of a finished run for the nodes of any graph with the same features."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # whose modules are imported at their first use

from gaancore.array import resolve_device
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.edges import standardised_edges
from gaancore.data.nodes.features.standardised import Features
from gaancore.data.nodes.inputs import NodeInputs, identity_of
from gaancore.data.nodes.layouts.without_features import one_hot
from gaancore.data.parts.dataset import PartedDataset
from gaancore.data.parts.rows import OpenParts, PartedRows
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph
from gaancore.parallel import ALONE, Shares, Team
from gaancore.progress import told
from gaancore.system.mapped import room_for
from gaancore.training.checkpoint import belongs_to_the_run, load_checkpoint
from gaancore.training.nodes.build import Model, build_model
from gaancore.training.nodes.inference import ROWS_AT_A_TIME, infer, infer_hidden
from gaancore.training.nodes.parted.inference import infer_hidden_own, infer_own
from gaancore.training.nodes.parted.scorer import PartedScorer, expect_askable_of_parts
from gaancore.training.nodes.scorer import Scorer
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.run_folder import RunFolder


@dataclass(frozen=True)
class Classifier:
    """The best weights of a run, and the statistics (F,) by which it standardised features.

    class_names, feature_names : what its data calls the C classes or labels and the F features;
                                 None if it has no names for them.
    edges      : the mean and scale (B,) of the features of edges; None if it reads none.
    edge_names : what its data calls them.
    nodes      : which nodes it learned features for (see `identity_of`); None if it learned none.
    """

    path: Path
    settings: NodeSettings
    model: Model
    mean: np.ndarray
    scale: np.ndarray
    class_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    edges: tuple[np.ndarray, np.ndarray] | None = None
    edge_names: tuple[str, ...] | None = None
    nodes: int | None = None

    @property
    def multi_label(self) -> bool:
        return self.settings.multi_label

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled by the weights; on another machine, on the device that works there."""
        statistics = {"mean": self.mean, "scale": self.scale}
        names = (self.class_names, self.feature_names, self.edge_names)
        return _with_weights, (
            self.path, self.settings, self.model.state(), statistics, names, "auto", self.edges,
            self.nodes,
        )  # fmt: skip

    def logits(self, inputs: NodeInputs | PartedDataset, team: Team = ALONE) -> np.ndarray:
        """(N, classes) of the nodes of `inputs`, from whole neighbourhoods, in the memory of
        `infer`. Raises DataError as `features`.

        team : the ranks that compute them together; each gets all. The rows of a layer are cut into
               the run's shares, as in its validations.
        """
        shares = self._shares(team)
        if isinstance(inputs, PartedDataset):
            return team.rows(infer_own(self.model, *self._asked_of_parts(inputs, team), shares)[1])
        return infer(self.model, *self._asked(inputs), shares)

    def embeddings(
        self, inputs: NodeInputs | PartedDataset, layer: int | None = None, team: Team = ALONE
    ) -> np.ndarray:
        """(N, width): what hidden layer `layer` puts out, from 1; if None, the last, which the
        head reads. Otherwise as `logits`. Raises SettingsError if there is no such layer.
        """
        self.expect_layer(layer)
        number, shares = layer or self.model.num_layers, self._shares(team)
        if isinstance(inputs, PartedDataset):
            asked = self._asked_of_parts(inputs, team)
            return team.rows(infer_hidden_own(self.model, *asked, number, shares)[1])
        return infer_hidden(self.model, *self._asked(inputs), number, shares)

    def scorer(
        self, dataset: NodeDataset, settings: NodeSettings, prefetch: int, team: Team = ALONE
    ) -> Scorer:
        """What scores the model on the splits of a dataset; see Scorer."""
        statistics = (self.mean, self.scale)
        return Scorer(dataset, statistics, settings, prefetch, self.edges, team)

    def scorer_of_parts(
        self, dataset: PartedDataset, settings: NodeSettings, prefetch: int | None, team: Team
    ) -> PartedScorer:
        """The same of a store in parts. Raises SettingsError for what is not done on one."""
        expect_askable_of_parts(settings, prefetch)
        parts, statistics = OpenParts(dataset, team), (self.mean, self.scale)
        shares = Shares(settings.shares, team)
        return PartedScorer(parts, statistics, settings, shares, self.edges)

    def _asked_of_parts(self, dataset: PartedDataset, team: Team) -> tuple[PartedRows, np.ndarray]:
        """The rows of a store in parts, and all nodes. Raises DataError as `features`, `graph`."""
        expect_askable_of_parts(self.settings)
        self.expect_features(dataset.path, dataset.num_features, dataset.feature_names)
        self.expect_edges(dataset.path, dataset.edge_dim, dataset.edge_names)
        given = (OpenParts(dataset, team), dataset.num_nodes, (self.mean, self.scale))
        rows = PartedRows(*given, by_row=self.settings.by_row, edges=self.edges)
        return rows, np.arange(dataset.num_nodes)

    def _asked(self, inputs: NodeInputs) -> tuple[CSRGraph, Features, np.ndarray]:
        """The graph, the features, and all nodes."""
        graph = self.graph(inputs)
        return graph, self.features(inputs), np.arange(graph.num_nodes)

    def _shares(self, team: Team) -> Shares:
        return Shares(self.settings.shares, team)

    def expect_layer(self, layer: int | None) -> None:
        """Raises SettingsError unless the model has this hidden layer; None is any."""
        last = self.model.num_layers
        if layer is not None and not 1 <= layer <= last:
            raise SettingsError(
                f"{self.path}: layer: expected a hidden layer of the model, 1 to {last}, "
                f"got {layer}"
            )

    def features(self, inputs: NodeInputs) -> Features:
        """The features as the model was trained on them, standardised where they are fetched.

        Raises DataError if they are not those that the run was trained on, by their number or,
        where both have names, by these; or if they were learned for other nodes.
        """
        if self.nodes is not None:
            if identity_of(inputs) != self.nodes:
                raise DataError(
                    f"{inputs.path or 'data'}: not the nodes that the run learned features for, or "
                    "in another order: such features belong to one graph; for others train on "
                    "features of the files, or on degree, spectral or ones (features)"
                )
            return Features(one_hot(self.mean.size), self.mean, self.scale)
        self.expect_features(inputs.path, inputs.features.shape[1], inputs.feature_names)
        by_row = self.settings.by_row
        return Features(inputs.features, self.mean, self.scale, by_row=by_row)

    def graph(self, inputs: NodeInputs) -> CSRGraph:
        """The graph, whose blocks carry the features of edges as the model was trained on them.

        Raises DataError if they are not those, by their number or by their names.
        """
        self.expect_edges(inputs.path, inputs.graph.edge_dim, inputs.edge_names)
        return standardised_edges(inputs.graph, self.edges)

    def expect_features(self, path: str | None, count: int, names: tuple[str, ...] | None) -> None:
        """Raises DataError unless `count` features of these `names` are those of training."""
        if count != self.mean.size:
            raise DataError(
                f"{path}: features: the run was trained on {self.mean.size:,} a node, "
                f"here are {count:,}"
            )
        _expect_names(f"{path}: features", self.feature_names, names)

    def expect_edges(self, path: str | None, count: int, names: tuple[str, ...] | None) -> None:
        """The same of the features of edges, if the model reads some."""
        if self.edges is None:
            return
        if count != self.edges[0].size:
            raise DataError(
                f"{path}: edges: the run was trained on {self.edges[0].size:,} features an "
                f"edge, here are {count:,}"
            )
        _expect_names(f"{path}: edges", self.edge_names, names)

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Of each label by itself, sigmoid(logit), where nodes have several; else softmax over the
        classes of a node. (N, C) as `logits`.
        """
        special = scipy.special
        softmax = special.expit if self.multi_label else partial(special.softmax, axis=1)
        return by_rows(softmax, logits, logits.shape, logits.dtype)


def by_rows(
    make: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, shape: tuple[int, ...], dtype: Any
) -> np.ndarray:
    """make(rows), whose rows do not depend on each other, some at a time; see `room_for`."""
    out = room_for(shape, dtype)
    for start in told("what is predicted", range(0, len(rows), ROWS_AT_A_TIME)):
        part = slice(start, start + ROWS_AT_A_TIME)
        out[part] = make(rows[part])
    return np.asarray(out)


def load_classifier(
    folder: RunFolder, settings: NodeSettings, data: Mapping[str, Any], device: str = "cpu"
) -> Classifier:
    """The classifier that a run chose by its validations; its data is not needed.

    settings, data : what the run's settings.json says.
    Raises DataError if the weights cannot be read or are not those of the settings.
    """
    groups, _ = load_checkpoint(folder.best)
    with belongs_to_the_run(folder.best):
        weights, statistics = groups["model"], groups["features"]
        names = (
            _names(data.get("class_names"), weights["head.bias"].size),
            _names(data.get("feature_names"), statistics["mean"].size),
            data.get("edge_names"),
        )
        of_edges = groups.get("edges")
        edges = (of_edges["mean"], of_edges["scale"]) if of_edges else None
        nodes = int(groups["nodes"]["identity"][0]) if "nodes" in groups else None
        given = (folder.path, settings, weights, statistics, names, device, edges, nodes)
        return _with_weights(*given)


def _with_weights(
    path: Path,
    settings: NodeSettings,
    weights: dict[str, np.ndarray],
    statistics: dict[str, np.ndarray],
    names: tuple[tuple[str, ...] | None, tuple[str, ...] | None, tuple[str, ...] | None],
    device: str,
    edges: tuple[np.ndarray, np.ndarray] | None = None,
    nodes: int | None = None,
) -> Classifier:
    edge_dim = edges[0].size if edges else 0
    sizes = (len(weights["embed.weight"]), weights["head.bias"].size, edge_dim)
    model = build_model(settings, *sizes, learned=nodes is not None)
    model.load_state(weights)
    model = model.to(resolve_device(device))
    class_names, feature_names, edge_names = names
    found = (statistics["mean"], statistics["scale"], class_names, feature_names)
    return Classifier(path, settings, model, *found, edges, edge_names, nodes)


def _names(found: list[str] | None, count: int) -> tuple[str, ...] | None:
    if found is None:
        return None
    if len(found) != count:
        raise ValueError(f"its settings have {len(found)} names for {count}")
    return tuple(map(str, found))


def _expect_names(where: str, own: tuple[str, ...] | None, given: tuple[str, ...] | None) -> None:
    """Raises DataError unless features have the names of those trained on, where both have any."""
    for name, other in zip(own or (), given or (), strict=False):
        if name != other:
            raise DataError(
                f"{where}: {other!r} stands where the run was trained on {name!r}; give the "
                "features the names and the order that they had then"
            )
