"""What every page begins with: what was run, how it learned, and its scores."""

from contextlib import suppress
from types import ModuleType
from typing import Any

from gaancore.errors import SettingsError
from gaancore.report.values import WORDS as LONG
from gaancore.report.values import name, names, number
from gaancore.system.disk import read_json
from gaancore.system.versions import versions
from gaancore.training.choices import shipped_recipe, shipped_recipes, with_changes
from gaancore.training.nodes import words as of_nodes
from gaancore.training.traffic import words as of_traffic

Run = Any
FEW = 2  # settings that many runs have, of whatever recipe
WORDS: dict[str, ModuleType] = {"nodes": of_nodes, "traffic": of_traffic}


def run_facts(run: Run) -> dict[str, Any]:
    """The facts, log and scores of one opened run; `record` is None before its end."""
    folder, s, facts = run.folder, run.settings, run.facts
    family = run.kind_of_data.family
    words = WORDS[family]
    record = read_json(folder.record_file) if folder.record_file.exists() else None
    path = facts["path"]
    return {
        "family": family,
        "folder": str(run.path),
        "name": name(run.path.name),
        "task": s.task,
        "model": s.model,
        "variant": s.variant,
        "recipe": recipe_of(s),
        "seed": s.seed,
        "synthetic": facts["kind"] == "synthetic",
        "data": {
            "path": path and name(path),
            "name": name(path.rstrip("/").rpartition("/")[2])
            if path
            else ("built-in look-alike" if facts["kind"] == "synthetic" else "data from memory"),
            "words": words.data(facts),
            "notes": names(facts["notes"], LONG),
            "checksum": facts["checksum"],
        },
        "settings": {key: _text(value) for key, value in read_settings(run).items()},
        "versions": (record or {}).get("versions") or versions(),
        "record": record
        and {
            "epochs": record["epochs"],
            "best_epoch": record["best_epoch"],
            "stopped_early": record["stopped_early"],
            "num_parameters": record["num_parameters"],
            "seconds": record["seconds"],
            "device": record["device"],
        },
        "scores": record and scores(words.rows(record)),
        "doubts": names(words.doubts(record), LONG) if record else [],
        "log": [line_of(line, family) for line in run.log],
    }


def read_settings(run: Run) -> dict[str, Any]:
    """The settings by name, as settings.json has them."""
    return run.folder.read_settings()["settings"]


def recipe_of(settings: Any) -> str | None:
    """The shipped recipe whose settings a run has, all of them; of several the longest."""
    found = {}
    for recipe in shipped_recipes():
        changes = shipped_recipe(recipe)
        with suppress(SettingsError):  # one for another kind of task
            if len(changes) > FEW and with_changes(settings, (recipe, changes)) == settings:
                found[recipe] = len(changes)
    return max(found, key=lambda recipe: found[recipe], default=None)


def scores(rows: dict[str, Any]) -> dict[str, Any]:
    """Scores by what was scored, every digit; a number that there is not is None."""
    return {
        name(key): scores(value) if isinstance(value, dict) else number(value)
        for key, value in rows.items()
    }


def line_of(line: dict[str, Any], family: str) -> dict[str, Any]:
    """Of a line of the log, what the curves show."""
    found = line["validation"]
    score = found.get("micro_f1") if family == "nodes" else found.get("all steps", {}).get("mae")
    return {
        "epoch": number(line["epoch"]),
        "loss": number(line["loss"]),
        "score": number(score),
        "best": line["best"],
        "gates": line.get("gates"),
    }


def _source(path: str | None, kind: str) -> str:
    if path is None:
        return "built-in look-alike" if kind == "synthetic" else "from memory"
    return name(path.rstrip("/").rpartition("/")[2])


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return name(f"{value:g}" if isinstance(value, float) else value)
