"""`gaancore reproduce`: what it runs, what it does not run twice, and what it writes."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from small_run import small_arrays, small_options, write_small_npz

import gaancore as package
from gaancore.reproduce.tables import TABLES

CHECKOUT = Path(package.__file__).parents[1]
PROGRAM = "from gaancore.cli.main import main; main()"
TINY = ["--task", "ppi", *small_options(epochs=1)]
ROWS = ["--rows", "gaan,fnn", "--seeds", "2"]


@pytest.fixture(autouse=True)
def children_import_this_checkout(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))


@pytest.fixture
def estimated() -> bool:
    """For a test of the estimate, which costs a process of its own."""
    return True


@pytest.fixture(autouse=True)
def no_estimate(request, monkeypatch):
    if "estimated" not in request.fixturenames:
        monkeypatch.setattr("gaancore.reproduce.make.announce", lambda *asked: None)


def start(*arguments: object, folder: Path) -> subprocess.Popen[bytes]:
    """`gaancore ARGUMENTS` on the CPU as a process in `folder`."""
    environment = {"PYTHONPATH": str(CHECKOUT), "GAANCORE_DATA": str(folder / "none")}
    heed_ctrl_c = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's job does not
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments), "--device", "cpu"],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """The folder that `main_table` copies: its runs take seconds."""
    folder = tmp_path_factory.mktemp("main")
    data = write_small_npz(folder / "small.npz")
    options = ["main", "--data", data, *ROWS, *TINY, "--out", "out"]
    process = start("reproduce", *options, folder=folder)
    output = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return folder / "out"


@pytest.fixture
def main_table(finished, gaancore, data, tmp_path):
    """Two rows of the main table in the folder `out`; gives the command to make it again."""
    shutil.copytree(finished, tmp_path / "out")
    return lambda: gaancore("reproduce", "main", "--data", data, *ROWS, *TINY, "--out", "out")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("main*"))}


def report(folder: Path, table: str = "main") -> dict:
    return json.loads((folder / f"{table}.json").read_text(encoding="utf-8"))


def test_finished_runs_are_used_again_and_the_report_is_the_same(main_table, tmp_path):
    out = tmp_path / "out"
    runs = list((out / "runs").glob("ppi-*/*"))
    assert sorted(path.name for path in runs) == [
        f"{name}-released-seed{seed}" for name in ("fnn", "gaan") for seed in (0, 1)
    ]
    when = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*") if path.is_file()}
    before = files(out)
    outcome = main_table()
    assert (outcome.code, outcome.err) == (0, "")
    assert "seed" not in outcome.out.split("written")[0]  # no line of a finished run
    assert files(out) == before
    assert when == {path: path.stat().st_mtime_ns for path in when}


def test_the_report_holds_the_mean_and_the_sample_deviation_of_the_records(main_table, tmp_path):
    out = tmp_path / "out"
    scores = [
        json.loads(path.read_text(encoding="utf-8"))["test"]["micro_f1"] * 100
        for path in sorted((out / "runs").glob("*/gaan-*/record.json"))
    ]
    (row,) = [row for row in report(out)["rows"] if row["name"] == "gaan"]
    found = row["other"]["micro_f1"]
    assert found["n"] == 2
    assert found["mean"] == pytest.approx(sum(scores) / 2, abs=1e-4)
    assert found["std"] == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5, abs=1e-4)
    page = (out / "main.md").read_text(encoding="utf-8")
    assert f"{found['mean']:.2f} ± {found['std']:.2f}" in page


def test_what_was_not_run_is_empty_named_and_has_a_command(main_table, tmp_path):
    found = report(tmp_path / "out")
    baselines = {"majority", "logistic regression", "label propagation"}
    rows = {row["name"] for row in found["rows"] if not row["seeds"] and "taken_from" not in row}
    assert rows > baselines
    empty = rows - baselines
    assert empty == {
        "avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh", "attention",
    }  # fmt: skip
    assert len(found["missing"]) == 2 * len(empty)
    assert found["command"].startswith("gaancore reproduce main --task ppi --data small.npz")
    assert all(pair["outcome"] == "not run" for pair in found["order"]["pairs"])
    assert str(tmp_path) not in json.dumps(found)  # no folder of this machine


def test_other_data_never_stand_beside_the_paper(main_table, tmp_path):
    found = report(tmp_path / "out")
    assert found["data"]["kind"] == "part"
    assert all(row["full"] == {} for row in found["rows"])
    lines = (tmp_path / "out" / "main.md").read_text(encoding="utf-8").splitlines()
    header = next(line for line in lines if line.startswith("| row | paper"))
    row = next(line for line in lines if line.startswith("| gaan |"))
    cells = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    assert cells["ours, full PPI"].strip() == ""
    assert cells["paper (test micro-F1, %)"] == "98.71 ± 0.02"
    assert header.split(" | ")[-1].startswith("ours, not the full PPI")


def test_a_table_is_added_to_row_by_row(gaancore, data, tmp_path):
    command = ["reproduce", "main", "--data", data, "--seeds", "1", *TINY, "--out", "out"]
    for name in ("fnn", "avg-pool"):
        assert gaancore(*command, "--rows", name).code == 0
    assert [row["name"] for row in report(tmp_path / "out")["rows"] if row["seeds"]] == [
        "fnn",
        "avg-pool",
    ]
    found = report(tmp_path / "out")
    means = {r["name"]: r["other"]["micro_f1"]["mean"] for r in found["rows"] if r["seeds"]}
    (pair,) = [p for p in found["order"]["pairs"] if p["better"] == "avg-pool"]
    assert pair["difference"] == pytest.approx(means["avg-pool"] - means["fnn"], abs=2e-4)
    page = (tmp_path / "out" / "main.md").read_text(encoding="utf-8")
    signed = f"{pair['difference']:+.2f}".replace("-", "−")
    assert f"| avg-pool ≥ fnn | {signed} |  | 1 | not decided (one run) |" in page


def test_a_config_holds_for_every_row_and_set_wins_over_it(gaancore, data, tmp_path):
    lines = [f"{option.removeprefix('--set=')}\n" for option in small_options(epochs=1)]
    (tmp_path / "tiny.toml").write_text("".join(lines) + "dropout = 0.3\nlr = 0.5", "utf-8")
    given = ["--task", "ppi", "--data", data, "--config", "tiny.toml", "--set", "lr=0.02"]
    assert gaancore("reproduce", "main", *given, "--seeds", "1", "--rows", "fnn,gaan").code == 0
    for name in ("fnn", "gaan"):
        (path,) = tmp_path.glob(f"reproduced/runs/*/{name}-released-seed0/record.json")
        settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
        assert (settings["model"], settings["dropout"], settings["lr"]) == (name, 0.3, 0.02)
    assert "--config tiny.toml" in report(tmp_path / "reproduced")["command"]


def test_the_wide_recipe_holds_for_every_model_of_a_table(gaancore, data, tmp_path):
    given = ["--task", "ppi", "--data", data, "--config", "ppi-wide", "--budget", "0"]
    assert gaancore("reproduce", "main", *given).code == 0
    assert "--config ppi-wide" in report(tmp_path / "reproduced")["command"]


def test_tables_share_runs_with_the_same_settings(gaancore, data, tmp_path):
    options = ["--data", data, "--seeds", "1", "--task", "ppi", "--out", "out"]
    widths = [option for option in small_options(epochs=1) if "num_heads" not in option]
    eight = [*widths, "--set=num_heads=8", "--rows", "gaan"]
    assert gaancore("reproduce", "main", *options, *eight).code == 0
    outcome = gaancore("reproduce", "gates", *options, *widths)
    assert outcome.code == 0
    assert len(list((tmp_path / "out" / "runs").glob("*/*"))) == 1
    layers = report(tmp_path / "out", "gates")["gates"]["layers"]
    assert [len(layer["heads"]) for layer in layers] == [8, 8]
    page = (tmp_path / "out" / "gates.md").read_text(encoding="utf-8")
    assert f"| 1 | {layers[0]['heads'][0]['mean']:.3f} |" in page
    assert (tmp_path / "out" / "gates" / "gates-of-nodes.png").exists()
    text = (tmp_path / "out" / "gates.svg").read_text(encoding="utf-8")
    assert "gates of 5 test nodes" in text
    assert "other real data than the full PPI (the paper's picture is of Reddit)" in text
    assert f"written: {Path('out', 'gates.png')}" in outcome.lines


def test_without_data_the_report_says_synthetic(gaancore, tmp_path):
    outcome = gaancore(
        "reproduce", "main", "--rows", "fnn", "--seeds", "1", *TINY, "--out", "out", "--jobs", "2"
    )
    assert outcome.code == 0
    assert "SYNTHETIC" in outcome.out
    assert report(tmp_path / "out")["data"]["kind"] == "synthetic"
    assert "SYNTHETIC" in (tmp_path / "out" / "main.md").read_text(encoding="utf-8")


def test_before_the_runs_it_says_how_many_and_how_long(gaancore, data, tmp_path, estimated):
    """With a budget of 0 minutes it only says so."""
    options = ["--data", data, *ROWS, "--rows", "fnn,gaan", "--task", "ppi", "--budget", "0"]
    outcome = gaancore("reproduce", "main", *options, *small_options(epochs=50), "--out", "out")
    assert (outcome.code, outcome.err) == (0, "")
    first, gaan, fnn, total, *_ = outcome.lines
    assert first.startswith("4 runs, 4 of them to do; measured by a few steps of each row")
    assert re.fullmatch(r"  gaan: \S+ s a step, \S+ s a validation, at most \S+ s a run", gaan)
    assert fnn.startswith("  fnn: ")
    assert total.startswith("in all at most ")
    assert not (tmp_path / "out" / "runs").exists()


def test_the_most_telling_runs_come_first(gaancore, data, monkeypatch):
    """Seed 0 of every row before seed 1, and rows as the claims about the table compare them."""
    done = []
    monkeypatch.setattr(
        "gaancore.reproduce.jobs.Jobs.work", lambda jobs, runs, out: done.extend(runs)
    )
    options = ["--data", data, "--rows", "fnn,max-pool,attention,gaan", "--seeds", "2", *TINY]
    assert gaancore("reproduce", "main", *options, "--out", "out").code == 0
    rows = ["gaan", "attention", "max-pool", "fnn"]
    assert [run.name for run in done] == [f"{row} seed {seed}" for seed in (0, 1) for row in rows]


def test_the_time_of_the_estimate_is_part_of_the_budget(gaancore, data, monkeypatch):
    def slow(*asked):
        time.sleep(0.05)

    found = []
    monkeypatch.setattr("gaancore.reproduce.make.announce", slow)
    monkeypatch.setattr("gaancore.reproduce.jobs.Jobs.work", lambda jobs, *_: found.append(jobs))
    command = ["reproduce", "main", "--data", data, *ROWS, *TINY, "--out", "out"]
    gaancore(*command, "--budget", "1")
    gaancore(*command)
    assert 0 < found[0].means.budget <= 60 - 0.05
    assert found[1].means.budget is None


def test_a_budget_of_nothing_runs_nothing_and_still_reports(gaancore, data, tmp_path):
    outcome = gaancore(
        "reproduce", "main", "--data", data, *ROWS, *TINY, "--out", "out", "--budget", "0"
    )
    assert outcome.code == 0
    assert not (tmp_path / "out" / "runs").exists()
    assert len(report(tmp_path / "out")["missing"]) == 14


def test_a_spent_budget_saves_what_is_under_way(gaancore, data, tmp_path):
    options = ["--data", data, "--rows", "gaan", "--seeds", "1", "--out", "out"]
    endless = ["--task", "ppi"]
    endless += small_options(epochs=100_000, stop_patience=100_000)
    outcome = gaancore("reproduce", "main", *options, *endless, "--budget", "0.15")
    assert outcome.code == 0
    assert "gaan seed 0: stopped" in outcome.out
    (run,) = (tmp_path / "out" / "runs").glob("*/*")
    assert (run / "last.safetensors").exists()
    assert not (run / "record.json").exists()
    assert "gaan seed 0" in report(tmp_path / "out")["missing"]


def test_killed_in_the_middle_and_started_again_runs_nothing_twice(gaancore, data, tmp_path):
    options = ["reproduce", "main", "--data", data, "--rows", "fnn,gaan", "--seeds", "1"]
    options += ["--task", "ppi", *small_options(epochs=60), "--out"]
    process = start(*options, "killed", folder=tmp_path)
    runs = tmp_path / "killed" / "runs"
    deadline = time.monotonic() + 120
    while len(list(runs.glob("*/*/log.jsonl"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (done,) = runs.glob("*/*/record.json")  # the other one is under way
    before = done.read_bytes()
    assert gaancore(*options, "killed").code == 0
    assert done.read_bytes() == before
    assert len(list(runs.glob("*/*/record.json"))) == 2
    again = files(tmp_path / "killed")
    assert gaancore(*options, "killed").code == 0
    assert files(tmp_path / "killed") == again

    assert gaancore(*options, "straight").code == 0
    assert without_clock(tmp_path / "straight") == without_clock(tmp_path / "killed")


def test_ctrl_c_saves_what_is_under_way(data, tmp_path):
    options = ["--data", data, "--rows", "gaan,fnn", "--seeds", "1", "--jobs", "2", "--out", "out"]
    endless = ["--task", "ppi"]
    endless += small_options(epochs=100_000, stop_patience=100_000)
    process = start("reproduce", "main", *options, *endless, folder=tmp_path)
    runs = tmp_path / "out" / "runs"
    deadline = time.monotonic() + 120
    while len(list(runs.glob("*/*/log.jsonl"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    assert b"gaan seed 0: stopped" in out
    assert b"fnn seed 0: stopped" in out
    assert len(list(runs.glob("*/*/last.safetensors"))) == 2
    assert len(report(tmp_path / "out")["missing"]) == 7


def without_clock(out: Path) -> str:
    """The report, except for what a clock decides."""
    text = (out / "main.json").read_text(encoding="utf-8").replace(out.name, "OUT")
    return re.sub(r'"seconds": [\d.]+', "", text)


def test_all_26_parameter_counts_are_the_papers(gaancore, tmp_path):
    outcome = gaancore("reproduce", "params", "--out", "out")
    assert outcome.code == 0
    assert outcome.lines[-1] == "26 of 26 equal"
    assert len(report(tmp_path / "out", "params")["rows"]) == 26


def test_a_count_that_is_not_the_papers_ends_with_exit_code_1(gaancore, monkeypatch):
    monkeypatch.setattr("gaancore.reproduce.parameters.rounded", lambda count: "1K")
    outcome = gaancore("reproduce", "params", "--out", "out")
    assert (outcome.code, outcome.lines[-1]) == (1, "0 of 26 equal")


def test_params_prints_every_layer_with_its_shape(gaancore):
    outcome = gaancore("params", "--task", "ppi", "--model", "gaan", "--json")
    sizes = json.loads(outcome.out)
    assert [size["num_parameters"] for size in sizes] == [201_371, 210_813, 229_697, 267_465]
    for size in sizes:
        shapes = [np.prod(layer["shape"]) for layer in size["layers"]]
        assert sum(shapes) == size["num_parameters"]
    table = gaancore("params", "--task", "ppi", "--model", "gaan", "--layers").out
    assert "layers.0.gate.hidden.weight" in table
    assert "267K" in table
    printed = json.loads(gaancore("params", "--task", "ppi", "--variant", "paper", "--json").out)
    assert {s["row"]: s["equal"] for s in printed}["gaan-k8"] is False


def test_datasets_stand_beside_the_papers_counts(gaancore, data, tmp_path):
    assert (
        gaancore("reproduce", "datasets", "--task", "ppi", "--data", data, "--out", "o").code == 0
    )
    part, *others = report(tmp_path / "o", "datasets")["counts"]
    assert part["kind"] == "part"
    assert [(other["task"], other["kind"]) for other in others] == [
        ("reddit", None), ("metr-la", None),
    ]  # fmt: skip
    nodes = part["rows"][0]
    assert (nodes["printed"], nodes["paper"], nodes["found"]) == ("56.9K", 56_944, 120)
    page = (tmp_path / "o" / "datasets.md").read_text(encoding="utf-8")
    assert "| nodes | 56.9K; exactly 56,944 |  | 120 |" in page
    assert "| classes | 121 (multi) |  | 5 |" in page
    assert "| nodes | 233.0K; exactly 232,965 |  |  |" in page
    assert "| sensors | 207 |  |  |" in page
    assert "| edges (the paper's counting; found: stored arcs) | 806.2K |  |" in page
    assert gaancore("reproduce", "datasets", "--out", "o").code == 0  # no data at all
    assert [part["kind"] for part in report(tmp_path / "o", "datasets")["counts"]] == [None] * 3


def test_sampled_sizes_of_other_data_have_a_table_of_their_own(gaancore, tmp_path):
    assert gaancore("reproduce", "sampling", "--out", "o").code == 0
    found = report(tmp_path / "o", "sampling")
    assert not found["beside"]
    merged = found["rows"][1]
    assert merged["nodes"][0] == 512
    assert merged["nodes"][-1] <= found["rows"][0]["nodes"][-1]
    ours, printed = (
        (tmp_path / "o" / "sampling.md").read_text(encoding="utf-8").split("Printed for")
    )
    assert "| 512 | 7.5K | 70.7K | 0.2M |" in printed
    assert "124.4K" in printed
    assert "124.4K" not in ours


def test_traffic_has_the_simple_guesses_below_the_models(gaancore, tmp_path):
    from small_traffic_run import small_traffic_options

    options = [*small_traffic_options(epochs=1, horizon=12), "--rows", "fnn", "--seeds", "1"]
    assert gaancore("reproduce", "traffic", *options, "--out", "o").code == 0
    found = report(tmp_path / "o", "traffic")
    assert [row["name"] for row in found["rows"]][-2:] == ["last value", "historical average"]
    assert "mean mae" in found["rows"][-1]["other"]
    page = (tmp_path / "o" / "traffic.md").read_text(encoding="utf-8")
    for ahead in ("15 min", "30 min", "60 min", "average of the three", "all steps"):
        assert f"{ahead}: MAE / RMSE / MAPE" in page


def own_report(folder: Path, table: str) -> tuple[dict, str]:
    """The report and page of a table on data of one's own, without runs of other names."""
    return report(folder, table), (folder / f"{table}.md").read_text(encoding="utf-8")


