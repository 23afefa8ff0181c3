import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import blocks, graphs

from gaancore.errors import GraphError
from gaancore.graph import Block, CSRGraph
from gaancore.graph import block as block_module


def destinations(block: Block) -> list[int]:
    """The destination row of each edge, by a plain loop."""
    return [
        row for row in range(block.num_dst) for _ in range(block.indptr[row], block.indptr[row + 1])
    ]


@given(blocks())
def test_the_transpose_groups_the_same_edges_by_source(block):
    rows = destinations(block)
    transpose = block.transpose
    for source in range(block.num_src):
        mine = slice(transpose.indptr[source], transpose.indptr[source + 1])
        expected = [e for e in range(block.num_edges) if block.indices[e] == source]
        assert transpose.edge_ids[mine].tolist() == expected
        assert transpose.indices[mine].tolist() == [rows[e] for e in expected]
    assert transpose.indptr[-1] == block.num_edges


@given(blocks())
def test_the_transposed_matrix_is_scipys(block):
    values = np.arange(1.0, block.num_edges + 1)
    shape = (block.num_dst, block.num_src)
    entries = (values, (destinations(block), block.indices))
    expected = sparse.coo_array(entries, shape=shape).T.toarray()
    indptr, indices, edge_ids = block.transpose
    entries = (values[edge_ids], (np.repeat(np.arange(block.num_src), np.diff(indptr)), indices))
    np.testing.assert_array_equal(sparse.coo_array(entries, shape=shape[::-1]).toarray(), expected)


def test_a_transpose_worked_by_hand():
    block = Block([0, 2, 2, 5], [1, 3, 3, 0, 3], num_src=4)
    assert block.transpose.indptr.tolist() == [0, 1, 2, 2, 5]
    assert block.transpose.indices.tolist() == [2, 0, 0, 2, 2]
    assert block.transpose.edge_ids.tolist() == [3, 0, 1, 2, 4]


def test_the_transpose_is_computed_once_and_cannot_be_changed():
    block = Block([0, 1], [0], num_src=1)
    assert block.transpose is block.transpose
    for array in block.transpose:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@given(graphs(duplicates="merge"))
def test_the_full_block_of_a_symmetric_graph_is_its_own_transpose(graph):
    block = graph.undirected().full_block()
    np.testing.assert_array_equal(block.transpose.indptr, block.indptr)
    np.testing.assert_array_equal(block.transpose.indices, block.indices)


@given(graphs())
def test_the_full_block_has_every_node_on_both_sides(graph):
    block = graph.full_block()
    assert block.num_dst == block.num_src == graph.num_nodes
    np.testing.assert_array_equal(block.src_ids, np.arange(graph.num_nodes))
    np.testing.assert_array_equal(block.indptr, graph.indptr)
    np.testing.assert_array_equal(block.indices, graph.indices)


@given(graphs(), st.data())
def test_a_block_of_nodes_holds_their_whole_neighbourhoods(graph, data):
    nodes = data.draw(st.permutations(range(graph.num_nodes)))
    nodes = nodes[: data.draw(st.integers(0, graph.num_nodes))]
    block = graph.block_of(nodes)
    met = list(nodes)
    for row, node in enumerate(nodes):
        neighbours = graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist()
        mine = block.indices[block.indptr[row] : block.indptr[row + 1]]
        assert block.src_ids[mine].tolist() == neighbours
        met += [neighbour for neighbour in dict.fromkeys(neighbours) if neighbour not in met]
    assert block.src_ids.tolist() == met


def test_a_block_of_nodes_refuses_repeats_and_strangers():
    graph = CSRGraph.from_edges([0], [1], 3, duplicates="merge")
    with pytest.raises(GraphError, match=r"block_of: dst_ids\[1\]: node 2 is listed twice"):
        graph.block_of([2, 2])
    with pytest.raises(GraphError, match=r"dst_ids\[0\]: node -1 is not in the graph"):
        graph.block_of([-1])


def test_dtypes_are_those_the_kernels_expect():
    block = Block(np.array([0, 1], "u4"), np.array([0], ">i8"), 2, np.array([7, 9], "i2"))
    assert block.indptr.dtype == np.int64
    assert block.indices.dtype == np.int32
    assert block.src_ids.dtype == np.int64
    assert block.transpose.indptr.dtype == np.int64
    assert block.transpose.indices.dtype == np.int32
    assert block.transpose.edge_ids.dtype == np.int32
    assert repr(block) == "Block(num_dst=1, num_src=2, num_edges=1)"


def test_an_empty_block_is_a_block():
    block = Block([0], [], num_src=0)
    assert (block.num_dst, block.num_src, block.num_edges) == (0, 0, 0)
    assert block.transpose.indptr.tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0, 1], [2], 2),
            r"Block: indices\[0\] \(row 0\): 2 is out of range, expected ids 0 to 1",
        ),
        (([0, 1], [0], 0), "1 destinations cannot be the first of 0 sources"),
        (([0, 1], [0, 0], 2), "the last offset is 1, but indices has 2"),
        (([0, 1], [0], -1), "num_src: expected 0 or more, got -1"),
        (([0, 1], [0], 2, [5]), "src_ids: expected 2 ids, got 1"),
        (([0, 1], [0], 2**31), "2147483648 sources are more than"),
        (([0, 1], [0.5], 2), "indices: expected integers, got dtype float64"),
    ],
)
def test_what_is_no_block_is_refused_with_the_place(arguments, message):
    with pytest.raises(GraphError, match=message):
        Block(*arguments)


def test_the_largest_number_of_sources_is_what_32_bits_can_number():
    assert block_module.MAX_SOURCES == 2**31 - 1
