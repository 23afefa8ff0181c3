"""Which runs of a table are there already: by settings and data, wherever the files lay."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gaancore.errors import SettingsError
from gaancore.reproduce.plan import TableRun, plan
from gaancore.reproduce.tables import rows_of
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic.settings import ForecastSettings

FACTS: dict[str, Any] = {
    "kind": "real", "path": "x", "checksum": "1", "step": 300, "notes": [],
    "checksums": {"graph": "2", "roads": "3", "readings": "4"},
}  # fmt: skip
ROWS = rows_of("traffic", "metr-la")[:2]
THERE = ForecastSettings(graph="/here/roads.csv")
OWN = f"{ROWS[0].name}-{THERE.variant}-seed0"  # the name of the first run's folder


def planned(folder: Path, asked: ForecastSettings, facts: dict[str, Any]) -> list[TableRun]:
    return plan(ROWS, 1, folder, facts, lambda row, seed: replace(asked, **row.settings))


@pytest.fixture
def folder(tmp_path):
    """One run is there, under its own name, and one under another."""
    for name, row in zip((OWN, "another"), ROWS, strict=True):
        RunFolder(tmp_path / name).create(replace(THERE, **row.settings), FACTS)
    return tmp_path


def test_runs_are_found_where_the_same_files_lie_elsewhere_now(folder):
    found = planned(folder, replace(THERE, graph="/there/roads.csv"), FACTS | {"path": "y"})
    assert [run.folder.path.name for run in found] == [OWN, "another"]
    assert all(run.begun and run.settings.graph == "/here/roads.csv" for run in found)


@pytest.mark.parametrize(
    ("asked", "facts", "said"),
    [
        ({"graph": "/here/others.csv"}, {}, "graph: roads.csv -> others.csv"),
        ({"epochs": 3}, {}, "epochs: 100 -> 3"),
        ({}, {"checksum": "9"}, "checksum 9, then 1"),
        ({}, {"checksums": {"roads": "9"}}, "other lengths or weights of roads"),
    ],
)
def test_a_run_with_other_settings_or_data_is_not_taken_for_the_same(folder, asked, facts, said):
    with pytest.raises(SettingsError, match=f"a run with other settings is there: {said}"):
        planned(folder, replace(THERE, **asked), FACTS | facts)


def test_a_run_under_another_name_is_left_where_it_differs(folder):
    (folder / OWN / "settings.json").unlink()
    found = planned(folder, replace(THERE, epochs=3), FACTS)
    assert not any(run.begun for run in found)
