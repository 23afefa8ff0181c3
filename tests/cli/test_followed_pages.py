"""Pages on one's own data are followed from top to bottom: their programs run, then their commands.

Where a page speaks of files of the reader, the test writes small ones under the same names.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import FENCE, TEXTS, commands_in
from scipy import sparse
from small_files import write_matlab
from small_public import write_ogb, write_planetoid
from small_traffic_run import small_traffic_options

from gaancore import open_run

TASKS = (
    "own-data", "few-labels", "settings", "layouts", "tables", "archives", "public-files",
    "labels-and-splits", "sensors", "sensor-files", "training", "use-a-run",
    "questions", "edge-features", "sparse-features", "report",
)  # fmt: skip
SHORT = {
    "train": ["--epochs", "2"],
    "reproduce": ["--seeds", "1", "--rows", "fnn,gaan", "--set", "epochs=1"],
}


def follow(
    gaancore: Any, page: str, more: dict[str, list[str]], between: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Run what the page says, with `more` arguments of a command; returns the programs' names.

    between : called after each program, for files that the page takes for granted.
    """
    names: dict[str, Any] = {}
    for language, text in FENCE.findall(TEXTS[page]):
        if language == "python":
            exec(compile(text, page, "exec"), names)
            between()
        for name, *arguments in commands_in(text):
            outcome = gaancore(name, *arguments, *more.get(name, []))
            assert outcome.code == 0, (name, arguments, outcome)
    return names


@pytest.mark.parametrize("page", TASKS)
def test_a_page_about_a_task_is_short(page):
    assert len(TEXTS[f"docs/{page}.md"].splitlines()) < 150


def write_the_people(folder: Path) -> None:
    """The example of the first page."""
    programs = [text for language, text in FENCE.findall(TEXTS["docs/own-data.md"]) if language]
    exec(compile(programs[0], "docs/own-data.md", "exec"), {})
    assert (folder / "people").is_dir()


@pytest.mark.parametrize(
    "shortened", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["short", "whole"]
)
def test_the_page_on_own_data_leads_to_predictions(gaancore, tmp_path, shortened):
    def without_labels() -> None:
        """The new graph of the page: the same people and whom they know, no labels."""
        if not (tmp_path / "newpeople").exists():
            shutil.copytree(tmp_path / "people", tmp_path / "newpeople")
            lines = (tmp_path / "people" / "nodes.csv").read_text("utf-8").splitlines()
            lines = [line.rsplit(",", 1)[0] for line in lines]
            (tmp_path / "newpeople" / "nodes.csv").write_text("\n".join(lines), "utf-8")

    names = follow(gaancore, "docs/own-data.md", SHORT if shortened else {}, without_labels)
    assert names["probabilities"].shape == (900, 3)
    if not shortened:
        record = names["run"].record
        guesses = [scores["micro_f1"] for scores in record["baselines"].values()]
        assert record["test"]["micro_f1"] > max(guesses) + 0.05
    for file in ("people.csv", "newpeople.csv"):
        lines = (tmp_path / file).read_text("utf-8").splitlines()
        assert lines[0].startswith("node_id,predicted,p:")
        assert len(lines) == 901


@pytest.mark.parametrize("page", ["docs/settings.md", "docs/few-labels.md"])
def test_pages_on_settings_train_on_the_people(gaancore, tmp_path, page):
    write_the_people(tmp_path)
    follow(gaancore, page, SHORT)


