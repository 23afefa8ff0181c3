"""Nodes to look at one by one: what each is predicted, why, and whom it looks at."""

from itertools import pairwise
from typing import Any

import numpy as np

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.matrix import dense_part
from gaancore.data.nodes.inputs import NodeInputs
from gaancore.graph.ordered_rows import some_rows
from gaancore.report.values import name, names, packed
from gaancore.training.nodes.heads.explain import arc_attention

Run = Any
ARCS = 24  # into one node that are drawn
FEATURES = 6  # of a node that are told
LABELS = 12  # of a node that are told, of several
TOP = 5  # classes of a node, the most likely first
SPLITS = {0: "train", 1: "validation", 2: "test"}


def one_by_one(
    run: Run, inputs: NodeInputs, scored: Any, gates: dict[int, np.ndarray], most: int, seed: int
) -> dict[str, Any]:
    """At most `most` of the scored nodes, half of them wrong if there are so many.

    scored : see `Scored`. gates: layer -> (n, K) of the scored nodes.
    """
    wrong = wrongness(scored.logits, scored.labels)
    at = half_wrong(wrong, most, seed)
    rows = scored.rows[at]
    data: NodeDataset = run.dataset
    starts, sources, layers = strongest_arcs(run, inputs, rows)
    drawn, place = np.unique(np.concatenate([rows, sources]), return_inverse=True)
    edges = np.concatenate([[0], np.cumsum(np.diff(starts))])
    return {
        "part": scored.part,
        "total": scored.total,
        "wrong_in_all": int((wrong > 0).sum()),
        "scored": scored.rows.size,
        "nodes": place[: rows.size].tolist(),
        "wrong": wrong[at].tolist(),
        "told": [told(p, y) for p, y in zip(scored.probabilities[at], scored.labels[at],
                                            strict=True)],
        "gates": [packed(values[at]) for values in gates.values()],
        "arcs": {
            "starts": edges.tolist(),
            "sources": place[rows.size :].tolist(),
            "weights": [packed(weights) for weights in layers],
        },
        "drawn": {
            "ids": names(data.node_ids[drawn]),
            "degrees": data.graph.degrees[drawn].tolist(),
            "splits": [SPLITS.get(split, "no split") for split in data.split[drawn].tolist()],
            "labels": [_labels(y, split) for y, split in
                       zip(data.labels[drawn], data.split[drawn], strict=True)],
            "given": _given(scored, drawn),
            **features(run, inputs, drawn),
        },
    }  # fmt: skip


def wrongness(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n,) int: how many of a node's labels are wrong; of one class, 1 if it is."""
    if labels.ndim == 2:
        return ((logits > 0) != (labels > 0)).sum(axis=1)
    return (logits.argmax(axis=1) != labels).astype(np.int64)


def half_wrong(wrong: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Places of at most `most` nodes, ascending: half of them wrong, as far as there are such.

    >>> half_wrong(np.array([0, 0, 1, 0, 3]), 2, seed=0).size
    2
    """
    rng = np.random.default_rng(seed)
    bad, good = (rng.permutation(np.flatnonzero(x)) for x in (wrong > 0, wrong == 0))
    of_bad = max(most // 2, most - good.size)
    kept = bad[:of_bad]
    return np.sort(np.concatenate([kept, good[: most - kept.size]]))


def strongest_arcs(
    run: Run, inputs: NodeInputs, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """The arcs into `rows` that are drawn: at most ARCS of each, those with most attention.

    Returns where each node's begin (len(rows) + 1,), their sources (A,), and the weights (A, K) of
    each layer, none for a model without attention, whose first arcs are drawn.
    """
    layers: list[np.ndarray] = []
    if run.settings.model in ("gaan", "attention"):
        found = arc_attention(run.classifier, inputs, rows)
        indptr, _ = some_rows(inputs.graph.indptr, inputs.graph.indices, rows)
        sources, layers = found.sources, list(found.layers.values())
        strength = np.mean([weights.mean(axis=1) for weights in layers], axis=0)
    else:
        indptr, sources = some_rows(inputs.graph.indptr, inputs.graph.indices, rows)
        strength = np.zeros(sources.size)
    kept = [
        start + np.argsort(-strength[start:stop], kind="stable")[:ARCS]
        for start, stop in pairwise(indptr)
    ]
    starts = np.concatenate([[0], np.cumsum([part.size for part in kept])])
    arcs = np.concatenate(kept).astype(np.int64) if kept else np.empty(0, np.int64)
    return starts, sources[arcs], [weights[arcs] for weights in layers]


def told(probabilities: np.ndarray, labels: np.ndarray) -> list[list[Any]]:
    """(class, probability, whether it is true) of one node: the most likely classes and the true
    one; of several labels those that it has or is given, the surest mistake first.
    """
    if labels.ndim == 0:
        order = np.argsort(-probabilities, kind="stable")[:TOP].tolist()
        order += [] if int(labels) in order else [int(labels)]
        return [[c, float(probabilities[c]), c == int(labels)] for c in order]
    true, given = labels > 0, probabilities > 0.5
    concerned = np.flatnonzero(true | given)
    off = np.where(true != given, np.abs(probabilities - 0.5), -1.0)[concerned]
    order = concerned[np.argsort(-off, kind="stable")][:LABELS].tolist()
    return [[c, float(probabilities[c]), bool(true[c])] for c in order]


def _labels(labels: np.ndarray, split: int) -> list[int] | None:
    """The classes that a node has; None where it is in no split, so that it may have none."""
    if split not in SPLITS:
        return None
    return np.flatnonzero(labels).tolist() if labels.ndim else [int(labels)]


def _given(scored: Any, drawn: np.ndarray) -> list[list[int]] | None:
    """The classes that each node is given; None where not all of them are predicted."""
    if scored.everyone is None:
        return None
    found = scored.everyone[drawn]
    if scored.labels.ndim == 1:
        return [[c] for c in found.argmax(axis=1).tolist()]
    return [np.flatnonzero(row > 0.5).tolist() for row in found]


def features(run: Run, inputs: NodeInputs, drawn: np.ndarray) -> dict[str, Any]:
    """The features of each node that are farthest from the mean of training, as the data have
    them: [feature, value]; `feature_names` of those that are named.
    """
    classifier = run.classifier
    if classifier.nodes is not None:  # they are learned, and say only which node it is
        return {"features": [[] for _ in drawn], "feature_names": {}}
    values = dense_part(inputs.features, drawn).astype(np.float64)
    off = np.abs(values - classifier.mean) / np.where(classifier.scale > 0, classifier.scale, 1)
    if run.settings.normalize != "standard":  # then the statistics say nothing
        off = np.abs(values)
    order = np.argsort(-off, axis=1, kind="stable")[:, :FEATURES]
    kept = [
        [[f, float(np.float32(values[n, f]))] for f in row if values[n, f] or off[n, f] > 1]
        for n, row in enumerate(order.tolist())
    ]
    used = sorted({int(f) for row in kept for f, _ in row})
    known = inputs.feature_names
    return {
        "features": kept,
        "feature_names": {str(f): name(known[f] if known else f"feature {f}") for f in used},
    }
