"""What a page shows of a run that classifies nodes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaancore.data.nodes.dataset import TEST, VALIDATION, NodeDataset
from gaancore.errors import DataError
from gaancore.report.one_node import one_by_one
from gaancore.report.run import run_facts
from gaancore.report.values import edges_of_bins, name, numbers, places_in_bins, sample
from gaancore.training.nodes.heads.explain import node_gates
from gaancore.training.nodes.inference import infer
from gaancore.training.nodes.metrics import calibration_errors, class_counts, f1_scores

Run = Any
WHOLE = 100_000  # nodes of a graph whose nodes are all predicted; of a larger one a sample is
SAMPLE = 2_000  # of the scored nodes of such a graph
CLASSES = 500  # in the table
MATRIX = 40  # classes that a matrix of confusions has room for
WORST = 20  # labels, or pairs of classes, in a list of the worst
BINS, FEW_BINS = 15, 8  # of calibration, as in calibration_errors; of degrees and confidences
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Scored:
    """The outputs of a run for n nodes of one part of its data, from whole neighbourhoods.

    rows   : (n,) rows of the data; of `total` in the part, where these are a sample.
    logits, probabilities : (n, C); labels: (n,) classes, or (n, C) of 0 and 1.
    everyone : (N, C) probabilities of all nodes; None where the graph is too large.
    """

    part: str
    total: int
    rows: np.ndarray
    logits: np.ndarray
    probabilities: np.ndarray
    labels: np.ndarray
    everyone: np.ndarray | None


def of_nodes(run: Run, nodes: int, seed: int, whole: int = WHOLE) -> dict[str, Any]:
    """The content of the page of one run; at most `nodes` can be looked at one by one.

    whole : a graph of more nodes gives a page of samples.
    """
    facts = run_facts(run)
    data, inputs = run.dataset, run.inputs()
    scored = score(run, seed, whole)
    gated = run.settings.model == "gaan"
    gates = node_gates(run.classifier, inputs, scored.rows) if gated else {}
    return {
        "title": f"{facts['name']}: a report by gaancore",
        "kind": "nodes",
        "runs": [facts],
        "scored": {
            "part": scored.part,
            "total": scored.total,
            "count": scored.rows.size,
            "sampled_scores": any(fanout != -1 for fanout in run.settings.eval_fanouts),
        },
        "classes": class_table(scored, class_names(data)),
        "confusion": confusion(scored),
        "by_degree": by_degree(scored, data),
        "by_confidence": by_confidence(scored),
        "calibration": calibration(scored),
        "gates": [_spread_of_gates(values) for values in gates.values()],
        "one": one_by_one(run, inputs, scored, gates, nodes, seed),
    }


def score(run: Run, seed: int, whole: int = WHOLE) -> Scored:
    """The outputs for the test nodes, or validation nodes where there are none: those of
    `predict`; of a sample of them where the graph has more than `whole` nodes.
    Raises DataError if there is none of either.
    """
    data: NodeDataset = run.dataset
    part, rows = "test", data.nodes(TEST)
    if not rows.size:
        part, rows = "validation", data.nodes(VALIDATION)
    if not rows.size:
        raise DataError(f"{run.path}: its data have no test and no validation nodes to report on")
    total, everyone = rows.size, None
    if data.num_nodes <= whole:
        found = run.predictions()
        everyone, logits = found.probabilities, found.logits[rows]
        probabilities = everyone[rows]
    else:
        rows = sample(rows, SAMPLE, seed)
        classifier, inputs = run.classifier, run.inputs()
        graph, features = classifier.graph(inputs), classifier.features(inputs)
        logits = infer(classifier.model, graph, features, rows)
        probabilities = classifier.probabilities(logits)
    return Scored(part, total, rows, logits, probabilities, data.labels[rows], everyone)


def class_names(data: NodeDataset) -> list[str]:
    """The names of the classes; their numbers where they have none."""
    return [name(text) for text in data.class_names or range(data.num_classes)]


def class_table(scored: Scored, names: list[str]) -> dict[str, Any]:
    """Precision, recall, F1, support and calibration of each class, as `evaluate` has them."""
    counts = class_counts(scored.logits, scored.labels)
    overall, each = calibration_errors(scored.probabilities, scored.labels)
    rows = counts.per_class()
    kept = np.sort(np.argsort(-counts.support, kind="stable")[:CLASSES]).tolist()
    return {
        "names": names,
        "total": len(names),
        "ece": overall,
        "rows": [
            [c, rows[c].precision, rows[c].recall, rows[c].f1, rows[c].support, float(each[c])]
            for c in kept
        ],
    }


def confusion(scored: Scored) -> dict[str, Any]:
    """How many nodes of one class are taken for another; of several labels, those with most
    errors.
    """
    if scored.labels.ndim == 2:
        given, truth = scored.logits > 0, scored.labels > 0
        missed, wrong = (truth & ~given).sum(axis=0), (given & ~truth).sum(axis=0)
        worst = np.argsort(-(missed + wrong), kind="stable")[:WORST]
        return {"labels": [[int(c), int(missed[c]), int(wrong[c])] for c in worst]}
    classes = scored.logits.shape[1]
    given = scored.logits.argmax(axis=1)
    if classes <= MATRIX:
        matrix = np.zeros((classes, classes), np.int64)
        np.add.at(matrix, (scored.labels, given), 1)
        return {"matrix": matrix.tolist()}
    missed = scored.labels != given
    pairs, counts = np.unique(
        np.stack([scored.labels[missed], given[missed]]), axis=1, return_counts=True
    )
    worst = np.argsort(-counts, kind="stable")[:WORST]
    return {"pairs": [[*pairs[:, p].tolist(), int(counts[p])] for p in worst]}


def by_degree(scored: Scored, data: NodeDataset) -> list[dict[str, Any]]:
    """Micro-F1 of the nodes by how many arcs lead into them."""
    return _by(scored, data.graph.degrees[scored.rows])


def by_confidence(scored: Scored) -> list[dict[str, Any]]:
    """Micro-F1 of the nodes by how sure the network is: the probability of what it says; of
    several labels, the mean over them.
    """
    return _by(scored, confidence(scored.probabilities, several=scored.labels.ndim == 2))


def confidence(probabilities: np.ndarray, *, several: bool) -> np.ndarray:
    """(n,): the probability of what is predicted, as in `by_confidence`."""
    if not several:
        return probabilities.max(axis=1)
    return np.maximum(probabilities, 1 - probabilities).mean(axis=1)


def _by(scored: Scored, values: np.ndarray) -> list[dict[str, Any]]:
    edges = edges_of_bins(values, FEW_BINS)
    place = places_in_bins(values, edges)
    found = []
    for at in np.unique(place):
        inside = place == at
        f1 = f1_scores(scored.logits[inside], scored.labels[inside]).micro_f1
        here = values[inside]
        found.append(
            {
                "from": float(here.min()),
                "to": float(here.max()),
                "count": int(inside.sum()),
                "micro_f1": f1,
            }
        )
    return found


def calibration(scored: Scored) -> list[dict[str, Any]]:
    """Of each bin of probabilities: their mean, and the share that came true.

    Of the most likely class where a node has one, else of all labels; bins as in
    `calibration_errors`.
    """
    if scored.labels.ndim == 2:
        p, true = scored.probabilities.ravel(), scored.labels.ravel() > 0
    else:
        given = scored.probabilities.argmax(axis=1)
        p, true = scored.probabilities.max(axis=1), given == scored.labels
    place = np.clip(np.ceil(p * BINS).astype(np.int64) - 1, 0, BINS - 1)
    found = []
    for at in np.unique(place):
        inside = place == at
        mean, share = p[inside].mean(dtype=np.float64), true[inside].mean()
        found.append({"mean": float(mean), "share": float(share), "count": int(inside.sum())})
    return found


def _spread_of_gates(gates: np.ndarray) -> dict[str, Any]:
    """Of each head over the nodes: mean, and the quantiles of QUANTILES."""
    return {
        "mean": numbers(gates.mean(axis=0, dtype=np.float64)),
        "quantiles": [numbers(row) for row in np.quantile(gates, QUANTILES, axis=0).T],
    }
