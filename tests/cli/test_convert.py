"""`gaancore convert`, `check` and `synth`: what they print, write and refuse."""

import numpy as np
import pytest
from small_files import CLASSES, write_matlab, write_npz, write_reddit
from small_run import contents, small_options

from gaancore.data import check_store, open_store, synthetic_ppi


def test_a_dataset_is_converted_and_described(gaancore, tmp_path):
    write_reddit(tmp_path)
    outcome = gaancore("convert", tmp_path, "store")
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.lines == [
        "store: 6 nodes, 7 arcs, 2 features, 3 classes; train 3, validation 1, test 2 nodes",
        "note: layout: DGL Reddit",
        "note: 1 self-loops kept",
    ]
    assert open_store(tmp_path / "store").labels.tolist() == CLASSES


def test_a_store_trains_as_the_file_it_was_made_of_where_the_order_is_the_same(
    gaancore, data, tmp_path
):
    with np.load(data) as archive:
        arrays = dict(archive)
    order = np.argsort(arrays["split"], kind="stable")
    place = np.argsort(order)
    for name in ("x", "y", "split", "graph_id"):
        arrays[name] = arrays[name][order]
    arrays["edge_index"] = place[arrays["edge_index"]]
    np.savez(tmp_path / "sorted.npz", **arrays)
    assert gaancore("convert", "sorted.npz", "store").code == 0
    for source, run in (("sorted.npz", "a"), ("store", "b")):
        options = small_options(epochs=1)
        assert (
            gaancore("train", "--task", "ppi", "--data", source, "--out", run, *options).code == 0
        )
    weights = [contents(tmp_path / run)["best.safetensors"] for run in "ab"]
    assert weights[0] == weights[1]
    assert gaancore("evaluate", "b").code == 0


def test_quiet_prints_one_line(gaancore, data):
    assert len(gaancore("convert", data, "store", "--quiet").lines) == 1
    assert len(gaancore("check", "store", "--quiet").lines) == 1


def test_a_split_is_drawn_on_request_and_stated(gaancore, tmp_path):
    write_matlab(tmp_path)
    outcome = gaancore("convert", "toy.mat", "store", "--split", "50,17,33", "--seed", 4)
    assert outcome.code == 0
    assert "no split in the files: 50/17/33 drawn with seed 4: 3 training, 1 vali" in outcome.out
    assert gaancore("convert", "toy.mat", "other", "--split=50,17,33").code == 0
    assert "seed 0" in open_store(tmp_path / "other").notes[1]


def test_unflagged_nodes_are_dropped_or_trained_on(gaancore, tmp_path):
    write_npz(tmp_path, split=np.array([0, -1, 0, 1, 2, 2]))
    dropped = gaancore("convert", "toy.npz", "a", "--unflagged", "drop")
    assert "1 nodes in no split dropped, with their edges" in dropped.out
    taken = gaancore("convert", "toy.npz", "b", "--unflagged", "train")
    assert "train 3, validation 1, test 2 nodes" in taken.lines[0]


def test_a_sound_store_passes_the_check_and_a_changed_one_does_not(gaancore, refused, data):
    gaancore("convert", data, "store")
    assert gaancore("check", "store").code == 0
    path = data.parent / "store" / "features.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    assert "store/features.npy: its checksum is" in refused("check", "store")


REFUSED = {
    "no source": (["nowhere", "store"], "nowhere: no such file or folder"),
    "taken": (["small.npz", "small.npz"], "small.npz: already exists"),
    "no split": (["toy.mat", "store"], "toy.mat: the files name no split; split_shares: per cent"),
    "a split twice": (["small.npz", "store", "--split=60,20,20"], "has a split of its own"),
    "words": (["toy.mat", "store", "--split=a,b"], "--split: expected numbers such as 60,20,20"),
    "two shares": (["toy.mat", "store", "--split=60,40"], "--split: expected per cent of"),
    "a seed alone": (["small.npz", "store", "--seed=1"], "--seed: nothing is drawn without a sp"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_converted_is_refused_in_one_line_and_writes_nothing(
    refused, data, tmp_path, arguments, message
):
    write_matlab(tmp_path)
    assert message in refused("convert", *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.npz", "toy.mat"]


def test_a_store_is_not_converted_again_nor_a_file_checked(refused, gaancore, data):
    gaancore("convert", data, "store")
    assert "store: already a store; use it as it is" in refused("convert", "store", "again")
    assert "meta.json" in refused("check", data)


def test_a_synthetic_store_is_written_and_says_what_it_is(gaancore, tmp_path):
    outcome = gaancore("synth", "reddit", "store", "--scale", 0.002, "--seed", 5)
    assert outcome.code == 0
    assert outcome.lines == ["store: written; use it with --data store"]
    opened = open_store(tmp_path / "store")
    assert (opened.num_nodes, opened.kind) == (466, "synthetic")
    assert opened.notes[1] == "drawn with seed 5 at scale 0.002"
    assert "synthetic data: its scores say" in gaancore("check", "store").out


def test_the_built_in_ppi_is_written_as_it_is_trained_on(gaancore, tmp_path):
    outcome = gaancore("synth", "ppi", "store", "--seed", 3)
    assert outcome.code == 0
    assert outcome.lines == ["store: written; use it with --data store"]
    opened, expected = check_store(tmp_path / "store"), synthetic_ppi(3)
    for field in ("features", "labels", "split", "graph_ids", "node_ids"):
        np.testing.assert_array_equal(getattr(opened, field), getattr(expected, field))
    np.testing.assert_array_equal(opened.graph.indptr, expected.graph.indptr)
    np.testing.assert_array_equal(opened.graph.indices, expected.graph.indices)
    assert (opened.ceiling, opened.kind) == (expected.ceiling, "synthetic")
    assert opened.notes == (*expected.notes, "drawn with seed 3")
    options = small_options(epochs=1)
    assert gaancore("train", "--task", "ppi", "--data", "store", "--out", "run", *options).code == 0
    again = gaancore("synth", "ppi", "store")
    assert again.code == 2
    assert "already exists" in again.err


@pytest.mark.parametrize("arguments", [["--scale", "0"], ["--scale", "big"], ["--seed", "-1"]])
def test_a_size_that_does_not_parse_is_refused(gaancore, tmp_path, arguments):
    outcome = gaancore("synth", "reddit", "store", *arguments)
    assert outcome.code == 2
    assert arguments[0] in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["convert"], ["check"], ["synth", "reddit"]])
def test_help_of_each_command_says_what_it_takes(gaancore, command):
    text = gaancore(*command, "--help").out
    assert "Usage:" in text
    assert "--quiet" in text