def test_the_page_on_sparse_features_trains_on_words_and_on_a_bare_graph(gaancore, tmp_path):
    ends, rng = distinct(40), np.random.default_rng(0)
    words = sparse.csr_array((rng.random((40, 60)) < 0.05).astype(np.float32))
    arcs = sparse.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(40, 40))
    arrays = {
        f"{name}.{part}": np.array(getattr(matrix, part))
        for name, matrix in (("adj_matrix", arcs), ("attr_matrix", words))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(tmp_path / "cora_ml.npz", labels=np.arange(40) % 3, **arrays)
    (tmp_path / "bare-graph").mkdir()
    nodes = ["id,label", *(f"n{i},{'ab'[i % 2]}" for i in range(40))]
    edges = ["src,dst", *(f"n{a},n{b}" for a, b in ends.T)]
    (tmp_path / "bare-graph" / "nodes.csv").write_text("\n".join(nodes))
    (tmp_path / "bare-graph" / "edges.csv").write_text("\n".join(edges))
    follow(gaancore, "docs/sparse-features.md", SHORT)
    assert (tmp_path / "words" / "feature_values.npy").exists()


def test_the_page_on_two_tables_reads_the_features_of_edges(gaancore, tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "payments"
    folder.mkdir()
    nodes = [f"{i},{rng.random():.3f},{'ab'[i % 2]}" for i in range(40)]
    edges = [f"{a},{b},{a * b},{'card' if a % 2 else 'cash'}" for a, b in distinct(40).T]
    (folder / "nodes.csv").write_text("\n".join(["id,age,label", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["src,dst,amount,kind", *edges]))
    follow(gaancore, "docs/tables.md", SHORT)


@pytest.mark.parametrize(
    "shortened", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["short", "whole"]
)
def test_the_page_on_features_of_edges_leads_to_an_explanation(gaancore, tmp_path, shortened):
    write_sensors(tmp_path / "metr-la", "2026-05-01T00:00", 400)
    roads = "from,to,cost\nnorth,bridge,300\nbridge,south,250\n"
    (tmp_path / "metr-la" / "edges.csv").write_text(roads)
    more = SHORT if shortened else {}
    follow(gaancore, "docs/edge-features.md", more | {"reproduce": ["--report-only"]})
    if not shortened:
        page = TEXTS["docs/edge-features.md"]
        told = re.search(r"On the example (0.\d+) .* and (0.\d+) without", page)
        runs = [open_run(tmp_path / name) for name in ("payments-run", "without-run")]
        found = [run.evaluate()["test"]["micro_f1"] for run in runs]
        assert found == pytest.approx([float(score) for score in told.groups()], abs=0.02)
    header, *rows = (tmp_path / "attention.csv").read_text("utf-8").splitlines()
    assert header.startswith("node_id,neighbor_id,amount,kind=card,kind=wire,layer,head1")
    listed = (tmp_path / "payments" / "edges.csv").read_text("utf-8").splitlines()
    into = [line for line in listed if "a7" in line.split(",")[:2]]
    assert len(rows) == 2 * len(into)  # of two layers
    names = np.load(tmp_path / "payments-store" / "edge_attr.npy").shape
    assert names == (2 * (len(listed) - 1), 3)


def test_the_page_on_arrays_writes_archives_that_can_be_read(gaancore, tmp_path):
    names = follow(gaancore, "docs/archives.md", SHORT)
    assert "90" in gaancore("info", tmp_path / "small.npz").out
    for name in ("save_pyg", "save_dgl"):
        assert callable(names[name])
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(["a", "b", "c"])
    for i, node in enumerate(graph):
        graph.nodes[node].update(x=[float(i), 1.0], y=i % 2, split=i)
    names["save_networkx"](graph, tmp_path / "three.npz")
    with np.load(tmp_path / "three.npz") as arrays:
        assert arrays["src"].tolist() == [0, 1]
        assert arrays["dst"].tolist() == [1, 2]
        assert arrays["x"].tolist() == [[0, 1], [1, 1], [2, 1]]


def test_the_page_on_public_data_sets_reads_them_as_they_are_given_out(gaancore, tmp_path):
    for name in ("cora", "arxiv", "friends"):
        (tmp_path / name).mkdir()
    write_planetoid(tmp_path / "cora")
    write_ogb(tmp_path / "arxiv")
    write_friends(tmp_path / "friends")
    write_matlab(tmp_path).rename(tmp_path / "BlogCatalog.mat")
    follow(gaancore, "docs/public-files.md", SHORT)


def test_the_page_on_labels_and_splits_finds_them(gaancore, tmp_path):
    write_the_people(tmp_path)
    for name in ("mygraph", "friends"):
        (tmp_path / name).mkdir()
    write_friends(tmp_path / "friends")
    parts = ["train", "val", "test"]
    rows = [f"{i},{'' if i == 3 else i / 2},{'ab'[i % 2]},{parts[i % 3]}" for i in range(12)]
    (tmp_path / "mygraph" / "nodes.csv").write_text("\n".join(["id,age,kind,split_2", *rows]))
    (tmp_path / "mygraph" / "edges.csv").write_text("src,dst\n0,1\n1,2\n2,3\n4,5\n")
    follow(gaancore, "docs/labels-and-splits.md", SHORT)


def test_the_page_on_sensors_leads_to_forecasts(gaancore, tmp_path):
    """On three sensors such as it shows, with a small network."""
    write_sensors(tmp_path / "mysensors", "2026-05-01T00:00", 400)
    write_sensors(tmp_path / "nextmonth", "2026-06-01T00:00", 60)
    small = {"train": small_traffic_options(epochs=1, history=24, horizon=6)}
    follow(gaancore, "docs/sensors.md", small)
    assert {"next.csv", "test.npz"} <= {path.name for path in tmp_path.iterdir()}


def test_the_page_on_files_of_sensors_looks_at_them(gaancore, tmp_path):
    write_sensors(tmp_path / "mysensors", "2026-05-01T00:00", 400)
    (tmp_path / "PEMS08").mkdir()
    readings = np.random.default_rng(0).uniform(40, 60, (400, 3, 3))
    np.savez(tmp_path / "PEMS08" / "PEMS08.npz", data=readings)
    (tmp_path / "PEMS08" / "distance.csv").write_text("from,to,cost\n0,1,300.5\n1,2,250\n")
    follow(gaancore, "docs/sensor-files.md", {})


def distinct(num_nodes: int) -> np.ndarray:
    """Some edges, each once: (2, E)."""
    ends = np.random.default_rng(0).integers(0, num_nodes, (2, 3 * num_nodes))
    return np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)


def write_friends(folder: Path) -> None:
    edges = [f"{a} {b}" for a, b in distinct(60).T]
    (folder / "friends.txt").write_text("\n".join(["# who knows whom", *edges]))
    labels = [f"{i} {'ab'[i % 2]}" for i in range(60)]
    (folder / "labels.txt").write_text("\n".join(labels))


def write_sensors(folder: Path, start: str, num_steps: int) -> None:
    folder.mkdir()
    speeds = np.random.default_rng(0).uniform(40, 60, (num_steps, 3)).round(1)
    times = np.datetime64(start) + np.arange(num_steps) * np.timedelta64(5, "m")
    rows = (f"{time},{a},{b},{c}" for time, (a, b, c) in zip(times, speeds, strict=True))
    (folder / "speeds.csv").write_text("\n".join(["time,north,bridge,south", *rows]))
    (folder / "edges.csv").write_text("from,to\nnorth,bridge\nbridge,south\n")
