"""`gaancore explain` and `gaancore embed`: numbers under the nodes' own ids, in files."""

import csv
import errno
import io
import os
from pathlib import Path

import numpy as np
import pytest
from small_files import CLASSES, write_graphsage, write_npz
from small_run import small_options
from small_traffic_run import forecast_run

from gaancore.data.nodes.inputs import read_inputs
from gaancore.tasks import open_run
from gaancore.training.nodes.heads.explain import arc_attention, node_gates

ROWS = np.arange(6)


@pytest.fixture
def train(gaancore, tmp_path):
    """Trains a run on six nodes, of which 3 has no neighbour and 2 is its own; gives its data."""

    def command(*options: str, **arrays: np.ndarray) -> Path:
        (tmp_path / "old").mkdir()
        path = write_npz(tmp_path / "old", **arrays)
        outcome = gaancore(
            "train", "--task", "ppi", "--data", path, "--out", "run", *small_options(), *options
        )
        assert outcome.code == 0
        return path

    return command


@pytest.fixture
def named(train, tmp_path) -> Path:
    """The same graph with names for nodes, beside a run."""
    train()
    write_graphsage(tmp_path, ids=list("fabced"))
    return tmp_path / "toy"


def rows_of(path: str) -> list[list[str]]:
    return list(csv.reader(Path(path).read_text(encoding="utf-8").splitlines()))


def expected_of(path: Path):
    classifier, inputs = open_run("run").classifier, read_inputs(path)
    return inputs, node_gates(classifier, inputs, ROWS), arc_attention(classifier, inputs, ROWS)


def test_gates_of_every_node_are_a_row_for_each_node_and_layer(gaancore, named):
    outcome = gaancore("explain", "run", "--data", named)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[0] == "written: gates.csv: gates of 6 nodes, layer 1 and 2"
    header, *rows = rows_of("gates.csv")
    assert header == ["node_id", "layer", "head1", "head2"]
    inputs, gates, _ = expected_of(named)
    assert [row[:2] for row in rows] == [[name, layer] for layer in "12" for name in "fabced"]
    found = np.array([row[2:] for row in rows], np.float32)
    assert (found == np.concatenate([gates[1], gates[2]])).all()  # no digit is lost
    assert inputs.node_ids.tolist() == list("fabced")


def test_weights_of_chosen_nodes_are_a_row_for_each_arc_and_sum_to_1(gaancore, named):
    outcome = gaancore(
        *("explain", "run", "--data", named, "--what", "attention"),
        *("--nodes", "b, c,a,b", "--out", "weights.csv"),
    )
    assert outcome.lines[0] == (
        "written: weights.csv: attention weights of 6 arcs into 4 nodes, layer 1 and 2"
    )
    header, *rows = rows_of("weights.csv")
    assert header == ["node_id", "neighbor_id", "layer", "head1", "head2"]
    into_b = [["b", "a"], ["b", "b"]]
    arcs = [*into_b, ["a", "f"], ["a", "b"], *into_b]  # c is on its own
    assert [row[:3] for row in rows] == [[*arc, layer] for layer in "12" for arc in arcs]
    inputs, _, attention = expected_of(named)
    place = {name: row for row, name in enumerate(inputs.node_ids)}
    for node, neighbour, layer, *heads in rows:
        arc = (attention.targets == place[node]) & (attention.sources == place[neighbour])
        (of_arc,) = attention.layers[int(layer)][arc]
        assert (np.array(heads, np.float32) == of_arc).all()
    for layer in "12":
        for name, times in (("b", 2), ("a", 1)):
            of_node = [row[3:] for row in rows if row[0] == name and row[2] == layer]
            assert np.array(of_node, float).sum(axis=0) == pytest.approx(times, abs=1e-6)


def test_an_archive_has_the_same_numbers_an_array_for_each_layer(gaancore, named):
    inputs, gates, attention = expected_of(named)
    ids = inputs.node_ids
    assert gaancore("explain", "run", "--data", named, "--out", "g.npz").code == 0
    with np.load("g.npz") as archive:
        assert list(archive) == ["node_ids", "layer1", "layer2"]
        assert (archive["node_ids"] == ids).all()
        assert all((archive[f"layer{n}"] == gates[n]).all() for n in (1, 2))
    options = ("--what", "attention", "--nodes", "all", "--layer", "2", "--out", "w.npz")
    outcome = gaancore("explain", "run", "--data", named, *options)
    assert outcome.lines[0].endswith("of 7 arcs into 6 nodes, layer 2")
    with np.load("w.npz") as archive:
        assert list(archive) == ["node_ids", "neighbor_ids", "layer2"]
        assert (archive["node_ids"] == ids[attention.targets]).all()
        assert (archive["neighbor_ids"] == ids[attention.sources]).all()
        assert (archive["layer2"] == attention.layers[2]).all()


