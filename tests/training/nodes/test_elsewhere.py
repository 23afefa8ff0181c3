"""Scores on a graph that the run was not trained on: classes joined by name, nothing silent."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_run import small_arrays, small_dataset, small_run, write_small_npz

import gaancore
from gaancore.errors import DataError, SettingsError
from gaancore.trained.nodes import NodeRun

NAMES = ("ant", "bee", "cat")
SIZES = {"embed_dim": 4, "out_dim": 6, "num_heads": 2, "key_dim": 3, "value_dim": 4, "gate_dim": 3}


def make_graph(folder: Path, classes: list[str], seed: int, split: bool = True) -> Path:
    """Two tables: a node's class follows from its features; None means that it has no label."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    places = {"ant": 0, "bee": 1, "cat": 2, "dog": 3}
    lines = ["id,a,b,label" + (",split" if split else "")]
    for number, name in enumerate(classes):
        at = places.get(name, 1)
        a, b = at + 0.3 * rng.standard_normal(), -at + 0.3 * rng.standard_normal()
        part = ("train", "train", "val", "test")[number % 4]
        label = name if name in places else ""
        row = [f"n{number}", f"{a:.4f}", f"{b:.4f}", label]
        lines.append(",".join([*row, part if label else ""] if split else row))
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ends = rng.integers(len(classes), size=(2 * len(classes), 2))
    arcs = [f"n{a},n{b}" for a, b in ends if a != b]
    (folder / "edges.csv").write_text("src,dst\n" + "\n".join(arcs) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> NodeRun:
    folder = tmp_path_factory.mktemp("elsewhere")
    classes = np.random.default_rng(0).choice(NAMES, 90).tolist()
    data = make_graph(folder / "train", classes, seed=0)
    return gaancore.train(data, out=folder / "run", epochs=6, verbose=False, **SIZES)


def f1_by_hand(truth: list[str], predicted: list[str]) -> tuple[float, float]:
    """Accuracy, and the mean F1 over the classes that occur or are predicted, as scikit-learn."""
    found = []
    for name in set(truth) | set(predicted):
        hits = sum(a == b == name for a, b in zip(truth, predicted, strict=True))
        found.append(2 * hits / (truth.count(name) + predicted.count(name)))
    right = sum(a == b for a, b in zip(truth, predicted, strict=True))
    return right / len(truth), float(np.mean(found))


def assert_scores_are_those_of_predict(run, data, scores, part, rows, truth):
    predicted = run.predict(data)
    micro, macro = f1_by_hand([truth[n] for n in rows], [str(predicted[n]) for n in rows])
    assert scores[part]["micro_f1"] == pytest.approx(micro)
    assert scores[part]["macro_f1"] == pytest.approx(macro)


def test_all_labelled_nodes_of_a_graph_without_a_split_are_scored_as_predict_predicts(
    run, tmp_path
):
    classes = ["bee", "cat", "ant", "none", "cat", "bee", "ant", "none"] * 5
    data = make_graph(tmp_path / "new", classes, seed=1, split=False)
    scores = run.evaluate(data=data)
    assert list(scores) == ["all"]
    rows = [n for n, name in enumerate(classes) if name != "none"]
    assert_scores_are_those_of_predict(run, data, scores, "all", rows, classes)
    assert any("not the data that the run was trained on" in note for note in scores.notes)
    assert "classes are joined by their names: ant, bee, cat" in scores.notes


def test_minus_one_in_an_archive_of_numbers_is_no_label_to_score(tmp_path):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 90)
    arrays = {
        "x": np.stack([classes, -classes], axis=1) + 0.3 * rng.standard_normal((90, 2)),
        "edge_index": rng.integers(90, size=(2, 200)),
    }
    np.savez(tmp_path / "all.npz", y=classes, **arrays)
    np.savez(tmp_path / "some.npz", y=np.where(np.arange(90) % 3, classes, -1), **arrays)
    data = tmp_path / "all.npz"
    run = gaancore.train(data, out=tmp_path / "run", epochs=6, verbose=False, **SIZES)
    predicted, scored = run.predict(tmp_path / "some.npz"), np.arange(90) % 3 > 0
    right = np.mean(predicted[scored] == classes[scored].astype(str))
    found = run.evaluate(data=tmp_path / "some.npz")
    assert found["all"]["micro_f1"] == pytest.approx(right)


