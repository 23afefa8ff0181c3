"""What a page shows of several runs: where their settings, scores and outputs differ."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from gaancore.report.nodes import WHOLE, Scored, class_names, score
from gaancore.report.one_node import LABELS, wrongness
from gaancore.report.run import read_settings, run_facts
from gaancore.report.values import names

Run = Any
FEWEST = 3  # seeds that an interval can be made of
LEVEL = 0.95  # of the intervals of means
NOT_ALIKE = ("seed",)  # settings in which repetitions of a run differ


def compared(
    runs: Sequence[Run], family: str, nodes: int, seed: int, whole: int = WHOLE
) -> dict[str, Any]:
    """The content of the page of several runs of one `family`; at most `nodes` on which they
    disagree are listed.
    """
    facts = [run_facts(run) for run in runs]
    if len({fact["name"] for fact in facts}) < len(facts):
        for number, fact in enumerate(facts, start=1):
            fact["name"] = f"{number}: {fact['name']}"
    return {
        "title": f"{len(runs)} runs compared: a report by gaancore",
        "kind": "compare",
        "runs": facts,
        "settings": differing(facts),
        "groups": groups(runs, facts),
        "nodes": disagreements(runs, facts, nodes, seed, whole) if family == "nodes" else None,
    }


def differing(facts: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """The settings that are not the same in all runs: their name, and each run's value."""
    every = dict.fromkeys(key for fact in facts for key in fact["settings"])
    rows = [[key, *(fact["settings"].get(key) for fact in facts)] for key in every]
    rows.append(["data", *(fact["data"]["name"] for fact in facts)])
    return [row for row in rows if len(set(row[1:])) > 1]


def groups(runs: Sequence[Run], facts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs that differ in nothing but their seed, and the mean of their main score on test nodes
    or windows.

    `half` is half of an interval for the mean of all seeds at LEVEL: t s / sqrt(n), with Student's
    t of n - 1 degrees of freedom and the deviation s over n seeds; None of fewer than FEWEST.
    """
    places: dict[str, list[int]] = {}
    for n, (run, fact) in enumerate(zip(runs, facts, strict=True)):
        settings = read_settings(run)
        alike = [f"{key}={settings[key]}" for key in settings if key not in NOT_ALIKE]
        places.setdefault("\n".join([fact["data"]["checksum"], *alike]), []).append(n)
    found = []
    for group in places.values():
        values = [value for n in group if (value := main_score(facts[n])) is not None]
        seeds = {facts[n]["seed"] for n in group}
        half = None
        if len(values) >= FEWEST and len(seeds) == len(values) == len(group):
            t = stdtrit(len(values) - 1, (1 + LEVEL) / 2)
            half = float(t * np.std(values, ddof=1) / np.sqrt(len(values)))
        found.append(
            {"runs": group, "mean": float(np.mean(values)) if values else None, "half": half}
        )
    return found


def main_score(fact: dict[str, Any]) -> float | None:
    """Test micro-F1, or the MAE of all steps; of validation where nothing is tested."""
    scores = fact["scores"] or {}
    found = scores.get("test") or scores.get("validation") or {}
    return found.get("micro_f1") if "micro_f1" in found else found.get("all steps", {}).get("mae")


def disagreements(
    runs: Sequence[Run], facts: Sequence[dict[str, Any]], most: int, seed: int, whole: int
) -> dict[str, Any]:
    """The scored nodes that not all runs say the same of, and how often which two agree."""
    if len({fact["data"]["checksum"] for fact in facts}) > 1:
        return {"why": "The runs have different data, so there are no nodes to compare."}
    scored = [score(run, seed, whole) for run in runs]
    outputs = [_outputs(found) for found in scored]
    wrong = np.stack([wrongness(found.logits, found.labels) for found in scored])  # (runs, n)
    same = [[_alike(one, other) for other in outputs] for one in outputs]
    differ = ~np.logical_and.reduce([alike for row in same for alike in row])
    at = np.random.default_rng(seed).permutation(np.flatnonzero(differ))
    at = at[np.argsort(-np.ptp(wrong[:, at], axis=0), kind="stable")][:most]
    first, data = scored[0], runs[0].dataset
    return {
        "part": first.part,
        "total": first.total,
        "count": first.rows.size,
        "classes": class_names(data),
        "several": first.labels.ndim == 2,
        "agree": [[float(np.mean(alike)) for alike in row] for row in same],
        "right": int((wrong == 0).all(axis=0).sum()),
        "wrong": int((wrong > 0).all(axis=0).sum()),
        "differ": int(differ.sum()),
        "ids": names(data.node_ids[first.rows[at]]),
        "truth": [_classes(y) for y in first.labels[at]],
        "outputs": [[_classes(y) for y in output[at]] for output in outputs],
        "mistakes": wrong[:, at].tolist(),
    }


def _outputs(scored: Scored) -> np.ndarray:
    """(n,) the class of each node, or (n, C) the labels that it is given."""
    several = scored.labels.ndim == 2
    return scored.logits > 0 if several else scored.logits.argmax(axis=1)


def _alike(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    found = one == other
    return found.all(axis=1) if found.ndim == 2 else found


def _classes(labels: np.ndarray) -> list[int]:
    return np.flatnonzero(labels)[:LABELS].tolist() if labels.ndim else [int(labels)]
