"""A graph in two CSV tables through the commands: its ids and names of classes come out again."""

import csv
import json

import numpy as np
import pytest
from small_files import CLASSES, NAMES, write_csv, write_npz
from small_run import contents, small_options

NUM_NODES = 40
CLASS_NAMES = ["cell wall", "membrane", "nucleus"]
REDDIT = ["--task", "reddit", "--fanouts=-1,-1", *small_options(epochs=2)]


def write_table(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def graph():
    """Features, edges, classes and split of nodes that are called by text."""
    rng = np.random.default_rng(2)
    ids = [f"P{number:05}" for number in rng.choice(99999, NUM_NODES, replace=False)]
    classes = rng.integers(3, size=NUM_NODES)
    x = np.eye(3)[classes] + rng.standard_normal((NUM_NODES, 3)) / 2
    edges = rng.integers(NUM_NODES, size=(2, 90))
    return ids, x, edges, classes, np.arange(NUM_NODES) % 4 // 2 + np.arange(NUM_NODES) % 4 // 3


def write_graph(folder, graph, labelled=True):
    ids, x, edges, classes, split = graph
    folder.mkdir()
    header = ["id", "a", "b", "c"]
    rows = [[name, *values] for name, values in zip(ids, x.tolist(), strict=True)]
    if labelled:
        header += ["label", "split"]
        for row, label, part in zip(rows, classes, split, strict=True):
            row += [CLASS_NAMES[label], ("train", "val", "test")[part]]
    write_table(folder / "nodes.csv", header, rows)
    named = [[ids[a], ids[b], 0.5] for a, b in edges.T]
    write_table(folder / "edges.csv", ["source", "target", "weight"], named)
    return folder


def test_from_two_tables_to_names_of_classes_for_a_new_graph(gaancore, graph, tmp_path):
    ids, x, edges, classes, split = graph
    old = write_graph(tmp_path / "old", graph)
    assert gaancore("train", "--task", "ppi", "--data", old, "--out", "run", *REDDIT).code == 0
    # the same graph by numbers, of which nothing has a name
    np.savez("old.npz", edge_index=edges, x=x, y=classes, split=split)
    assert (
        gaancore("train", "--task", "ppi", "--data", "old.npz", "--out", "numbered", *REDDIT).code
        == 0
    )
    weights = [contents(tmp_path / run)["best.safetensors"] for run in ("run", "numbered")]
    assert weights[0] == weights[1]

    new = np.random.default_rng(3).standard_normal((5, 3))
    arcs = np.array([[0, 1, 3], [1, 2, 3]])
    folder = write_graph(tmp_path / "new", (list("vwxyz"), new, arcs, None, None), labelled=False)
    np.savez("new.npz", edge_index=arcs, x=new)
    outcome = gaancore("predict", "run", "--data", folder)
    assert outcome.code == 0
    assert outcome.lines[0] == "written: predictions.csv: 5 nodes, 3 probabilities each"
    assert "note: edges.csv: column(s) weight ignored" in outcome.lines
    assert gaancore("predict", "numbered", "--data", "new.npz", "--out", "numbers.csv").code == 0
    named, numbered = rows_of("predictions.csv"), rows_of("numbers.csv")
    assert [row["node_id"] for row in named] == list("vwxyz")
    assert list(named[0]) == ["node_id", "predicted", *(f"p:{name}" for name in CLASS_NAMES)]
    for row, by_number in zip(named, numbered, strict=True):
        assert row["predicted"] == CLASS_NAMES[int(by_number["predicted"])]
        for number, name in enumerate(CLASS_NAMES):
            assert row[f"p:{name}"] == by_number[f"p{number}"]
    assert gaancore("predict", "run", "--data", folder, "--out", "new_out.npz").code == 0
    with np.load("new_out.npz") as archive:
        assert archive["node_ids"].tolist() == list("vwxyz")
        assert archive["class_names"].tolist() == CLASS_NAMES
    assert gaancore("evaluate", "run").code == 0
    assert gaancore("predict", "run").code == 0
    assert [row["node_id"] for row in rows_of("predictions.csv")] == ids


def test_ids_and_names_outlive_a_conversion(gaancore, graph, tmp_path):
    write_graph(tmp_path / "old", graph)
    options = ("--edge-features", "none")  # some of its edges are there twice
    assert gaancore("convert", "old", "store", *options).code == 0
    assert gaancore("train", "--task", "ppi", "--data", "store", "--out", "run", *REDDIT).code == 0
    assert gaancore("predict", "run").code == 0
    rows = rows_of("predictions.csv")
    assert {row["node_id"] for row in rows} == set(graph[0])
    assert {row["predicted"] for row in rows} <= set(CLASS_NAMES)
    by_id = {row["node_id"]: row for row in rows}
    assert gaancore("predict", "run", "--data", "old").code == 0
    for row in rows_of("predictions.csv"):
        probabilities = [float(row[f"p:{name}"]) for name in CLASS_NAMES]
        of_store = [float(by_id[row["node_id"]][f"p:{name}"]) for name in CLASS_NAMES]
        assert probabilities == pytest.approx(of_store, abs=2e-6)


def test_several_labels_have_their_names(gaancore, tmp_path):
    write_csv(tmp_path)
    options = small_options(epochs=2)
    assert (
        gaancore("train", "--task", "ppi", "--data", tmp_path, "--out", "run", *options).code == 0
    )
    assert gaancore("predict", "run").code == 0
    rows = rows_of("predictions.csv")
    assert [row["node_id"] for row in rows] == NAMES
    assert any(row["predicted"] for row in rows)
    for row in rows:
        likely = [name for name in "xyz" if float(row[f"p:{name}"]) > 0.5]
        assert row["predicted"] == ";".join(likely)


def test_classes_that_were_renumbered_keep_their_numbers(gaancore, tmp_path):
    path = write_npz(tmp_path, y=np.array(CLASSES) * 2 + 4)
    assert gaancore("train", "--task", "ppi", "--data", path, "--out", "run", *REDDIT).code == 0
    assert gaancore("predict", "run").code == 0
    for row in rows_of("predictions.csv"):
        assert sum(column.startswith("p:") for column in row) == 3
        odds = {number: float(row[f"p:{number}"]) for number in (4, 6, 8)}
        assert int(row["predicted"]) == max(odds, key=odds.get)


def test_features_by_other_names_or_in_another_order_are_refused(
    gaancore, refused, graph, tmp_path
):
    old = write_graph(tmp_path / "old", graph)
    assert gaancore("train", "--task", "ppi", "--data", old, "--out", "run", *REDDIT).code == 0
    table = old / "nodes.csv"
    table.write_text(table.read_text().replace("id,a,b,c", "id,a,c,b"))
    assert refused("predict", "run", "--data", old) == (
        f"{old}: features: 'c' stands where the run was trained on 'b'; give the features the "
        "names and the order that they had then"
    )


def test_names_that_do_not_fit_the_weights_are_refused(gaancore, refused, tmp_path):
    write_csv(tmp_path)
    options = small_options(epochs=1)
    assert (
        gaancore("train", "--task", "ppi", "--data", tmp_path, "--out", "run", *options).code == 0
    )
    path = tmp_path / "run" / "settings.json"
    for field in ("class_names", "feature_names"):
        content = json.loads(path.read_text())
        for damage in (content["data"][field][:1], 7):
            changed = content | {"data": content["data"] | {field: damage}}
            path.write_text(json.dumps(changed))
            assert "not a checkpoint of this run" in refused("predict", "run")
        path.write_text(json.dumps(content))


def test_a_look_at_the_tables_names_the_classes(gaancore, graph, tmp_path):
    old = write_graph(tmp_path / "old", graph)
    outcome = gaancore("info", old, "--task", "reddit")
    assert outcome.code == 0
    counts = np.bincount(graph[3])
    expected = f"{CLASS_NAMES[counts.argmax()]} of {counts.max()} nodes"
    (line,) = [line for line in outcome.lines if "commonest" in line]
    assert expected in line
    facts = json.loads(gaancore("info", old, "--task", "reddit", "--json").out)
    assert facts["labels"]["commonest"] == [CLASS_NAMES[counts.argmax()], counts.max()]


def test_a_bad_table_is_one_line_of_every_command(refused, graph, tmp_path):
    old = write_graph(tmp_path / "old", graph)
    (old / "edges.csv").write_text("src,dst\n1,2\n")
    for command in (
        ("train", "--task", "ppi", "--data", old),
        ("info", old),
        ("convert", old, "store"),
    ):
        assert refused(*command).startswith(
            f"{old}/edges.csv: line 2: 1 of 1 edges name 2 ids that"
        )
    assert not (tmp_path / "store").exists()