def test_a_graph_with_a_split_is_scored_part_by_part(run, tmp_path):
    classes = ["bee", "cat", "ant", "cat", "bee"] * 8
    data = make_graph(tmp_path / "new", classes, seed=2)
    scores = run.evaluate(data=data)
    assert list(scores) == ["train", "validation", "test"]
    for part, numbers in (("train", (0, 1)), ("validation", (2,)), ("test", (3,))):
        rows = [n for n in range(40) if n % 4 in numbers]
        assert_scores_are_those_of_predict(run, data, scores, part, rows, classes)
    assert list(run.evaluate(["test"], data=data)) == ["test"]


def test_a_graph_whose_labelled_nodes_are_all_of_one_part_is_scored(run, tmp_path):
    data = make_graph(tmp_path / "new", ["bee", "cat", "ant"] * 8, seed=3)
    text = (data / "nodes.csv").read_text(encoding="utf-8")
    for part in ("train", "val"):
        text = text.replace(f",{part}\n", ",test\n")
    (data / "nodes.csv").write_text(text, encoding="utf-8")
    assert list(run.evaluate(data=data)) == ["test"]
    with pytest.raises(SettingsError, match="has no validation nodes with a label; it has test"):
        run.evaluate(["validation"], data=data)


def test_classes_are_joined_by_name_where_one_is_not_here(run, tmp_path):
    classes = ["cat", "bee", "cat", "bee", "cat"] * 6
    data = make_graph(tmp_path / "new", classes, seed=4, split=False)
    scores = run.evaluate(data=data, per_class=True)
    assert_scores_are_those_of_predict(run, data, scores, "all", range(30), classes)
    assert "classes of the run that no scored node has: ant" in scores.notes
    support = {row["class"]: row["support"] for row in scores["all"]["per_class"]}
    assert (support["bee"], support["cat"], support.get("ant", 0)) == (12, 18, 0)


def test_a_class_that_the_run_has_not_seen_counts_as_missed_and_is_told(run, tmp_path):
    classes = ["cat", "bee", "dog", "ant"] * 8
    data = make_graph(tmp_path / "new", classes, seed=5, split=False)
    scores = run.evaluate(data=data, per_class=True)
    assert_scores_are_those_of_predict(run, data, scores, "all", range(32), classes)
    (row,) = [row for row in scores["all"]["per_class"] if row["class"] == "dog"]
    assert (row["f1"], row["recall"], row["support"]) == (0, 0, 8)
    assert any(note.startswith("warning: ") and "has not seen dog" in note for note in scores.notes)


def test_a_graph_without_a_class_in_common_is_refused(run, tmp_path):
    data = make_graph(tmp_path / "new", ["dog", "dog", "dog"] * 4, seed=6, split=False)
    with pytest.raises(DataError, match=r"none of its classes \(dog\) is one that the run was "):
        run.evaluate(data=data)