@pytest.mark.parametrize("text", ["5\n0\n\n3\n5\n", "\ufeff5\r\n0\r\n3", " 5 \n0,of interest\n3\n"])
def test_nodes_may_stand_in_a_file(gaancore, train, text):
    train()
    Path("ids.txt").write_text(text, encoding="utf-8", newline="")
    assert gaancore("explain", "run", "--nodes", "ids.txt", "--layer", "1").code == 0
    expected = [*"503", *("5" if "\n5\n" in text else "")]
    assert [row[:2] for row in rows_of("gates.csv")[1:]] == [[node, "1"] for node in expected]


def test_a_layer_with_fewer_heads_leaves_columns_empty(gaancore, train):
    train("--task", "reddit", "--fanouts=-1,-1", y=np.array(CLASSES))
    assert gaancore("explain", "run", "--nodes", "4").code == 0
    header, first, second = rows_of("gates.csv")
    assert header == ["node_id", "layer", "head1", "head2"]
    assert (first[:2], first[3]) == (["4", "1"], "")
    assert 0 < float(second[3]) < 1


def test_a_graph_of_edges_and_features_alone_can_be_explained_and_embedded(gaancore, train):
    train()
    x = np.array([[0.0, 1.5], [1.0, -2.0], [5.0, 0.0]])
    np.savez("new.npz", src=np.array([0, 1]), dst=np.array([1, 0]), x=x)
    assert gaancore("explain", "run", "--data", "new.npz").code == 0
    assert [row[0] for row in rows_of("gates.csv")[1:]] == list("012012")
    assert gaancore("embed", "run", "--data", "new.npz").code == 0
    with np.load("embeddings.npz") as archive:
        assert archive["node_ids"].tolist() == [0, 1, 2]
        assert archive["embeddings"].shape == (3, 6)


@pytest.mark.parametrize("model", ["gaan", "avg-pool", "fnn"])
def test_the_head_makes_what_is_predicted_from_the_embeddings(gaancore, train, model):
    path = train("--model", model)
    outcome = gaancore("embed", "run")
    assert (outcome.code, outcome.err) == (0, "")
    width = 8 if model == "fnn" else 6
    assert outcome.lines[0] == f"written: embeddings.npz: 6 nodes, {width} numbers each"
    assert gaancore("predict", "run", "--out", "p.npz").code == 0
    head = open_run("run").classifier.model.head
    with np.load("embeddings.npz") as archive, np.load("p.npz") as predicted:
        h = archive["embeddings"]
        logits = h.astype(float) @ head.weight.data + head.bias.data
        assert predicted["probabilities"] == pytest.approx(1 / (1 + np.exp(-logits)), abs=1e-6)
    assert gaancore("embed", "run", "--data", path, "--out", "h.csv").code == 0
    header, *rows = rows_of("h.csv")
    assert header == ["node_id", *(f"h{d}" for d in range(width))]
    assert [row[0] for row in rows] == list("012345")
    assert (np.array([row[1:] for row in rows], np.float32) == h).all()
    assert gaancore("embed", "run", "--layer", "1", "--out", "first.csv").code == 0
    first = np.array([row[1:] for row in rows_of("first.csv")[1:]], np.float32)
    expected = open_run("run").embed(path, layer=1)
    assert (first == expected).all()


