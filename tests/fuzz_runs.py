"""Folders of finished runs, and plain readings of their files: see fuzzing.py."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from fuzzing import Facts, Sample, UnclearError, by_facts
from small_run import WIDTHS, small_dataset
from small_traffic_run import SMALL, small_roads

from gaancore.data import NodeDataset, TrafficDataset
from gaancore.tasks import open_run
from gaancore.tasks.begin import begin, resume
from gaancore.trained.nodes import NodeRun

FILES = ("settings.json", "record.json", "log.jsonl", "best.safetensors", "last.safetensors")


@cache
def finished(task: str) -> dict[str, bytes]:
    """The files of a run on small data."""
    settings = {"ppi": WIDTHS | {"validate_every": 0}, "metr-la": SMALL}[task] | {"epochs": 2}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        begin(DATA[task](), task=task, out=path, device="cpu", layers=[("", settings)]).run.train()
        return {name: (path / name).read_bytes() for name in FILES}


DATA: dict[str, Callable[[], NodeDataset | TrafficDataset]] = {
    "ppi": cache(small_dataset),
    "metr-la": cache(small_roads),
}


def run_of(task: str) -> Sample:
    def write(folder: Path) -> None:
        for name, content in finished(task).items():
            (folder / name).write_bytes(content)

    def load(folder: Path) -> Facts:
        """What can be asked of a run, and what a resumed one goes on from."""
        opened = open_run(folder, "cpu", data=DATA[task]())
        facts: Facts = {("record", name): _text(value) for name, value in opened.record.items()}
        for line in opened.log:
            facts |= {("log", line["step"], name): _text(value) for name, value in line.items()}
        if isinstance(opened, NodeRun):
            facts["scores",] = _text(opened.evaluate())
            facts["predictions",] = crc32(opened.predict_proba().tobytes())
        else:  # scores of forecasts take far longer
            facts["forecast",] = crc32(opened.forecast().speeds.tobytes())
        run = resume(folder, DATA[task](), device="cpu").run
        facts["progress",] = _text([asdict(run.progress), asdict(run.schedule)])
        facts["weights",] = _crc(run.model.state())
        facts["moments",] = _crc(run.optimizer.state())
        return facts

    plain = {
        "settings.json": _settings_touched,
        "record.json": by_facts(_record),
        "log.jsonl": by_facts(_log),
    }
    return Sample(write, load, plain, damaged=FILES)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _crc(arrays: dict[str, Any]) -> dict[str, int]:
    return {name: crc32(array.tobytes()) for name, array in arrays.items()}


def _record(content: bytes) -> Facts:
    return {("record", name): _text(value) for name, value in json.loads(content).items()}


def _log(content: bytes) -> Facts:
    """A last line that was cut off says nothing."""
    lines = [json.loads(line) for line in content.split(b"\n")[:-1]]
    return {("log", line["step"], name): _text(x) for line in lines for name, x in line.items()}


def _settings_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """The checkpoints remember all settings but the number of epochs, which a resumed run may
    change, and the data are compared.
    """
    before, after = json.loads(whole), json.loads(damaged)
    before["settings"].pop("epochs")
    if after["settings"].pop("epochs", None) is None or after["settings"] != before["settings"]:
        raise UnclearError  # one that is not there has its default
    return set()


SAMPLES = {"run on nodes": run_of("ppi"), "run on traffic": run_of("metr-la")}
