"""Rows of nodes by the names that the files give them."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.data.nodes.inputs import NodeInputs
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
