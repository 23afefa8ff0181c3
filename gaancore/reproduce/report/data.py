"""Which data a number was measured on, in a report's words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaancore.data.paper import is_whole
from gaancore.reproduce.report.schema import DataKind, DataPart
from gaancore.tasks import Task

Facts = Mapping[str, Any]  # of a dataset: those in a record


# settings that say what the data are, not what is done with them
FILES = ("graph", "sensor_ids")
OF_DATA = (*FILES, "start", "unflagged", "nan", "unknown_edges", "label", "split_column")


def data_part(task: Task, facts: Facts, read: Sequence[str]) -> DataPart:
    """The data of a report. read: as of `read_with`."""
    return {
        "kind": data_kind(task, facts),
        "words": describe(task, facts),
        "file": file_name(facts),
        "checksum": facts["checksum"],
        "read": list(read),
    }


def read_with(asked: Any, of_row: Any) -> list[str]:
    """What was asked for of how the files are to be read; of a file, the last part of its path."""
    asked_for, usual = asdict(asked), asdict(of_row)
    values = {name: asked_for[name] for name in OF_DATA if asked_for.get(name) != usual.get(name)}
    return [f"{n}: {Path(v).name if n in FILES else v}" for n, v in values.items()]


def data_kind(task: Task, facts: Facts) -> DataKind:
    """How far data are the paper's."""
    if facts["kind"] == "synthetic":
        return "synthetic"
    if not task.of_paper:
        return "own"
    return "full" if is_whole(task.name, dict(facts)) else "part"


def heading(task: Task) -> str:
    """What the data of a task are called in a heading."""
    return task.title if task.of_paper else "your data"


def short_words(task: Task, kind: DataKind) -> str:
    """The data of a report in a few words, as in the title of a picture."""
    name = heading(task)
    if kind == "synthetic":
        return f"SYNTHETIC look-alike of {name}" if task.of_paper else "SYNTHETIC data"
    return {
        "full": f"the full {name}",
        "part": f"other real data than the full {name}",
        "own": name,
    }[kind]


def file_name(facts: Facts) -> str:
    """The last part of the path to the data."""
    return Path(facts["path"]).name if facts["path"] else "built in"


def data_sentence(data: DataPart) -> str:
    """Which data they are, and how their files were read."""
    read = f" Read with {'; '.join(data['read'])}." if data.get("read") else ""
    return f"Data: {data['words']}{read}"


def data_label(data: DataPart, apart: str = "") -> str:
    """The file of a report and, where two have the same, what tells them apart."""
    return f"`{data['file']}`" + (f", {apart}" if apart else "")


def describe(task: Task, facts: Facts) -> str:
    """The data in one sentence, which says first what its scores are worth."""
    kind, name, size = data_kind(task, facts), heading(task), task.size(facts)
    file = f"`{file_name(facts)}`: {size}"
    if kind == "synthetic" and not task.of_paper:
        return f"SYNTHETIC data ({file}): scores say nothing about real ones."
    return {
        "full": f"Real, full {name} ({file}).",
        "part": f"Real data, but not the paper's full {name} ({file}): "
        "a score here is a check and does not stand beside the paper's.",
        "own": f"Real data of your own ({file}).",
        "synthetic": f"SYNTHETIC look-alike of {name} ({size}): scores say nothing about {name}.",
    }[kind]
