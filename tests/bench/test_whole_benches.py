"""The other benchmarks run as a reader would run them, and write figures that can be so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaancore.data import open_store
from gaancore.data.synthetic.reddit import write_synthetic_reddit
from gaancore.ops import linear, linear_each
from gaancore.tensor import Tensor

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A look-alike of Reddit with some 2,300 nodes."""
    folder = tmp_path_factory.mktemp("bench") / "store"
    write_synthetic_reddit(folder, 0, scale=0.01)
    return folder


def figures(
    script: str, *options: object, folder: Path, threads: str = "1"
) -> list[dict[str, Any]]:
    """The rows of the JSON that a benchmark writes."""
    target = folder / "figures.json"
    command = [sys.executable, BENCH / script, *options, "--threads", threads, "--json", target]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = json.loads(target.read_text(encoding="utf-8"))
    assert written["machine"]["cores"] >= 1
    assert "gaancore" in done.stdout
    return written["rows"]


def test_the_sampler_is_timed_and_says_how_far_neighbourhoods_grow(store, tmp_path):
    options = ["--fanouts", "5,2", "--seconds", "0.05"]
    (row,) = figures("sampler.py", store, *options, folder=tmp_path)
    seeds, one, two = row["nodes"]
    assert seeds == 512
    assert 512 < one <= 512 * 6
    assert one < two <= one * 3
    assert row["ms_best"] <= row["ms_median"]
    assert row["seeds_per_s"] == pytest.approx(512 * row["batches_per_s"])


def test_an_epoch_of_reddit_is_timed_by_some_of_its_batches(store, tmp_path):
    (row,) = figures("reddit_epoch.py", store, "--batches", "1", folder=tmp_path)
    assert (row["library"], row["threads"], row["batches"]) == ("gaancore", 1, 1)
    assert row["batches_per_epoch"] == 3  # 1,534 training nodes
    assert 0 < row["edges"] <= 512 * 25 + 512 * 26 * 10
    assert 0 <= row["waiting_share"] < 1
    assert row["seconds"] > 0
    assert row["products_seconds"] > 0


def test_aggregators_are_timed_with_features_of_edges_and_without(tmp_path):
    options = ["--profiles", "tiny", "--aggregators", "gaan,max-pool", "--repeats", "2"]
    rows = figures("edge_features.py", *options, folder=tmp_path)
    assert [row["aggregator"] for row in rows] == ["gaan", "max-pool"]
    assert all(row[kind]["median"] > 0 for row in rows for kind in ("with", "without"))


def test_growth_is_measured_by_threads_and_by_the_arcs_of_a_store(store, tmp_path):
    options = ["--axes", "threads", "--most", "1e4", "--stores", store, "--plot"]
    picture = tmp_path / "growth.png"
    one, two, draw = figures("growth.py", *options, picture, folder=tmp_path, threads="2")
    assert [(row["work"], row["threads"], row["arcs"]) for row in (one, two)] == [
        ("attention", 1, 10_000),
        ("attention", 2, 10_000),
    ]
    for row in (one, two):
        assert min(row[name] for name in ("forward", "gather", "fetching", "megabytes")) > 0
    assert draw["arcs"] == open_store(store).num_edges
    assert draw["seconds"] > 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_exponent_of_growth_is_the_slope_in_logarithms():
    sys.path.insert(0, str(BENCH))
    import growth

    rows = [{"axis": "heads", "heads": n, "seconds": 3 * n**1.5} for n in (1, 2, 8)]
    assert growth.exponent(rows, "seconds") == pytest.approx(1.5)
    assert np.isnan(growth.exponent(rows[:1], "seconds"))


def test_points_that_need_more_than_the_memory_are_known_by_their_megabytes():
    """Six arrays of float32 for each kind of row, keys and values, and what each arc has."""
    sys.path.insert(0, str(BENCH))
    import growth

    (point,) = [p for p in growth.points(["arcs"], [], 10**8, 2) if p.arcs == 10**8]
    nodes, arcs = 10**8 // 28, 10**8
    assert point.megabytes == (nodes * 8 * (24 + 32) * 6 * 4 + arcs * (24 + 8 * 12)) / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("task", ["ppi", "metr-la"])
def test_a_training_step_is_timed(task, tmp_path):
    (row,) = figures("train_step.py", "--task", task, "--repeats", "1", folder=tmp_path)
    assert (row["library"], row["threads"]) == ("gaancore", 1)
    assert 0 < row["products_seconds"] < row["seconds"]  # the products alone, of all of it
    if task == "ppi":
        assert row["parameters"] == 267_465  # the paper's 267K


