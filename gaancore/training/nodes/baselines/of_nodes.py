"""The guesses beside a score, each on the same nodes and by the same measure."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gaancore.data.nodes.dataset import TRAIN, NodeDataset
from gaancore.training.nodes.baselines.logistic import logistic_regression, one_hot
from gaancore.training.nodes.baselines.propagation import ROUNDS, propagated, rounds_for
from gaancore.training.nodes.metrics import f1_scores, majority_scores

MAJORITY = "majority"
LOGISTIC = "logistic regression"
PROPAGATION = "label propagation"


@dataclass(frozen=True)
class Baselines:
    """scores : of each guess by its name, as those of the network.
    notes  : a line on each guess that is left out or was made from less than there is.
    """

    scores: dict[str, dict[str, float]]
    notes: tuple[str, ...]


def baselines(dataset: NodeDataset, split: int) -> Baselines:
    """Guesses at the nodes of `split` from the labels of the training nodes.

    majority            : what most training nodes have, see `majority_scores`.
    logistic regression : from a node's own features, see `logistic_regression`.
    label propagation   : from the labels around a node, in the whole graph. It is left out where no
                          label reaches a node of `split`, as in a graph of its own.

    The first costs nothing. The other two are bounded: what is left out is told.
    """
    d, nodes = dataset, dataset.nodes(split)
    labels, learned = d.labels[nodes], d.labels[d.nodes(TRAIN)]
    scores: dict[str, Any] = {
        MAJORITY: asdict(majority_scores(learned, labels, d.num_classes)),
    }
    notes = []
    if d.learned:
        notes.append(f"{LOGISTIC} left out: there are no features but learned ones")
    elif d.num_features:
        model = logistic_regression(d)
        scores[LOGISTIC] = asdict(f1_scores(model.logits(d.features, nodes), labels))
        if model.learned < len(learned):
            notes.append(
                f"{LOGISTIC} learned from {model.learned:,} of {len(learned):,} training nodes, to "
                "take seconds"
            )
    shares, note = _shares(d, nodes)
    if shares is not None:
        guesses = shares - 0.5 if d.multi_label else shares
        scores[PROPAGATION] = asdict(f1_scores(guesses, labels))
    if note is not None:
        notes.append(f"{PROPAGATION} {note}")
    return Baselines(scores, tuple(notes))


def _shares(d: NodeDataset, nodes: np.ndarray) -> tuple[np.ndarray | None, str | None]:
    """The shares of the classes around `nodes`, None where they are left out, and what to tell."""
    rounds = rounds_for(d.graph, d.num_classes)
    if not rounds:
        return None, f"left out: {d.num_edges:,} arcs and {d.num_classes:,} classes are too many"
    seen = d.nodes(TRAIN)
    parts = d.graph.connected_components()
    if not np.isin(parts[nodes], parts[seen]).any():
        return None, "left out: no path leads from a scored node to a training node"
    targets = one_hot(d.labels[seen], d.num_classes)
    shares, _ = propagated(d.graph, targets, seen, rounds)
    return shares[nodes], None if rounds == ROUNDS else f"went {rounds} rounds, not {ROUNDS}"