ATTENTION = ("explain", "run", "--what", "attention")
REFUSED = {
    "unknown ids": (
        ("explain", "run", "--nodes", "4,x,4,07"),
        "--nodes: {data}: 2 of 3 ids belong to no node: 'x', '07'; ids look like 0",
    ),
    "no ids": (("explain", "run", "--nodes", " ,"), "--nodes: no ids in ' ,'"),
    "weights of nobody in particular": (
        ATTENTION,
        "--nodes: required for attention, which has a number for each arc, head and layer; name "
        "the nodes, or say all",
    ),
    "another layer": (
        ("explain", "run", "--layer", "3"),
        "run: layer: expected a hidden layer of the model, 1 to 2, got 3",
    ),
    "an embedding of layer 0": (
        ("embed", "run", "--layer", "0"),
        "run: layer: expected a hidden layer of the model, 1 to 2, got 0",
    ),
    "another kind of file": (
        ("explain", "run", "--out", "gates.txt"),
        "--out: gates.txt: expected a name that ends in .csv or .npz",
    ),
    "embeddings in another kind of file": (
        ("embed", "run", "--out", "h"),
        "--out: h: expected a name that ends in .csv or .npz",
    ),
    "--nan without --data": (
        ("embed", "run", "--nan", "zero"),
        "--nan: the run's own data is read as in training; leave it out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_explained_is_refused_and_nothing_is_written(refused, train, case):
    arguments, expected = REFUSED[case]
    data = train()
    before = sorted(Path().iterdir())
    assert refused(*arguments) == expected.format(data=data)
    assert sorted(Path().iterdir()) == before


def test_a_list_of_ids_may_be_longer_than_the_name_of_a_file_can_be(gaancore, train):
    train()
    assert gaancore("explain", "run", "--nodes", ",".join(["4", "1"] * 5000)).code == 0
    assert [row[0] for row in rows_of("gates.csv")[1:]] == list("41") * 10_000


def test_a_file_of_nodes_that_is_no_text_is_refused_in_one_line(refused, train):
    train()
    Path("ids.txt").write_bytes(b"\xff\xfe\x00")
    assert refused("explain", "run", "--nodes", "ids.txt").startswith(
        "ids.txt: line 1: not UTF-8 text"
    )


def test_runs_without_attention_or_without_nodes_are_refused(gaancore, refused, train):
    train("--model", "max-pool")
    assert refused("explain", "run") == "run: max-pool has no gates, which only gaan has"
    assert refused(*ATTENTION, "--nodes", "all") == (
        "run: max-pool has no attention weights, which only gaan and attention have"
    )
    forecast_run(Path("traffic")).start()
    for command in ("explain", "embed"):
        assert refused(command, "traffic") == (
            "traffic: a run of task metr-la, which does not classify nodes"
        )
    for name in ("gates.csv", "attention.csv", "embeddings.npz"):
        assert not Path(name).exists()


@pytest.mark.parametrize("name", ["h.csv", "h.npz"])
def test_a_full_disk_leaves_the_old_file_and_one_line(refused, train, monkeypatch, name):
    train()
    Path(name).write_bytes(b"old")
    before, original = sorted(Path().iterdir()), Path.open

    class FullDisk(io.FileIO):
        def write(self, content: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_on_it(path: Path, mode: str = "r", **options: str):
        return FullDisk(path, "w") if mode == "wb" else original(path, mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_on_it)
        line = refused("embed", "run", "--out", name)
    assert line == (
        f"{name}: cannot be written (No space left on device); what was there before is untouched"
    )
    assert Path(name).read_bytes() == b"old"
    assert sorted(Path().iterdir()) == before


NAMES = ["=HYPERLINK(1)", "+a", "-b", "@c", "-1.5", "plain"]


@pytest.mark.parametrize(
    "command",
    [["predict"], ["embed"], ["explain"], ["explain", "--what", "attention", "--nodes", "all"]],
    ids=str,
)
def test_ids_that_a_spreadsheet_computes_are_told_of_and_escaped_on_request(
    gaancore, train, tmp_path, command
):
    train()
    write_graphsage(tmp_path, ids=NAMES)
    name, *options = command
    options = [*options, "--data", tmp_path / "toy", "--out", "x.csv"]
    outcome = gaancore(name, "run", *options)
    ids = {row[0] for row in rows_of("x.csv")[1:]}
    assert ids <= set(NAMES)
    note = outcome.lines[-1]
    assert note.startswith("note: ")
    assert "begin like a formula, first " in note
    assert "--escape-formulas" in note
    assert gaancore(name, "run", *options, "--escape-formulas").code == 0
    for row in rows_of("x.csv")[1:]:
        for cell in row[:2] if "attention" in command else row[:1]:
            assert cell in ("-1.5", "plain") or cell[0] == "'"
            assert cell.removeprefix("'") in NAMES
        for cell in row[2:]:
            assert not cell.startswith("'")


def test_ordinary_ids_and_negative_numbers_need_no_note(gaancore, train):
    train()
    outcome = gaancore("embed", "run", "--out", "x.csv")
    assert "formula" not in outcome.out
    assert any(cell.startswith("-") for row in rows_of("x.csv")[1:] for cell in row)
