"""What the heads of a trained GaAN do for the nodes that it is tested on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaancore.data.nodes.dataset import TEST, NodeDataset
from gaancore.errors import SettingsError
from gaancore.nn.observe import Seen, observing
from gaancore.training.nodes.heads.values import HeadValues, attention_entropy, gate_values
from gaancore.training.nodes.predict import Classifier

SHOWN_NODES = 16
CLOSED, OPEN = 0.1, 0.9  # a gate below or above it lets next to nothing, or all, of a head through


@dataclass(frozen=True)
class HeadsOfTest:
    """Gates and attention of the best weights of a run, over the whole neighbourhoods of n nodes.

    classifier, dataset : the run's weights and data.
    rows    : (n,) the test nodes, as rows of the dataset, ascending.
    degrees : (n,) how many neighbours each of them has.
    gates   : (n, K) of each layer, in (0, 1).
    entropy : (n, K) of each layer, see attention_entropy.
    """

    classifier: Classifier
    dataset: NodeDataset
    rows: np.ndarray
    degrees: np.ndarray
    gates: list[np.ndarray]
    entropy: list[np.ndarray]

    def facts(self) -> dict[str, Any]:
        """Numbers for a report: of each layer, and of each of its heads, over the test nodes."""
        return {
            "data": self.dataset.kind,
            "test_nodes": int(self.rows.size),
            "layers": [
                {
                    "std_over_heads": round(float(gates.std(axis=1).mean()), 6),
                    "heads": [_of_head(*both) for both in zip(gates.T, entropy.T, strict=True)],
                }
                for gates, entropy in zip(self.gates, self.entropy, strict=True)
            ],
        }

    def positions(self, nodes: Sequence[int] | None, count: int = SHOWN_NODES) -> np.ndarray:
        """Where `nodes` (rows of the dataset) stand among the test nodes, ascending by degree; if
        None, of `count` that are spread evenly over the degrees.

        Raises SettingsError for a node that is not a test node.
        """
        by_degree = np.argsort(self.degrees, kind="stable")
        if nodes is None:
            spread = np.linspace(0, self.rows.size - 1, min(count, self.rows.size))
            return by_degree[spread.round().astype(int)]
        if strangers := sorted(set(nodes) - set(self.rows.tolist())):
            raise SettingsError(f"nodes: {strangers[0]} is not the row of a test node")
        chosen = np.searchsorted(self.rows, nodes)
        return chosen[np.argsort(self.degrees[chosen], kind="stable")]


def _of_head(gates: np.ndarray, entropy: np.ndarray) -> dict[str, float | None]:
    """`entropy` is NaN for nodes with fewer than two neighbours, which it leaves out."""
    known = entropy[~np.isnan(entropy)]
    found = {
        "mean": gates.mean(),
        "std": gates.std(),
        "share_closed": (gates < CLOSED).mean(),
        "share_open": (gates > OPEN).mean(),
        "entropy_mean": known.mean() if known.size else None,
    }
    return {name: None if x is None else round(float(x), 6) for name, x in found.items()}


def look_at_heads(classifier: Classifier, dataset: NodeDataset) -> HeadsOfTest:
    """Run a trained GaAN over the test nodes of its dataset.

    Raises SettingsError if it is no GaAN, DataError if the features are not the run's.
    """
    settings = classifier.settings
    if settings.model != "gaan":
        raise SettingsError(
            f"{classifier.path}: {settings.model} of task {settings.task}: only a gaan has gates "
            "that can be shown"
        )
    view, ids = dataset.view(TEST)
    nodes = view.nodes(TEST)
    gates = HeadValues(nodes, view.num_nodes, gate_values)
    entropy = HeadValues(nodes, view.num_nodes, attention_entropy)

    def observer(seen: Seen) -> None:
        gates(seen)
        entropy(seen)

    scorer = classifier.scorer(dataset, replace(settings, eval_fanouts=(-1,)), prefetch=0)
    with observing(observer):
        scorer.score(classifier.model, TEST)
    return HeadsOfTest(
        classifier, dataset, ids[nodes], view.graph.degrees[nodes], gates.layers, entropy.layers
    )
