"""What a forecast rests on: the run's sensors and step, and readings that are really there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaancore.choices import LatestMissing, Missing
from gaancore.data.traffic.dataset import TrafficDataset, count_sensors
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.training.run_folder import REMEDY
from gaancore.training.same_data import minutes, not_compared

LEAST_READ = 0.5  # of the window of a sensor; below it the forecast would rest on what stands in

# What stands in for a reading that is missing; None: what did so in training
STANDS_IN: dict[str, Missing | None] = {
    "refuse": None,
    "keep": None,
    "mean": "nan",
    "interpolate": "interpolate",
}
MEANS = {
    "mean": "the mean",
    "interpolate": "a line between the others",
    "keep": "what training put",
}


def joined(
    facts: Mapping[str, Any], dataset: TrafficDataset, graph: CSRGraph | None = None
) -> tuple[TrafficDataset, list[str]]:
    """`dataset` with its sensors in the order of the run's, and what else differs, a line each.

    facts : what the run's settings.json says of its data.
    graph : the run's own, for data without one.
    Raises DataError if the sensors or the step are not those that the run was trained on.
    """
    where, then = dataset.where, facts["sensor_ids"]
    if then is None:
        raise DataError(f"settings.json of the run names no sensors: it is damaged; {REMEDY}")
    lines = [line] if (line := not_compared(facts)) else []
    if list(dataset.sensor_ids) != then:
        known = set(then)
        strangers = [name for name in dataset.sensor_ids if name not in known]
        without = [name for name in then if name not in set(dataset.sensor_ids)]
        if strangers or without:
            found = [f"{count_sensors(strangers)} it does not know"] if strangers else []
            found += [f"{count_sensors(without)} not here"] if without else []
            raise DataError(
                f"{where}: its {dataset.num_sensors} sensors are not the {len(then)} that the run "
                f"was trained on: {', '.join(found)}; give the readings of the same sensors"
            )
        dataset = dataset.in_order(then)
        lines.append("sensors put in the order of the run's, by their ids")
    if graph is not None:
        dataset = replace(dataset, graph=graph)
        lines.append("graph: the arcs of the run's own data")
    step = facts.get("step")
    if step is not None and step != dataset.step:
        raise DataError(
            f"{where}: its rows are {minutes(dataset.step)} apart, but the run was trained on rows "
            f"{minutes(step)} apart and forecasts these; give such rows"
        )
    checksums, here = facts.get("checksums", {}), dataset.part_checksums()
    compared = {"graph": "edges", "coordinates": "coordinates"}
    if here["roads"] is not None:  # a run that reads them refuses data without
        compared["roads"] = "lengths or weights of roads"
    for part, what in compared.items():
        if part in checksums and checksums[part] != here[part]:
            lines.append(f"warning: {where}: its {what} are not those that the run was trained on")
    return dataset, lines


def share_read(dataset: TrafficDataset, history: int) -> np.ndarray:
    """(N,) float64: of each sensor, the share of its last `history` readings that are there."""
    return dataset.valid[-history:].mean(axis=0)


def expect_read(
    dataset: TrafficDataset, read: np.ndarray, history: int, missing: LatestMissing
) -> list[str]:
    """A line for what stands in for readings that are missing.

    read : see `share_read`.
    Raises DataError if `missing` is `refuse` and a sensor has less than LEAST_READ of them, or
    `interpolate` and a sensor has none.
    """
    few = read < LEAST_READ if missing != "interpolate" else read == 0
    names = [dataset.sensor_ids[n] for n in np.flatnonzero(few)]
    if names and missing in ("refuse", "interpolate"):
        least = "a single one" if missing == "interpolate" else "half"
        other = "mean, or keep" if missing == "interpolate" else "mean, interpolate or keep"
        raise DataError(
            f"{dataset.where}: {count_sensors(names)} without {least} of the last {history} "
            f"readings, which the forecast would rest on; give rows that were read, or choose what "
            f"stands in for them: {other} (missing)"
        )
    if missing in MEANS and (read < 1).any():
        return [
            f"warning: {1 - read.mean():.0%} of the window is missing: {MEANS[missing]} stands in"
        ]
    return []
