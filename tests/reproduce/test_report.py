"""What a report sets beside the paper's numbers, from records written by hand."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.report.collected import collected_page
from gaancore.reproduce.report.of_runs import changed_settings, spread, table_report
from gaancore.reproduce.report.order import judged
from gaancore.reproduce.report.page import page
from gaancore.reproduce.tables import rows_of
from gaancore.tasks import TASKS
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.run_folder import RunFolder

FULL = {
    "kind": "real",
    "path": "/home/someone/ppi",
    "num_nodes": 56_944,
    "num_edges": 1_612_348,
    "num_features": 50,
    "num_classes": 121,
    "nodes_per_split": [44_906, 6_514, 5_524],
    "checksum": "00000001",
    "notes": [],
}
SCORES = {"gaan": (0.98, 0.99), "attention": (0.97, 0.981), "fnn": (0.5, 0.52)}


@pytest.fixture
def runs(tmp_path) -> list[TableRun]:
    """Two finished runs of three rows; the others were not run."""
    planned = []
    for row in rows_of("main", "ppi"):
        for seed in (0, 1):
            settings = NodeSettings(model=row.name, seed=seed)
            folder = tmp_path / f"{row.name}{seed}"
            run = TableRun(row, seed, settings, RunFolder(folder))
            planned.append(run)
            if row.name in SCORES:
                folder.mkdir()
                write_record(folder, settings, SCORES[row.name][seed])
    return planned


def write_record(folder: Path, settings: NodeSettings, score: float) -> None:
    record = {
        "settings": asdict(settings),
        "test": {"micro_f1": score},
        "data": FULL,
        "num_parameters": 7,
        "device": "cpu",
        "epochs": 3.0,
        "seconds": 1.5,
    }
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")


def report(runs: list[TableRun], task: str = "ppi", changed=(), chosen=None, **data) -> dict:
    rows = rows_of("main", task)
    facts = FULL | data
    options = {"chosen": chosen, "changed": changed, "command": "the rest"}
    return table_report("main", TASKS[task], rows, runs, facts, **options)


def row_of(found: dict, name: str) -> dict:
    (row,) = [row for row in found["rows"] if row["name"] == name]
    return row


def test_only_the_full_data_stand_beside_the_paper(runs):
    gaan = row_of(report(runs), "gaan")
    assert gaan["paper"] == {"micro_f1": [98.71, 0.02]}
    assert gaan["full"] == {"micro_f1": {"mean": 98.5, "std": 0.7071, "n": 2}}
    assert gaan["other"] == {}
    line = "| gaan | 98.71 ± 0.02 | 98.50 ± 0.71 | 2 |  |"
    assert line in page(report(runs)).splitlines()


@pytest.mark.parametrize(
    "other",
    [{"kind": "synthetic"}, {"num_nodes": 16_522}, {"nodes_per_split": [10_098, 3_210, 3_214]}],
)
def test_other_data_have_a_column_of_their_own(runs, other):
    found = report(runs, **other)
    assert all(row["full"] == {} for row in found["rows"])
    assert row_of(found, "gaan")["other"]["micro_f1"]["mean"] == 98.5
    assert "| gaan | 98.71 ± 0.02 |  | 2 | 98.50 ± 0.71 |" in page(found).splitlines()


def test_other_settings_on_the_full_data_do_too(runs):
    found = report(runs, changed=["epochs: 0 -> 3"])
    assert all(row["full"] == {} for row in found["rows"])
    assert "epochs: 0 -> 3" in page(found)


def test_data_of_ones_own_stand_beside_no_paper(runs):
    found = report(runs, task="labels", chosen="settings for a small graph", changed=["lr: 1 -> 2"])
    assert all(row["full"] == {} and row["paper"] == {} for row in found["rows"])
    assert found["order"] is None
    lines = page(found).splitlines()
    assert lines[0] == "# Test micro-F1 of every model: your data (`ppi`)"
    assert lines[2] == (
        "Data: Real data of your own (`ppi`: 56,944 nodes, split 44,906 / 6,514 / 5,524). Settings "
        "for a small graph. Settings that were asked for: lr: 1 -> 2."
    )
    assert "| row | runs | your data (test micro-F1, %) |" in lines
    assert "| gaan | 2 | 98.50 ± 0.71 |" in lines
    assert "| gaan | 0, 1 | 7 | released | cpu | 3 | 3 s |" in lines


def test_a_report_of_version_0_makes_the_same_page(runs, tmp_path):
    found = report(runs)
    old = {key: value for key, value in found.items() if key not in ("schema", "settings")}
    for folder, content in (("new", found), ("old", old)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "main.json").write_text(json.dumps(content), encoding="utf-8")
    pages = [collected_page([tmp_path / name], "{} of {}".format) for name in ("new", "old")]
    assert pages[0] == pages[1]
    assert "| Test micro-F1 of every model | the full PPI (`ppi`) | 6 | 8 |" in pages[0]
    assert "| the full Reddit | `main of reddit` |" in pages[0]
    assert "`main of ppi`" not in pages[0]


def test_a_row_without_a_run_is_empty(runs):
    found = report(runs)
    assert row_of(found, "max-pool")["full"] == {}
    assert "| max-pool | 98.39 ± 0.05 |  |  |  |" in page(found).splitlines()
    assert "| avg-pool |  |  |  |  |" in page(found).splitlines()  # the paper's is not confirmed
    assert "max-pool seed 1" in found["missing"]


def test_a_folder_of_this_machine_is_not_in_a_report(runs):
    assert "someone" not in json.dumps(report(runs)) + page(report(runs))


def test_how_files_are_read_is_no_change_of_settings():
    row = NodeSettings()
    assert changed_settings(NodeSettings(unflagged="train"), row) == []
    assert changed_settings(NodeSettings(epochs=3), row) == ["epochs: 0 -> 3"]


def test_one_run_has_no_deviation():
    assert spread([2.0]) == {"mean": 2.0, "std": None, "n": 1}
    assert spread([1.0, 3.0]) == {"mean": 2.0, "std": 1.4142, "n": 2}


def of(mean: float, std: float | None = 0.1) -> dict:
    return {"micro_f1": {"mean": mean, "std": std, "n": 2}, "mean mae": {"mean": mean, "std": std}}


def pairs(table: str, **scores: dict) -> dict:
    named = {name.replace("_", "-"): score for name, score in scores.items()}
    found = judged(table, named)
    assert found
    return {(pair["better"], pair["worse"]): pair for pair in found["pairs"]}


def test_the_order_is_that_of_the_means():
    found = pairs("main", gaan=of(90.0), attention=of(90.05), fnn=of(50.0), max_pool=of(80.0))
    assert found["gaan", "attention"] == {
        "better": "gaan", "worse": "attention", "holds": False, "gap": -0.05, "within": True,
    }  # fmt: skip
    assert found["max-pool", "fnn"]["holds"] is True
    assert found["max-pool", "fnn"]["within"] is False
    assert found["avg-pool", "fnn"]["holds"] is None


def test_of_errors_the_smaller_is_better():
    found = pairs("traffic", gaan=of(3.0), attention=of(3.2))
    assert found["gaan", "attention"]["holds"] is True
    assert found["gaan", "attention"]["gap"] == 0.2


def test_more_heads_are_to_score_more():
    found = pairs("ablation", gaan_k1=of(90.0), gaan_k2=of(91.0), gaan_k4=of(90.5, None))
    assert found["gaan-k2", "gaan-k1"]["holds"] is True
    assert found["gaan-k4", "gaan-k2"]["holds"] is False
    assert found["gaan-k4", "gaan-k2"]["within"] is None
    assert found["gaan-k8", "gaan-k4"]["holds"] is None
    assert judged("gates", {}) is None