def test_graphs_that_cannot_be_scored_are_refused(run, tmp_path):
    data = make_graph(tmp_path / "none", ["none"] * 12, seed=7, split=False)
    with pytest.raises(DataError, match="label"):
        run.evaluate(data=data)
    other = make_graph(tmp_path / "other", ["bee", "cat", "ant"] * 4, seed=8, split=False)
    text = (other / "nodes.csv").read_text(encoding="utf-8").replace("id,a,b,", "id,b,a,", 1)
    (other / "nodes.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="'b' stands where the run was trained on 'a'"):
        run.evaluate(data=other)
    with pytest.raises(DataError, match="nowhere"):
        run.evaluate(data=tmp_path / "nowhere")


def test_the_runs_own_data_keep_their_meaning_from_a_path_and_from_memory(run, tmp_path):
    data = run.dataset
    for given in (None, data, run.facts["path"]):
        scores = run.evaluate(data=given)
        assert scores["test"] == run.record["test"]
        assert scores.notes == ()
    edited = data.features.copy()
    edited[3] += 1
    scores = run.evaluate(data=replace(data, features=edited))
    assert "not the data that the run was trained on (checksum" in scores.notes[0]


def test_several_labels_without_names_are_joined_by_position_and_told(tmp_path):
    small_run(tmp_path / "run").train()
    run = gaancore.open_run(tmp_path / "run")
    fresh = small_arrays(seed=1)
    path = write_small_npz(tmp_path / "new.npz", **{**fresh, "split": np.full(120, 2)})
    scores = run.evaluate(data=path)
    assert list(scores) == ["test"]
    predicted, truth = run.predict(path), fresh["y"].astype(bool)
    hits = (predicted & truth).sum()
    micro = 2 * hits / (predicted.sum() + truth.sum())
    assert scores["test"]["micro_f1"] == pytest.approx(micro)
    assert "labels are joined by position: 0, 1, 2, 3, 4" in scores.notes
    narrow = replace(small_dataset(), labels=fresh["y"][:, :4], num_classes=4)
    with pytest.raises(DataError, match="4 columns, but the run has 5, and no names to join"):
        run.evaluate(data=narrow)


def test_features_that_one_side_alone_names_are_joined_by_position_and_told(run, tmp_path):
    nameless = gaancore.from_scipy(np.eye(4), np.ones((4, 2)))
    (note,) = [n for n in run.predictions(nameless).notes if "by position" in n]
    assert note == (
        "these data have no names for features: they are joined by position: a is feature 0, b is "
        "feature 1"
    )
    assert not any("by position" in n for n in run.predictions().notes)


def test_the_public_small_cases_are_scored(shared_data, tmp_path):
    cases = shared_data / "cases" / "evaluate_elsewhere"
    if not cases.is_dir():
        pytest.skip("no small cases beside the public data files")
    run = gaancore.train(
        cases / "train.npz", out=tmp_path / "run", epochs=3, verbose=False, **SIZES
    )
    whole = run.evaluate(data=cases / "new_all.npz")
    less = run.evaluate(data=cases / "new_without_ant.npz")
    assert set(whole) == set(less) == {"train", "validation", "test"}
    assert "classes of the run that no scored node has: 1" in less.notes
    truth = np.load(cases / "new_without_ant.npz")
    predicted = run.predict(cases / "new_without_ant.npz")
    tested = truth["split"] == 2
    right = (predicted[tested].astype(int) == truth["y"][tested]).mean()
    assert less["test"]["micro_f1"] == pytest.approx(right)


def test_features_far_from_those_of_training_are_told(run, tmp_path):
    data = make_graph(tmp_path / "same", ["ant", "bee", "cat"] * 10, seed=3, split=False)
    assert not any(note.startswith("warning: ") for note in run.evaluate(data=data).notes)
    lines = (data / "nodes.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    means = {}
    for factor in (100, 0.01):
        scaled = [[row[0], row[1], f"{factor * float(row[2]) + 300:.6f}", row[3]] for row in rows]
        table = "\n".join([lines[0], *map(",".join, scaled)])
        (data / "nodes.csv").write_text(table, encoding="utf-8")
        means[factor] = f"{np.mean([float(row[2]) for row in scaled]):.4g}"
        trained = f"{run.classifier.mean[1]:.4g}"
        warning = (
            "warning: 1 of 2 features is far from what the run was trained on: b (mean "
            f"{means[factor]}, in training {trained}); do they have the same units?"
        )
        assert warning in run.evaluate(data=data).notes
        assert warning in run.predictions(data).notes


def test_the_scores_say_whether_the_new_graph_is_real(run, tmp_path):
    data = make_graph(tmp_path / "new", ["ant", "bee", "cat"] * 10, seed=3)
    assert run.evaluate(data=data).kind == "real"
    made_up = replace(gaancore.load(data), kind="synthetic", path=None)
    assert run.evaluate(data=made_up).kind == "synthetic"
