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
    scored = gaancore("evaluate", "run", "--data", "fewer")
    assert scored.code == 0, scored.err
    assert "categories that no arc here has: kind=card" in scored.out + scored.err
    write_graph(tmp_path / "other", amount="sum")
    refused = gaancore("predict", "run", "--data", "other", "--out", "q.csv")
    assert refused.code == 2
    assert "'sum' stands where the run was trained on 'amount'" in refused.err
    write_graph(tmp_path / "more", kinds=("card", "cash", "coin", "wire"))
    told = gaancore("predict", "run", "--data", "more", "--out", "q.csv")
    assert told.code == 0
    line = "warning: categories that the run has not seen, left out, of 30 arcs: kind=coin"
    assert line in told.out + told.err


def test_they_can_be_left_out(gaancore, tmp_path):
    write_graph(tmp_path / "mine")
    run = ("--out", "run", "--epochs", "1", "--model", "fnn", "--edge-features", "none")
    told = gaancore("train", "--data", "mine", *run)
    assert told.code == 0, told.err
    assert "column(s) amount, kind ignored" in told.out


def sorted_graph(folder) -> None:
    """Nodes in the order of their splits, so that a store has the same rows; one edge twice."""
    write_graph(folder)
    lines = (folder / "nodes.csv").read_text().splitlines()
    splits = ["split", *["train"] * 18, *["val"] * 6, *["test"] * 6]
    rows = [f"{line},{split}" for line, split in zip(lines, splits, strict=True)]
    (folder / "nodes.csv").write_text("\n".join(rows))
    with (folder / "edges.csv").open("a") as edges:
        edges.write("\nn0,n1,0.25,cash\nn1,n0,4,wire")  # again, and the other way


def test_a_store_keeps_them_and_every_command_gives_the_same_bits(gaancore, refused, tmp_path):
    sorted_graph(tmp_path / "mine")
    asked = "1 edges repeat another one, and have features; say what becomes of these (--repeated-e"
    assert asked in refused("convert", "mine", "store")
    told = gaancore("convert", "mine", "store", "--repeated-edges", "mean")
    assert "30 nodes, 120 arcs, 1 features and 4 of an edge, 2 classes; train 18" in told.out
    shown = gaancore("info", "store").out
    assert "4: amount, kind=card, kind=cash, kind=wire" in shown
    assert "MB of graph, features, features of edges" in shown
    assert gaancore("check", "store").code == 0
    written = {}
    for data, run in (("mine", "a"), ("store", "b")):
        fixed = ("--repeated-edges", "mean", "--epochs", "2", "--heads", "2", "--quiet")
        trained = gaancore("train", "--data", data, "--out", run, *fixed)
        assert trained.code == 0, trained.err
        gaancore("predict", run, "--out", f"{run}.csv")
        gaancore("explain", run, "--what", "attention", "--nodes", "all", "--out", f"{run}-e.csv")
        files = [tmp_path / run / "best.safetensors", tmp_path / f"{run}.csv"]
        written[run] = [file.read_bytes() for file in (*files, tmp_path / f"{run}-e.csv")]
        scores = gaancore("evaluate", run, "--json").out
        written[run].append(scores.replace(f'"{run}"', "").replace("store", "mine"))
    assert written["a"][:3] == written["b"][:3]
    # and each graph for the run of the other
    for run, other in (("a", "store"), ("b", "mine")):
        gaancore("predict", run, "--data", other, "--out", "other.csv")
        assert (tmp_path / "other.csv").read_bytes() == written[run][1]


def test_a_store_can_leave_them_out_or_have_some(gaancore, tmp_path):
    write_graph(tmp_path / "mine")
    split = ("--split", "60,20,20")
    none = gaancore("convert", "mine", "none", *split, "--edge-features", "none")
    assert "edges.csv: column(s) amount, kind ignored" in none.out
    assert not (tmp_path / "none" / "edge_attr.npy").exists()
    gaancore("convert", "mine", "some", *split, "--edge-features", "amount")
    assert np.load(tmp_path / "some" / "edge_attr.npy").shape == (120, 1)
