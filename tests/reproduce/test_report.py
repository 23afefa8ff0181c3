"""What a report sets beside the paper's numbers, from records written by hand."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from gaancore.errors import DataError
from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.report.collected import collected_page
from gaancore.reproduce.report.data import read_with
from gaancore.reproduce.report.of_runs import changed_settings, spread, table_report
from gaancore.reproduce.report.page import page
from gaancore.reproduce.sampling import PRINTED
from gaancore.reproduce.tables import read_rows, rows_of
from gaancore.tasks import TASKS
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic.settings import ForecastSettings

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


def report(runs: list[TableRun], task="ppi", changed=(), read=(), chosen=None, **data) -> dict:
    rows = rows_of("main", task)
    facts = FULL | data
    options = {"chosen": chosen, "changed": changed, "read": read, "command": "the rest"}
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


def test_a_row_without_a_run_is_empty(runs):
    found = report(runs)
    assert row_of(found, "max-pool")["full"] == {}
    assert "| max-pool | 98.39 ± 0.05 |  |  |  |" in page(found).splitlines()
    assert "| GAT (from its own paper) | 97.3 ± 0.2 |  |  |  |" in page(found).splitlines()
    assert "max-pool seed 1" in found["missing"]


def test_a_folder_of_this_machine_is_not_in_a_report(runs):
    assert "someone" not in json.dumps(report(runs)) + page(report(runs))


def test_how_files_are_read_is_no_change_of_settings():
    row = NodeSettings()
    assert changed_settings(NodeSettings(unflagged="train"), row) == []
    assert changed_settings(NodeSettings(epochs=3), row) == ["epochs: 0 -> 3"]


def test_how_files_are_read_is_told_without_the_folders_of_this_machine(runs):
    asked = ForecastSettings(graph="/home/someone/roads.csv", start="2012-03-01T00:00", epochs=3)
    read = read_with(asked, ForecastSettings())
    assert read == ["graph: roads.csv", "start: 2012-03-01T00:00"]
    assert read_with(NodeSettings(label="kind"), NodeSettings()) == ["label: kind"]
    text = page(report(runs, read=read))
    assert "). Read with graph: roads.csv; start: 2012-03-01T00:00.\n" in text
    assert "Read with" not in page(report(runs))


@pytest.mark.parametrize(
    ("num_edges", "kind"), [(1_515, "full"), (2_626, "full"), (1_514, "part"), (9_000, "part")]
)
def test_speeds_of_the_whole_set_on_another_graph_are_not_the_papers(num_edges, kind):
    whole = {"num_sensors": 207, "num_steps": 34_272}
    found = traffic_report(whole | {"num_edges": num_edges})
    assert found["data"]["kind"] == kind
    assert f"207 sensors, {num_edges:,} edges, 34,272 steps" in found["data"]["words"]


def test_a_page_tells_apart_two_reports_on_the_same_file(tmp_path):
    """By what not both of them were asked for; of one report alone nothing is said."""
    shared = "epochs: 100 -> 8"
    for name, read, changed in (
        ("one", [], [shared]),
        ("two", ["graph: roads.csv"], [shared, "split: windows -> rows"]),
    ):
        (tmp_path / name).mkdir()
        text = json.dumps(traffic_report(read=read, changed=changed))
        (tmp_path / name / "traffic.json").write_text(text, encoding="utf-8")
    told = "`speeds.csv`, graph: roads.csv, split: windows -> rows"
    both = collected_page([tmp_path / "one", tmp_path / "two"], "{} of {}".format)
    assert "## Errors of traffic forecasts: METR-LA (`speeds.csv`)\n" in both
    assert f"## Errors of traffic forecasts: METR-LA ({told})\n" in both
    for shown in ("`speeds.csv`", told):  # an overview of the runs, and one of the paper's orders
        lines = [x for x in both.splitlines() if f"the full METR-LA ({shown}) |" in x]
        assert len(lines) == 2
    alone = collected_page([tmp_path / "two"], "{} of {}".format)
    assert "## Errors of traffic forecasts: METR-LA (`speeds.csv`)\n" in alone


def test_one_run_has_no_deviation():
    assert spread([2.0]) == {"mean": 2.0, "std": None, "n": 1}
    assert spread([1.0, 3.0]) == {"mean": 2.0, "std": 1.4142, "n": 2}


def traffic_report(data: dict | None = None, **words) -> dict:
    data = data or {}
    rows = rows_of("traffic", "metr-la")
    facts = {"kind": "real", "path": "x/speeds.csv", "num_sensors": 3, "num_edges": 4,
             "num_steps": 9, "checksum": "1"}  # fmt: skip
    options = {"chosen": None, "changed": [], "read": [], "command": "the rest"}
    return table_report("traffic", TASKS["metr-la"], rows, [], facts | data, **options | words)


def test_numbers_stand_as_they_are_printed_and_what_is_ours_is_marked():
    lines = page(traffic_report()).splitlines()
    assert "| DCRNN (from its own paper) | 3.60 / 7.60 / 10.5 |  |  |  |" in lines
    assert "| FC-LSTM (from DCRNN's paper) | 3.86 / 7.41 / 11.2 |  |  |  |" in lines
    assert "| max-pool | 3.69 / 7.73 / 10.80 |  |  |  |" in lines
    assert "| fnn (extension) |  |  |  |  |" in lines
    assert sum(line.startswith("| row | paper (average of the three") for line in lines) == 1
    assert not any(line.startswith("| row | paper (all steps") for line in lines)  # no cell is full
    (cited,) = [line for line in lines if line.startswith("The paper: Table 5, section 5.3.")]
    assert cited.endswith(
        "It prints no number where its cell is empty. Rows from another paper are shown as printed "
        "and are never run here. Rows marked as an extension are not in the paper. Printed DCRNN: "
        "directed."
    )


def test_no_cell_is_empty_that_the_paper_prints():
    for table in ("main", "ablation", "traffic"):
        for task in ("ppi", "reddit", "metr-la"):
            rows = [row for row in read_rows(table) if task in row.paper]
            facts = FULL | {"num_sensors": 1, "num_steps": 1}
            options = {"chosen": None, "changed": [], "read": [], "command": ""}
            found = table_report(table, TASKS[task], rows_of(table, task), [], facts, **options)
            text = page(found)
            for row in rows:
                scores = list(row.paper[task].scores.values())
                cells = [" / ".join(scores[at : at + 3]) for at in range(0, len(scores), 3)]
                for cell in cells:
                    assert re.search(
                        rf"^\| {row.name}( \(.*\))? \| {re.escape(cell)} \|", text, re.M
                    )


def test_each_run_keeps_its_own_scores(runs):
    gaan = row_of(report(runs), "gaan")
    assert gaan["seeds"] == [0, 1]
    assert gaan["scores"] == [{"micro_f1": 98.0}, {"micro_f1": 99.0}]


def test_the_page_says_what_two_runs_show_of_an_order(runs):
    lines = page(report(runs)).splitlines()
    # differences 1.0 and 0.9: t = 12.7062, s = 0.0707, so 0.95 -+ 0.6353
    assert "| gaan ≥ attention | +0.95 | +0.31 to +1.59 | 2 | shown |" in lines
    assert "| attention ≥ max-pool |  |  |  | not run |" in lines


def test_the_first_table_of_the_page_says_what_is_shown(runs, tmp_path):
    (tmp_path / "main.json").write_text(json.dumps(report(runs)), encoding="utf-8")
    text = collected_page([tmp_path], "{} of {}".format)
    line = "| Test micro-F1 of every model | the full PPI (`ppi`) | gaan ≥ attention |  | 0 | 6 |"
    assert line in text.splitlines()


def test_the_page_in_docs_has_every_number_that_the_paper_prints_of_what_was_run():
    """Tables of PPI and METR-LA; of Reddit nothing was run. It is made by gaancore results."""
    text = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    for table, task in (("main", "ppi"), ("ablation", "ppi"), ("traffic", "metr-la")):
        for row in read_rows(table):
            for name, printed in row.paper[task].scores.items() if task in row.paper else ():
                cell = rf"(?:[^|]* )?{re.escape(printed)}(?: [^|]*)?"
                assert re.search(rf"^\| {row.name}(?: \([^|]*\))? \| {cell} \|", text, re.M), name
    for cells in (*PRINTED.values(), ("56.9K", "233.0K", "806.2K", "114.6M", "1,515", "34,272")):
        assert all(f"| {cell}" in text for cell in cells)
    assert "could not be confirmed" not in text


@pytest.mark.parametrize("schema", [0, 1, 99])
def test_a_report_of_another_version_is_refused(runs, tmp_path, schema):
    other = report(runs) | {"schema": schema}
    (tmp_path / "main.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(
        DataError, match=rf"main\.json: .* \(schema {schema}, .*make the table again"
    ):
        collected_page([tmp_path], "{} of {}".format)


LOST = [{key: None} for key in ("title", "data", "rows", "changed", "missing", "order", "task")]
WRONG = [{key: x} for key in ("data", "rows", "order", "task") for x in (3, "x", [3])]


@pytest.mark.parametrize("damage", LOST + WRONG, ids=str)
def test_a_damaged_report_is_named(runs, tmp_path, damage):
    (key, value), found = *damage.items(), report(runs)
    found = {k: x for k, x in found.items() if k != key} | ({} if value is None else damage)
    (tmp_path / "main.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(DataError, match=r"main\.json: damaged"):
        collected_page([tmp_path], "{} of {}".format)