def test_without_a_task_a_graph_of_ones_own_gets_settings_that_suit_it(gaancore, data, tmp_path):
    widths = [option for option in small_options() if "batch" not in option][2:]
    command = ["reproduce", "main", "--data", data, "--rows", "fnn,max-pool", "--seeds", "1"]
    outcome = gaancore(*command, *widths, "--set=epochs=1", "--out", "o")
    assert outcome.code == 0
    assert outcome.lines[0] == "task: labels (the data have several labels a node)"
    assert outcome.lines[1].startswith("settings for a small graph (120 nodes, ")
    records = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))["settings"]
        for path in (tmp_path / "o" / "runs").glob("labels-*/*/record.json")
    }
    one, other = records["fnn-released-seed0"], records["max-pool-released-seed0"]
    assert one | {"model": "max-pool"} == other
    assert (one["batch"], one["normalize"], one["validate_every"]) == ("graphs", "standard", 5)
    found, page = own_report(tmp_path / "o", "main")
    assert (found["task"], found["data"]["kind"], found["order"]) == ("labels", "own", None)
    assert page.startswith("# Test micro-F1 of every model: your data (`small.npz`)\n")
    assert "| row | runs | your data (test micro-F1, %) |" in page
    assert "epochs: 300 -> 1" in page
    assert not re.search("the paper|paper \\(|PPI|Reddit", page)
    assert found["command"].startswith("gaancore reproduce main --task labels --data small.npz")
    assert gaancore("results", "o", "--to", "all.md").code == 0
    collected = (tmp_path / "all.md").read_text(encoding="utf-8")
    assert "| Test micro-F1 of every model | your data (`small.npz`) | 2 | 5 |" in collected


