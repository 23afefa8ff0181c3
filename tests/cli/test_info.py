"""`gaancore info`: a dataset looked over."""

import json

import numpy as np
from small_files import FEATURES, write_npz, write_reddit


def test_a_graph_is_described_line_by_line(gaancore, tmp_path):
    """Six nodes, numbers by hand: rows {1}, {0 2}, {1 2}, {}, {5}, {4}; node 3 validates."""
    outcome = gaancore("info", write_npz(tmp_path))
    assert outcome.code == 0
    rows = dict(
        (cell.strip() for cell in line.strip("│").split("│"))
        for line in outcome.lines
        if line.startswith("│")
    )
    assert rows["nodes"] == "6"
    assert [rows[name] for name in ("train", "validation", "test")] == ["3", "1", "2"]
    assert rows["arcs (two for an edge)"] == "7"
    assert rows["self-loops"] == "1"
    assert rows["nodes without a neighbour"] == "1"
    assert rows["degree: min, median, mean, max"] == "0, 1.0, 1.2, 2"
    assert rows["mean degree seen by train"] == "1.7 (5 arcs)"
    assert rows["mean degree seen by validation"] == "1.2 (5 arcs)"
    assert rows["mean degree seen by test"] == "1.2 (7 arcs)"
    assert rows["labels"] == "3"
    assert rows["commonest"] == "number 0 of 3 nodes"
    assert rows["rarest"] == "number 1 of 2 nodes"
    assert rows["mean per node"] == "1.33"
    assert rows["nodes without a label"] == "1"
    assert outcome.lines[-2:] == [
        "note: 1 self-loops kept",
        "note: 3 of 6 rows of labels have no 1 or more than one: taken as several labels per node",
    ]


def test_it_counts_what_training_would_refuse_or_leave_out(gaancore, tmp_path):
    x = np.array(FEATURES, np.float32)
    x[0] = np.nan
    path = write_npz(tmp_path, x=x, split=np.array([0, -1, 0, 1, 2, 2]))
    facts = json.loads(gaancore("info", path, "--json").out)
    notes = facts["notes"]
    assert facts["unflagged"] == 1
    assert "in no split" in gaancore("info", path).out
    assert "2 features that are NaN replaced by 0" in notes
    assert "1 nodes in no split kept as neighbours, not learned from or scored" in notes


def test_it_is_given_as_json(gaancore, tmp_path):
    write_reddit(tmp_path)
    facts = json.loads(gaancore("info", tmp_path, "--task", "reddit", "--json").out)
    assert (facts["kind"], facts["nodes"], facts["arcs"]) == ("real", 6, 7)
    assert facts["data"] == str(tmp_path)


def test_without_data_it_says_what_is_built_in(gaancore):
    for task, what in (("ppi", "nodes"), ("metr-la", "sensors")):
        outcome = gaancore("info", "--task", task)
        assert outcome.lines[0].strip() == "built-in, SYNTHETIC"
        assert any(line.startswith(f"│ {what} ") for line in outcome.lines)
        assert "SYNTHETIC data: no data was given" in outcome.out


def test_the_wrong_task_is_told(refused, tmp_path):
    assert "row 0 (node id 0) has 2 labels; multi_label: True takes several" in refused(
        "info", write_npz(tmp_path), "--task", "reddit"
    )


def test_the_label_the_split_and_the_features_can_be_chosen(gaancore, refused, tmp_path):
    (tmp_path / "mygraph").mkdir()
    lines = [f"{node},{'xy'[at % 2]},train,{('train', 'val', 'test')[at % 3]}"
             for at, node in enumerate("abcdef")]  # fmt: skip
    table = "\n".join(["id,kind,split_1,split_2", *lines])
    (tmp_path / "mygraph" / "nodes.csv").write_text(table, encoding="utf-8")
    (tmp_path / "mygraph" / "edges.csv").write_text("src,dst\na,b\nc,d\n", encoding="utf-8")
    asked = ["info", "mygraph", "--label", "kind", "--split-column", "split_2"]
    assert refused(*asked).endswith(
        "the files have no features of the nodes; choose degree, ones or spectral, which are made "
        "of the graph, or learned, which belong to its nodes alone (--features), or add some to "
        "the files"
    )
    assert "choose one (--split-column)" in refused("info", "mygraph", "--label", "kind")
    assert refused(*asked[:3], "sort").startswith("--label: ")
    outcome = gaancore(*asked, "--features", "degree", "--json")
    facts = json.loads(outcome.out)
    assert facts["nodes_per_split"] == {"train": 2, "validation": 2, "test": 2}
    assert facts["features"]["count"] == 1
    assert "nodes.csv: 2 classes: x, y" in facts["notes"]
    assert gaancore("convert", *asked[1:2], "store", *asked[2:], "--features", "ones").code == 0
    assert json.loads(gaancore("info", "store", "--json").out)["labels"]["count"] == 2
