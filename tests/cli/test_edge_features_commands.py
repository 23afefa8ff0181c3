"""A graph of one's own with a weight and a category on its edges, from `info` to `explain`."""

import csv

import numpy as np


def write_graph(folder, kinds=("card", "cash", "wire"), amount="amount") -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    nodes = [f"n{i},{rng.random():.3f},{'ab'[i % 2]}" for i in range(30)]
    (folder / "nodes.csv").write_text("\n".join(["id,x,label", *nodes]))
    edges = [
        f"n{i},n{(i + step) % 30},{rng.random():.2f},{kinds[(i + step) % len(kinds)]}"
        for i in range(30)
        for step in (1, 4)
    ]
    (folder / "edges.csv").write_text("\n".join([f"src,dst,{amount},kind", *edges]))


def test_from_info_to_explain(gaancore, tmp_path):
    write_graph(tmp_path / "mine")
    told = gaancore("info", "mine").out
    assert "features of an edge" in told
    assert "4 features of edges: amount, kind=card, kind=cash, kind=wire" in told
    trained = gaancore(
        "train", "--data", "mine", "--out", "run", "--epochs", "1", "--heads", "2", "--quiet"
    )
    assert trained.code == 0, trained.err
    asked = ("explain", "run", "--what", "attention", "--nodes", "n3", "--out", "a.csv")
    assert gaancore(*asked).code == 0
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8  # four neighbours, two layers
    edges = {
        frozenset((row["src"], row["dst"])): row
        for row in csv.DictReader((tmp_path / "mine" / "edges.csv").read_text().splitlines())
    }
    for row in rows:
        edge = edges[frozenset((row["node_id"], row["neighbor_id"]))]
        assert float(row["amount"]) == np.float32(edge["amount"])
        assert row[f"kind={edge['kind']}"] == "1.0"


def test_a_new_graph_needs_the_same_columns_and_may_lack_a_category(gaancore, tmp_path):
    write_graph(tmp_path / "mine")
    run = ("--out", "run", "--epochs", "1", "--heads", "2", "--quiet")
    gaancore("train", "--data", "mine", *run)
    write_graph(tmp_path / "fewer", kinds=("cash", "wire"))
    assert gaancore("predict", "run", "--data", "fewer", "--out", "p.csv").code == 0
    write_graph(tmp_path / "other", amount="sum")
    refused = gaancore("predict", "run", "--data", "other", "--out", "q.csv")
    assert refused.code == 2
    assert "'sum' stands where the run was trained on 'amount'" in refused.err
    write_graph(tmp_path / "more", kinds=("card", "cash", "coin", "wire"))
    refused = gaancore("predict", "run", "--data", "more", "--out", "q.csv")
    assert refused.code == 2
    assert "trained on 4 features an edge, here are 5" in refused.err


def test_they_can_be_left_out(gaancore, tmp_path):
    write_graph(tmp_path / "mine")
    run = ("--out", "run", "--epochs", "1", "--model", "fnn", "--edge-features", "none")
    told = gaancore("train", "--data", "mine", *run)
    assert told.code == 0, told.err
    assert "column(s) amount, kind ignored" in told.out