def test_a_task_for_ones_own_data_can_be_named(gaancore, data, tmp_path):
    options = ["--task", "labels", "--data", data, "--out", "o", "--report-only"]
    assert gaancore("reproduce", "ablation", *options).code == 0
    found, page = own_report(tmp_path / "o", "ablation")
    assert [row["name"] for row in found["rows"]] == [
        "fnn", "avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh",
        *(f"{model}-k{heads}" for model in ("attention", "gaan") for heads in (1, 2, 4, 8)),
    ]  # fmt: skip
    assert "paper" not in page


def write_roads(folder: Path) -> None:
    """Speeds, and roads with lengths in both directions."""
    from small_traffic_run import small_roads

    roads = small_roads()
    lines = [",".join(map(str, row)) for row in [roads.sensor_ids, *roads.speeds.tolist()]]
    (folder / "speeds.csv").write_text("\n".join(lines), encoding="utf-8")
    src, dst = roads.graph.edges()
    ids = roads.sensor_ids
    edges = [f"{ids[i]},{ids[j]},{100 + 7 * e}" for e, (i, j) in
             enumerate(zip(src, dst, strict=True))]  # fmt: skip
    (folder / "roads.csv").write_text("\n".join(["from,to,cost", *edges]), encoding="utf-8")


def test_speeds_of_ones_own_are_forecast(gaancore, tmp_path):
    from small_traffic_run import small_traffic_options

    write_roads(tmp_path)
    options = [*small_traffic_options(epochs=1, horizon=12), "--rows", "fnn", "--seeds", "1"]
    options += ["--set=graph=roads.csv", "--data", "speeds.csv", "--out", "o"]
    outcome = gaancore("reproduce", "traffic", *options)
    assert outcome.code == 0, outcome
    assert outcome.lines[0].startswith("task: forecast ")
    found, page = own_report(tmp_path / "o", "traffic")
    assert (found["task"], found["data"]["kind"]) == ("forecast", "own")
    assert "last value" in page
    assert not re.search("the paper|paper \\(|METR-LA", page)