@pytest.mark.parametrize(
    ("trick", "task"),
    [
        pytest.param("head-by-head", "ppi", marks=pytest.mark.slow),
        ("head-by-head", "attention"),
        pytest.param("head-by-head", "attention-large", marks=pytest.mark.slow),
        ("prefetch", "reddit"),
        pytest.param("row-pieces", "ppi", marks=pytest.mark.slow),
        pytest.param("vector-moves", "ppi", marks=pytest.mark.slow),
        pytest.param("all-heads", "metr-la", marks=pytest.mark.slow),
        pytest.param("fetch-ahead", "attention", marks=pytest.mark.slow),
        pytest.param("side-by-side", "metr-la", marks=pytest.mark.slow),
        pytest.param("batch-pieces", "metr-la", marks=pytest.mark.slow),
    ],
)
def test_a_trick_is_switched_off_and_timed_by_turns(trick, task, store, tmp_path):
    options = ["--tiny", "--trick", trick, "--task", task, "--store", store, "--batches", "1"]
    (row,) = figures("why.py", *options, "--pairs", "2", folder=tmp_path)
    assert (row["trick"], row["task"], row["threads"], row["pairs"]) == (trick, task, 1, 2)
    assert row["seconds_with"] > 0
    assert row["seconds_without"] > 0
    assert min(row["peak_mb"]) > 10
    low, high = row["quartiles"]
    assert low <= row["ratio"] <= high
    same_bits = trick in ("prefetch", "fetch-ahead")
    assert (row["difference"] == 0) == same_bits  # else the trick was not switched off


@pytest.mark.slow
def test_threads_without_a_baton_come_to_the_same_bits(tmp_path):
    options = ["--tiny", "--trick", "baton", "--task", "ppi", "--pairs", "1"]
    (row,) = figures("why.py", *options, folder=tmp_path, threads="1,2")
    assert (row["threads"], row["difference"]) == (2, 0)  # one thread hands nothing over


def test_a_trick_that_changes_the_gradients_is_not_timed(tmp_path):
    sys.path.insert(0, str(BENCH))
    import why

    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    np.savez(ours, weight=np.array([4.0, -8.0]), bias=np.array([1e-9]))
    np.savez(theirs, weight=np.array([4.0, -7.0]), bias=np.array([-1e-9]))
    assert why.difference(ours, theirs) == 1 / 8
    np.savez(theirs, weight=np.array([4.0, -8.0]))
    with pytest.raises(SystemExit, match="not the same parameters"):
        why.difference(ours, theirs)


def test_what_a_trick_replaces_must_be_there():
    sys.path.insert(0, str(BENCH))
    import tricks

    with pytest.raises(AttributeError, match="no attribute 'gone'"):
        tricks.replace(tricks.pieces, "gone", None)


def test_products_alone_are_those_of_every_layer_with_the_gradients_that_are_needed():
    sys.path.insert(0, str(BENCH))
    import products_alone

    x, weight, bias = np.ones((5, 3)), Tensor(np.ones((3, 4)), requires_grad=True), np.ones(4)

    def step() -> None:
        inner = linear(x, weight, bias)
        linear(inner, np.ones((4, 2)), np.ones(2)).backward(np.ones((5, 2)))
        linear_each(x, x, weight, weight, bias, bias, slopes=(1.0, 0.1))

    forward, of_weight, of_input = [(5, 3, 4), (5, 4, 2)], [(4, 5, 2), (3, 5, 4)], [(5, 2, 4)]
    found = products_alone.products_of(step)
    assert found == [*forward, of_weight[0], *of_input, of_weight[1], *[(5, 3, 4)] * 2]
    assert products_alone.flop(found) == 2 * (4 * 60 + 3 * 40)
    assert products_alone.seconds_alone(found) > 0
    assert products_alone.cut(found * 2, 2) == [0, len(found), 2 * len(found)]
    assert products_alone.cut([(9, 1, 1), *[(1, 3, 1)] * 6], 3) == [0, 1, 4, 7]  # of 27 operations


def test_every_trick_finds_what_it_switches_off():
    code = "import tricks\nfor trick in tricks.TRICKS.values():\n    trick.off(1)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=BENCH, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", ["sampler.py", "reddit_epoch.py"])
def test_a_folder_that_is_no_store_is_refused_in_one_line(tmp_path, script):
    for folder in (tmp_path / "nowhere", tmp_path):
        done = subprocess.run(
            [sys.executable, str(BENCH / script), str(folder)], capture_output=True, text=True
        )
        words = "no store here; write one with gaancore convert or synth"
        assert (done.returncode, done.stderr) == (2, f"{folder}: {words}\n")
