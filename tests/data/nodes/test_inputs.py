"""Rows of nodes by the names that the files give them."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_files import write_dgl, write_graphsage, write_graphsaint, write_reddit

from gaancore.data.nodes.inputs import NodeInputs, read_inputs
from gaancore.data.nodes.load import load_nodes
from gaancore.errors import DataError
from gaancore.graph import CSRGraph


def inputs(names: list) -> NodeInputs:
    graph = CSRGraph.from_edges([], [], len(names), duplicates="keep")
    return NodeInputs("new.npz", graph, np.zeros((len(names), 1)), np.array(names), None, ())


@pytest.mark.parametrize("names", [[70, 8, 900, -1], ["70", "8", "900", "-1"]])
def test_rows_are_in_the_order_of_the_ids_one_for_each(names):
    assert_array_equal(inputs(names).rows_of(["900", "70", "-1", "70", "900"]), [2, 0, 3, 0, 2])
    assert inputs(names).rows_of([]).shape == (0,)


def test_text_ids_are_taken_as_they_are():
    assert_array_equal(inputs(["a b", "A B", "é"]).rows_of(["é", "a b"]), [2, 0])


@pytest.mark.parametrize("unknown", ["08", "8.0", " 8", "x", ""])
def test_ids_of_no_node_are_counted_and_five_are_named(unknown):
    expected = f"new.npz: 2 of 3 ids belong to no node: {unknown!r}, 'y'; ids look like 70"
    with pytest.raises(DataError, match=f"^{re.escape(expected)}$"):
        inputs([70, 8]).rows_of(["8", unknown, "y", unknown])
    with pytest.raises(
        DataError, match=r"6 of 6 ids belong to no node: 'a', 'b', 'c', 'd', 'e', ...;"
    ):
        inputs([70, 8]).rows_of("abcdef")


def without(folder: Path, *names: str) -> Path:
    """The folder less the files whose names end so."""
    for name in names:
        for path in folder.glob(f"*{name}"):
            path.unlink()
    return folder


def reddit_without_labels(folder: Path) -> Path:
    write_reddit(folder)
    with np.load(folder / "reddit_data.npz") as archive:
        kept = {name: archive[name] for name in ("feature", "node_ids")}
    np.savez(folder / "reddit_data.npz", **kept)
    return folder


UNLABELLED = {
    "GraphSAINT": lambda f: without(write_graphsaint(f), "class_map.json", "role.json"),
    "GraphSAGE": lambda f: without(write_graphsage(f), "class_map.json"),
    "DGL PPI": lambda f: without(write_dgl(f), "_labels.npy"),
    "DGL Reddit": reddit_without_labels,
}


@pytest.mark.parametrize("layout", UNLABELLED)
def test_a_graph_in_any_layout_can_be_asked_about_without_labels(layout, tmp_path):
    path = UNLABELLED[layout](tmp_path)
    inputs = read_inputs(path)
    assert inputs.graph.num_nodes == 6
    assert inputs.notes[0] == f"layout: {layout}"
    with pytest.raises(DataError, match="no labels, which training and scores need"):
        load_nodes(path, name="x", split_shares=(60, 20, 20))


def test_labels_of_some_splits_alone_are_refused(tmp_path):
    write_dgl(tmp_path)
    (tmp_path / "valid_labels.npy").unlink()
    with pytest.raises(DataError, match=r"no valid_labels\.npy beside those of other splits"):
        read_inputs(tmp_path)