def test_reports_are_put_together_to_one_page(main_table, gaancore, tmp_path):
    gaancore("reproduce", "params", "--out", "other")
    x = small_arrays()["x"]
    write_small_npz(tmp_path / "turned.npz", x=-x)
    options = ["--data", "turned.npz", *TINY, "--out", "other", "--report-only"]
    gaancore("reproduce", "main", *options)
    outcome = gaancore("results", "out", "other", "--to", "docs/results.md")
    assert outcome.code == 0
    page = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    assert "26 of 26 equal" in page
    for file in ("small.npz", "turned.npz"):
        assert f"## Test micro-F1 of every model: PPI (`{file}`)\n" in page
    assert "`gaancore reproduce traffic --task metr-la --data PATH`" in page
    assert str(tmp_path) not in page


class TestRefusals:
    def test_a_folder_where_another_process_is_at_work(self, refused, data, tmp_path, monkeypatch):
        monkeypatch.setattr("gaancore.reproduce.jobs.PATIENCE_SECONDS", 0)
        (tmp_path / "there").mkdir()
        with (tmp_path / "there" / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            line = refused("reproduce", "main", "--data", data, *ROWS, *TINY, "--out", "there")
        assert line.startswith("there: another process is making a table here")

    def test_a_table_that_the_data_do_not_fit(self, refused, data):
        line = refused("reproduce", "traffic", "--data", data)
        assert line == "--task: table traffic is of metr-la, forecast, got labels"

    def test_ones_own_task_without_data(self, refused):
        line = refused("reproduce", "main", "--task", "classes")
        assert line.startswith("--data: task classes has no data of its own")

    def test_a_report_of_another_version(self, main_table, refused, tmp_path):
        path = tmp_path / "out" / "main.json"
        path.write_text(json.dumps(report(path.parent) | {"schema": 3}), encoding="utf-8")
        assert "written by another version of gaancore (schema 3" in refused("results", "out")

    def test_an_unknown_row(self, refused, data):
        line = refused("reproduce", "main", "--data", data, "--rows", "gaan,GraphSAGE")
        assert line == (
            "--rows: GraphSAGE: the paper prints this row from another one; it is never run"
        )
        line = refused("reproduce", "main", "--data", data, "--rows", "gaan,sage")
        assert line.startswith("--rows: sage: table main has no such row; known: fnn, avg-pool")

    def test_an_unknown_table(self, gaancore):
        outcome = gaancore("reproduce", "speed")
        assert outcome.code == 2
        assert all(name in outcome.err for name in TABLES)

    def test_a_task_that_a_table_has_not(self, refused):
        line = refused("reproduce", "traffic", "--task", "ppi")
        assert line == "--task: table traffic is of metr-la, forecast, got ppi"

    @pytest.mark.parametrize(
        ("table", "change", "words"),
        [
            (
                "main",
                "model=gaan",
                "model: the rows of table main differ in it; leave it out (rows",
            ),
            ("ablation", "num_heads=2", "num_heads: the rows of table ablation differ in it"),
            ("out-dim", "out_dim=64", "out_dim: the rows of table out-dim differ in it"),
            ("traffic", "model=gaan", "model: the rows of table traffic differ in it"),
            ("main", "variant=paper", "variant: leave it out; variant is an argument of its own"),
            ("main", "seed=3", "seed: each row is run with seeds 0, 1, ...; seeds says how many"),
            ("main", "task=reddit", "task: got 'reddit', but the task is ppi"),
        ],
    )
    @pytest.mark.parametrize("where", ["--set", "file.toml"])
    def test_a_change_of_what_is_no_setting_of_the_whole_table(
        self, refused, tmp_path, table, change, words, where
    ):
        if where == "--set":
            options = ["--set", change]
        else:
            name, value = change.split("=")
            text = value if value.isdigit() else f'"{value}"'
            (tmp_path / where).write_text(f"{name} = {text}\n", encoding="utf-8")
            options = ["--config", where]
        line = refused("reproduce", table, *options, "--out", "out")
        assert line.startswith(f"{where}: {words}")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("table", "option"),
        [
            ("params", "--rows=gaan"),
            ("params", "--set=lr=1"),
            ("params", "--data=x"),
            ("sampling", "--seeds=2"),
            ("datasets", "--variant=paper"),
        ],
    )
    def test_an_option_that_would_say_nothing(self, refused, table, option):
        name = option.split("=")[0]
        line = refused("reproduce", table, option)
        assert line == f"{name}: table {table} has no runs that it could be for"

    def test_rows_that_are_none_before_the_data_are_read(self, refused):
        line = refused("reproduce", "main", "--rows", "fnn, gat", "--data", "nowhere")
        assert line.startswith("--rows: gat: table main has no such row; known: fnn, ")

    def test_data_that_are_gone(self, main_table, refused, data, tmp_path):
        data.rename(tmp_path / "moved.npz")
        assert "small.npz" in refused("reproduce", "main", "--data", data, "--out", "out")

    def test_other_settings_in_the_same_folder(self, main_table, refused, data):
        options = ["--data", data, *ROWS, "--task", "ppi", *small_options(epochs=2), "--out", "out"]
        line = refused("reproduce", "main", *options)
        assert (
            "a run with other settings is there: epochs: 1 -> 2; choose another folder (--out)"
            in line
        )

    def test_other_data_under_the_same_report(self, main_table, refused, tmp_path):
        x = small_arrays()["x"]
        x[0] += 1
        other = write_small_npz(tmp_path / "other.npz", x=x)
        line = refused("reproduce", "main", "--data", other, *ROWS, *TINY, "--out", "out")
        assert "a report on other data is there" in line

    @pytest.mark.parametrize("text", ["{", '{"settings": {}}', "[]"])
    def test_a_damaged_record(self, main_table, refused, data, tmp_path, text):
        (path,) = (tmp_path / "out" / "runs").glob("*/gaan-released-seed0/record.json")
        path.write_text(text, encoding="utf-8")
        line = refused("reproduce", "main", "--data", data, *ROWS, *TINY, "--out", "out")
        assert f"{path.relative_to(tmp_path)}: damaged" in line

    def test_a_folder_without_a_report(self, refused, tmp_path):
        assert "no report there" in refused("results", tmp_path)

    def test_a_run_that_fails_does_not_stop_the_others(self, gaancore, data, tmp_path):
        options = ["--data", data, "--rows", "fnn,gaan", "--seeds", "1", "--out", "out"]
        tiny = [*TINY, "--set=lr=1e30", "--set=epochs=3"]
        outcome = gaancore("reproduce", "main", *options, *tiny)
        assert outcome.code == 2
        assert "fnn seed 0: " in outcome.out
        assert "gaan seed 0: " in outcome.out


