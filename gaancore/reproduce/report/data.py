"""Which data a number was measured on, in a report's words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaancore.data.paper import is_whole
from gaancore.reproduce.report.schema import DataKind, DataPart
from gaancore.tasks import Task

Facts = Mapping[str, Any]  # of a dataset: those in a record


def data_part(task: Task, facts: Facts) -> DataPart:
    """The data of a report."""
    return {
        "kind": data_kind(task, facts),
        "words": describe(task, facts),
        "file": file_name(facts),
        "checksum": facts["checksum"],
    }


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
        "own": f"Your data ({file}).",
        "synthetic": f"SYNTHETIC look-alike of {name} ({size}): scores say nothing about {name}.",
    }[kind]
