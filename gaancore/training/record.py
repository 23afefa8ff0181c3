"""The files of a run as types: what settings.json, log.jsonl and record.json hold.

`schema` counts their versions. Version 0, without the key, is that of gaancore 0.1; its files are
read like version 1's, which differs by this key, by `waiting_share` in the log of every task, by
`step` and `checksums` in the facts of readings, by `baselines` of nodes, where there was only a
`majority`, and by `loss`, which was a mean over steps.
"""

from dataclasses import asdict
from typing import Any, NotRequired, TypedDict

from gaancore.system.process import peak_rss_mb
from gaancore.system.versions import versions

SCHEMA = 1


class DataFacts(TypedDict):
    """Of a dataset's `facts()`, what every run relies on; the rest is the dataset's own."""

    kind: str  # "real" or "synthetic"
    path: str | None  # None: built in, or given from memory
    checksum: str
    step: NotRequired[int]  # seconds between two rows of readings
    checksums: NotRequired[dict[str, str | None]]  # of each part of readings, see the dataset
    notes: list[str]


class SettingsFile(TypedDict):
    """settings.json: what was asked for, written first."""

    schema: int
    settings: dict[str, Any]
    data: DataFacts


class LogLine(TypedDict):
    """A line of log.jsonl: one validation. A task adds its own keys."""

    step: int
    epoch: float
    loss: float  # mean over the targets of the steps since the last validation
    validation: dict[str, Any]  # the task's scores
    lr: float
    best: bool
    waiting_share: float  # of the training time, waiting for batches
    exchange_share: NotRequired[float]  # of it, adding gradients of ranks and waiting for them
    own_rows: NotRequired[float]  # of nodes in parts: the share of the rows read that a rank has
    cache_hits: NotRequired[float]  # of the other rows, the share that it keeps
    rows_fetched: NotRequired[int]  # those that it does not
    edges_per_second: int
    seconds: float
    rss_mb: float


class Record(TypedDict):
    """record.json: the outcome, written last. `test` and `validation` are of the best weights."""

    schema: int
    task: str
    model: str
    variant: str
    seed: int
    device: str
    num_parameters: int
    data: DataFacts
    epochs: float
    steps: int
    best_epoch: float
    best_step: int
    stopped_early: bool
    validation: dict[str, Any]
    test: NotRequired[dict[str, Any]]  # where there are nodes or windows to test on
    seconds: float
    peak_rss_mb: float
    settings: dict[str, Any]
    versions: dict[str, str]
    baselines: dict[str, Any]  # guesses by name; of nodes, on test nodes if there are any
    baselines_notes: NotRequired[list[str]]  # of nodes: what was left out
    inputs_read: NotRequired[dict[str, float]]  # of forecasts: `share` and `empty`


def made_record(run: Any, validation: dict[str, Any], outcome: dict[str, Any]) -> Record:
    """The record of a Run that has come to its end, with its best weights in place.

    validation : their scores. outcome: what the task says of them.
    """
    s, p = run.settings, run.progress
    record: Any = {
        "schema": SCHEMA,
        "task": s.task,
        "model": s.model,
        "variant": s.variant,
        "seed": s.seed,
        "device": run.device,
        "num_parameters": run.model.num_parameters,
        "data": run.data_facts,
        "epochs": round(p.step / run.steps_per_epoch, 2),
        "steps": p.step,
        "best_epoch": round(p.best_step / run.steps_per_epoch, 2),
        "best_step": p.best_step,
        "stopped_early": run.schedule.stopped,
        "validation": validation,
        **outcome,
        "seconds": round(p.seconds, 3),
        "peak_rss_mb": peak_rss_mb(),
        "settings": asdict(s),
        "versions": versions(),
    }
    return record