def test_features_of_roads_are_compared_with_none(gaancore, refused, tmp_path):
    from small_traffic_run import small_traffic_options

    write_roads(tmp_path)
    options = [*small_traffic_options(epochs=1, horizon=12), "--seeds", "1", "--out", "o"]
    options += ["--set=graph=roads.csv", "--data", "speeds.csv"]
    pools = ("--rows", "avg-pool-with,avg-pool-without")
    outcome = gaancore("reproduce", "edges", *options, *pools)
    assert outcome.code == 0, outcome.err
    found, page = own_report(tmp_path / "o", "edges")
    rows = {row["name"]: row for row in found["rows"]}
    with_them, without = rows["avg-pool-with"], rows["avg-pool-without"]
    assert with_them["num_parameters"] > without["num_parameters"]
    (pair,) = [p for p in found["order"]["pairs"] if p["better"] == "avg-pool-with"]
    (a,), (b,) = with_them["scores"], without["scores"]
    assert pair["difference"] == pytest.approx(b["60 min mae"] - a["60 min mae"], abs=2e-4)
    assert "Expected: forecasts with features of roads ≥ those without" in page
    assert "The same of test RMSE 15 minutes ahead:" in page
    assert not re.search("the paper|paper \\(", page)
    assert gaancore("results", "o", "--to", "all.md").code == 0
    assert "orders on these data" not in (tmp_path / "all.md").read_text(encoding="utf-8")
    line = refused("reproduce", "edges", "--task", "metr-la")
    assert "the file of the roads gives no features of them, which table edges is about" in line
    line = refused("reproduce", "edges", *options, "--set=edge_features=weight")
    assert "edge_features: the rows of table edges differ in it; leave it out" in line
