"""`gaancore predict`: outputs under the nodes' own ids, of graphs without labels too."""

import csv

import numpy as np
import pytest
from small_files import CLASSES, write_graphsage, write_npz
from small_run import small_options

from gaancore.tasks import open_run


@pytest.fixture
def trained(gaancore, tmp_path):
    """A run on six nodes that lies in `run`."""
    (tmp_path / "old").mkdir()
    path = write_npz(tmp_path / "old")
    assert (
        gaancore("train", "--task", "ppi", "--data", path, "--out", "run", *small_options()).code
        == 0
    )
    return path


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def unlabelled(folder, x):
    path = folder / "new.npz"
    np.savez(path, src=np.array([0, 1]), dst=np.array([1, 0]), x=x)
    return path


def test_a_graph_of_edges_and_features_alone_is_enough(gaancore, trained, tmp_path):
    path = unlabelled(tmp_path, np.array([[0.0, 1.5], [1.0, -2.0], [5.0, 0.0]]))
    outcome = gaancore("predict", "run", "--data", path)
    assert outcome.code == 0
    assert outcome.lines[0] == "written: predictions.csv: 3 nodes, 3 probabilities each"
    rows = rows_of("predictions.csv")
    assert [row["node_id"] for row in rows] == ["0", "1", "2"]
    for row in rows:
        likely = [str(c) for c in range(3) if float(row[f"p{c}"]) > 0.5]
        assert row["predicted"].split() == likely
    assert gaancore("predict", "run", "--data", path, "--out", "out.npz").code == 0
    with np.load("out.npz") as archive:
        assert archive["node_ids"].tolist() == [0, 1, 2]
        found = [[float(row[f"p{c}"]) for c in range(3)] for row in rows]
        assert archive["probabilities"] == pytest.approx(np.array(found), abs=1e-6)


def test_nodes_have_their_own_names_and_the_order_of_the_file(gaancore, trained, tmp_path):
    write_graphsage(tmp_path, ids=list("fabced"))
    assert gaancore("predict", "run", "--data", tmp_path / "toy", "--out", "named.csv").code == 0
    assert gaancore("predict", "run", "--out", "own.csv").code == 0
    named = {row.pop("node_id"): row for row in rows_of("named.csv")}
    own = [row for row in rows_of("own.csv") if row.pop("node_id")]
    assert [named[name] for name in "fabced"] == own


def test_of_one_class_a_node_the_likeliest_is_named(gaancore, tmp_path):
    path = write_npz(tmp_path, y=np.array(CLASSES))
    options = [*small_options(), "--fanouts=-1,-1"]
    train = ("train", "--task", "reddit", "--data", path, "--out", "run", *options)
    assert gaancore(*train).code == 0
    assert gaancore("predict", "run", "--out", "classes.csv").code == 0
    for row in rows_of("classes.csv"):
        odds = [float(row[f"p{c}"]) for c in range(3)]
        assert sum(odds) == pytest.approx(1, abs=1e-5)
        assert int(row["predicted"]) == odds.index(max(odds))


def test_what_cannot_be_predicted_or_written_is_refused(refused, trained, tmp_path):
    assert refused("predict", "run", "--out", "x.txt") == (
        "--out: x.txt: expected a name that ends in .csv or .npz"
    )
    path = unlabelled(tmp_path, np.zeros((2, 5)))
    assert refused("predict", "run", "--data", path) == (
        f"{path}: features: the run was trained on 2 a node, here are 5"
    )
    assert refused("predict", "nowhere").startswith("nowhere: no run here")
    assert not (tmp_path / "x.txt").exists()


def test_features_that_are_nan_are_refused_or_taken_as_zero(gaancore, refused, trained, tmp_path):
    path = unlabelled(tmp_path, np.array([[0.0, np.nan], [1.0, -2.0]]))
    assert refused("predict", "run", "--data", path).endswith(
        "nan: zero or mean fills those that are NaN"
    )
    assert gaancore("predict", "run", "--data", path, "--nan", "zero").code == 0
    with_zero = rows_of("predictions.csv")
    path = unlabelled(tmp_path, np.array([[0.0, 0.0], [1.0, -2.0]]))
    assert gaancore("predict", "run", "--data", path).code == 0
    assert rows_of("predictions.csv") == with_zero
    assert refused("predict", "run", "--nan", "zero").startswith("--nan: the run's own data is")


def test_training_on_a_graph_without_labels_is_refused_with_the_way_out(refused, tmp_path):
    path = unlabelled(tmp_path, np.zeros((2, 2)))
    remedy = "predict with a trained model instead: that needs none"
    assert refused("train", "--task", "ppi", "--data", path).endswith(remedy)
    assert refused("convert", path, "store").endswith(remedy)


def test_of_several_labels_a_threshold_or_a_number_says_which_are_predicted(
    gaancore, refused, trained
):
    assert gaancore("predict", "run", "--threshold", "0.4").code == 0
    for row in rows_of("predictions.csv"):
        likely = [str(c) for c in range(3) if float(row[f"p{c}"]) > 0.4]
        assert row["predicted"].split() == likely
    assert gaancore("predict", "run", "--top-k", "2").code == 0
    for row in rows_of("predictions.csv"):
        order = sorted(range(3), key=lambda c: -float(row[f"p{c}"]))
        assert row["predicted"].split() == [str(c) for c in order[:2]]
    assert gaancore("predict", "run", "--top-k", "2", "--out", "out.npz").code == 0
    with np.load("out.npz") as archive:
        assert archive["top"].shape == (6, 2)
        ranked = np.take_along_axis(archive["probabilities"], archive["top"], axis=1)
        assert (np.diff(ranked) <= 0).all()
    found = open_run("run").predictions(top_k=2)
    assert found.labels.sum(axis=1).tolist() == [2] * 6
    assert refused("predict", "run", "--top-k", "4") == (
        "--top-k: expected 1 to 3, the classes of the run, got 4"
    )
    assert refused("predict", "run", "--threshold", "2") == (
        "--threshold: expected a probability, 0 to 1, got 2.0"
    )
    assert "--threshold: top_k says already how many" in refused(
        "predict", "run", "--threshold", "0.5", "--top-k", "1"
    )


def test_of_one_class_a_node_the_likeliest_are_named_in_order(gaancore, refused, tmp_path):
    path = write_npz(tmp_path, y=np.array(CLASSES))
    options = ["--task", "classes", "--data", path, *small_options(fanouts="-1,-1")]
    assert gaancore("train", *options, "--out", "run").code == 0
    assert gaancore("predict", "run", "--top-k", "2").code == 0
    for row in rows_of("predictions.csv"):
        p = [float(row[f"p{c}"]) for c in range(len(row) - 2)]
        assert row["predicted"].split() == [str(c) for c in np.argsort(-np.array(p))[:2]]
    assert "a threshold is for several labels" in refused("predict", "run", "--threshold", "0.5")
