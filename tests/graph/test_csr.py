import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph
from strategies import edge_lists, graphs

from gaancore.errors import GraphError
from gaancore.graph import CSRGraph
from gaancore.graph.checks import index_dtype


def listed_edges(graph: CSRGraph) -> list[tuple[int, int]]:
    """(src, dst) of every edge, read off the arrays by a plain loop."""
    return [
        (int(graph.indices[position]), dst)
        for dst in range(graph.num_nodes)
        for position in range(graph.indptr[dst], graph.indptr[dst + 1])
    ]


def counts(graph: CSRGraph) -> np.ndarray:
    """Dense A[dst, src]: how often each edge is there."""
    dense = np.zeros((graph.num_nodes, graph.num_nodes), np.int64)
    for src, dst in listed_edges(graph):
        dense[dst, src] += 1
    return dense


def from_pairs(pairs, num_nodes, duplicates="merge"):
    src, dst = [s for s, _ in pairs], [d for _, d in pairs]
    return CSRGraph.from_edges(src, dst, num_nodes, duplicates=duplicates)


@given(edge_lists())
def test_kept_edges_are_those_given_ordered_by_destination_then_source(drawn):
    pairs, num_nodes = drawn
    graph = from_pairs(pairs, num_nodes, "keep")
    assert listed_edges(graph) == sorted(pairs, key=lambda edge: (edge[1], edge[0]))
    assert graph.num_nodes == num_nodes
    assert graph.num_edges == len(pairs)


@given(edge_lists())
def test_merged_edges_are_the_set_of_those_given(drawn):
    pairs, num_nodes = drawn
    graph = from_pairs(pairs, num_nodes)
    assert listed_edges(graph) == sorted(set(pairs), key=lambda edge: (edge[1], edge[0]))


def test_a_row_lists_the_sources_of_its_node():
    graph = from_pairs([(0, 2), (1, 2), (2, 0)], 3)
    np.testing.assert_array_equal(graph.indptr, [0, 1, 1, 3])
    np.testing.assert_array_equal(graph.indices, [2, 0, 1])
    np.testing.assert_array_equal(graph.degrees, [1, 0, 2])
    assert repr(graph) == "CSRGraph(num_nodes=3, num_edges=3)"


def test_offsets_are_64_bit_and_ids_32_bit_whatever_came_in():
    graph = from_pairs([(0, 1)], 2)
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.int32


def test_ids_turn_64_bit_only_when_there_are_too_many_nodes():
    assert index_dtype(2**31 - 1) is np.int32
    assert index_dtype(2**31) is np.int64


def test_isolated_last_nodes_stay():
    assert from_pairs([(0, 1)], 3).num_nodes == 3


def test_a_graph_may_have_no_edges_or_no_nodes():
    assert from_pairs([], 4).num_edges == 0
    empty = from_pairs([], 0)
    assert (empty.num_nodes, empty.num_edges) == (0, 0)
    assert empty.connected_components().shape == (0,)
    assert empty.full_block().num_src == 0
    assert empty.undirected().num_nodes == 0


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "u4", "i8", "u8", ">i4", ">i8", ">u4"])
def test_every_integer_dtype_and_byte_order_builds_the_same_graph(dtype):
    src, dst = np.array([2, 0, 1], dtype), np.array([0, 2, 2], dtype)
    graph = CSRGraph.from_edges(src, dst, 3, duplicates="merge")
    assert listed_edges(graph) == [(2, 0), (0, 2), (1, 2)]
    same = CSRGraph(np.array([0, 1, 1, 3], dtype), np.array([2, 0, 1], dtype))
    assert listed_edges(same) == listed_edges(graph)


@pytest.mark.parametrize("dtype", ["f8", "?", "U1", "O"])
def test_ids_that_are_not_integers_are_refused(dtype):
    with pytest.raises(GraphError, match="src: expected integers, got dtype"):
        CSRGraph.from_edges(np.array([0, 1], dtype), [0, 1], 2, duplicates="merge")
    with pytest.raises(GraphError, match="indptr: expected integers, got dtype"):
        CSRGraph(np.array([0, 1], dtype), [0])


def test_ids_need_one_dimension_and_both_ends():
    with pytest.raises(GraphError, match=r"dst: expected one dimension, got shape \(1, 2\)"):
        CSRGraph.from_edges([0, 1], [[0, 1]], 2, duplicates="merge")
    with pytest.raises(GraphError, match="src has 2 entries, dst has 1"):
        CSRGraph.from_edges([0, 1], [0], 2, duplicates="merge")


def test_the_first_edge_that_leaves_the_graph_is_named():
    with pytest.raises(GraphError, match=r"edge 1 \(0 -> 7\) leaves the graph, expected ids 0 to"):
        CSRGraph.from_edges([0, 0, -1], [1, 7, 1], 3, duplicates="merge")
    with pytest.raises(GraphError, match=r"edge 0 \(-1 -> 1\)"):
        CSRGraph.from_edges([-1], [1], 3, duplicates="merge")
    with pytest.raises(GraphError, match=r"edge 0 .* no ids, as there are no nodes"):
        CSRGraph.from_edges([0], [0], 0, duplicates="merge")


def test_an_unsigned_id_too_large_for_64_bits_is_refused():
    with pytest.raises(GraphError, match="edge 0"):
        CSRGraph.from_edges(np.array([2**64 - 1], "u8"), [0], 2, duplicates="merge")


def test_ids_that_start_at_one_are_recognised():
    with pytest.raises(GraphError, match=r"edge 1 \(2 -> 3\).*look 1-based"):
        CSRGraph.from_edges([1, 2], [2, 3], 3, duplicates="merge")
    with pytest.raises(GraphError) as caught:
        CSRGraph.from_edges([0, 2], [2, 3], 3, duplicates="merge")
    assert "1-based" not in str(caught.value)


@pytest.mark.parametrize("num_nodes", [-1, 2.0, None, "3"])
def test_a_node_count_that_is_none_is_refused(num_nodes):
    with pytest.raises(GraphError, match="from_edges: num_nodes"):
        CSRGraph.from_edges([0], [0], num_nodes, duplicates="merge")


def test_what_happens_to_duplicates_must_be_said():
    with pytest.raises(TypeError):
        CSRGraph.from_edges([0], [0], 1)
    with pytest.raises(GraphError, match="expected merge or keep, got 'sum'"):
        CSRGraph.from_edges([0], [0], 1, duplicates="sum")


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([], [], "indptr: expected offsets that start at 0, but it is empty"),
        ([1, 2], [0, 0], "start at 0, but it starts at 1"),
        ([0, 2, 1, 3], [0, 1, 2], "row 1 goes from 2 to 1"),
        ([0, 1], [0, 0], "the last offset is 1, but indices has 2"),
        ([0, 1, 2], [0, 2], r"indices\[1\] \(row 1\): 2 is out of range, expected ids 0 to 1"),
        ([0, 0, 1], [-1], r"indices\[0\] \(row 1\): -1 is out of range"),
    ],
)
def test_arrays_that_are_no_csr_matrix_are_refused_with_the_place(indptr, indices, message):
    with pytest.raises(GraphError, match=message) as caught:
        CSRGraph(indptr, indices)
    assert "\n" not in str(caught.value)


def test_too_few_rows_are_an_error_and_not_a_crash():
    with pytest.raises(GraphError, match=re.escape("expected 10 + 1 offsets, got 1")):
        CSRGraph([0], [], num_nodes=10)


def test_rows_in_any_order_are_sorted():
    graph = CSRGraph([0, 0, 4, 4, 6], [2, 0, 1, 0, 3, 1])
    np.testing.assert_array_equal(graph.indices, [0, 0, 1, 2, 1, 3])
    np.testing.assert_array_equal(graph.indptr, [0, 0, 4, 4, 6])


def test_arrays_cannot_be_changed_through_the_graph_nor_behind_its_back():
    indptr, indices = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    graph = CSRGraph(indptr, indices)
    indices[0] = 99
    assert graph.indices[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        graph.indices[0] = 99
    with pytest.raises(ValueError, match="read-only"):
        graph.indptr[0] = 1


def test_a_memory_mapped_array_is_not_copied(tmp_path):
    np.save(tmp_path / "indices.npy", np.array([1, 0], np.int32))
    mapped = np.load(tmp_path / "indices.npy", mmap_mode="r")
    assert np.shares_memory(CSRGraph([0, 1, 2], mapped).indices, mapped)


@given(graphs())
def test_transpose_agrees_with_scipy(graph):
    ones = np.ones(graph.num_edges)
    shape = (graph.num_nodes, graph.num_nodes)
    rows = [dst for _, dst in listed_edges(graph)]
    expected = sparse.coo_array((ones, (rows, graph.indices)), shape=shape).T.toarray()
    np.testing.assert_array_equal(counts(graph.transpose()), expected)


@given(graphs())
def test_undirected_holds_every_edge_both_ways_once(graph):
    pattern = sparse.csr_array(counts(graph) > 0)
    np.testing.assert_array_equal(counts(graph.undirected()), (pattern + pattern.T).toarray())
    assert graph.undirected().is_symmetric()


def test_undirected_does_not_double_what_is_there_already():
    graph = from_pairs([(0, 1), (1, 0), (0, 1), (2, 2)], 3, "keep")
    assert listed_edges(graph.undirected()) == [(1, 0), (0, 1), (2, 2)]


@given(graphs())
def test_a_graph_is_symmetric_when_its_matrix_is(graph):
    dense = counts(graph)
    assert graph.is_symmetric() == np.array_equal(dense, dense.T)


@given(graphs(), st.data())
def test_an_induced_subgraph_is_scipys_submatrix(graph, data):
    nodes = data.draw(st.permutations(range(graph.num_nodes)))
    nodes = nodes[: data.draw(st.integers(0, graph.num_nodes))]
    expected = sparse.csr_array(counts(graph))[nodes][:, nodes].toarray()
    np.testing.assert_array_equal(counts(graph.induced_subgraph(nodes)), expected)


def test_an_induced_subgraph_takes_a_mask():
    graph = from_pairs([(0, 1), (1, 2), (2, 0)], 3)
    assert listed_edges(graph.induced_subgraph([True, False, True])) == [(1, 0)]


def test_an_induced_subgraph_refuses_repeats_and_strangers():
    graph = from_pairs([(0, 1)], 3)
    with pytest.raises(GraphError, match=r"nodes\[2\]: node 1 is listed twice"):
        graph.induced_subgraph([1, 0, 1])
    with pytest.raises(GraphError, match=r"nodes\[1\]: node 3 is not in the graph"):
        graph.induced_subgraph([0, 3])


@given(st.lists(graphs(max_nodes=5, max_edges=10), max_size=4))
def test_a_disjoint_union_is_block_diagonal(parts):
    union = CSRGraph.disjoint_union(parts)
    expected = np.zeros((union.num_nodes, union.num_nodes), np.int64)
    start = 0
    for part in parts:
        stop = start + part.num_nodes
        expected[start:stop, start:stop] = counts(part)
        start = stop
    assert start == union.num_nodes
    np.testing.assert_array_equal(counts(union), expected)


@given(graphs(max_edges=12))
def test_components_are_those_of_plain_relabelling(graph):
    labels = list(range(graph.num_nodes))
    for _ in range(graph.num_nodes):
        for src, dst in listed_edges(graph):
            labels[src] = labels[dst] = min(labels[src], labels[dst])
    numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
    components = graph.connected_components()
    assert components.dtype == np.int64
    assert components.tolist() == [numbers[label] for label in labels]


@given(graphs())
def test_self_loops_are_kept_dropped_or_made_one_each(graph):
    dense = counts(graph)
    diagonal = np.diag(np.diag(dense))
    assert graph.num_self_loops == np.trace(dense)
    assert graph.self_loops("keep") is graph
    np.testing.assert_array_equal(counts(graph.self_loops("drop")), dense - diagonal)
    one_each = dense - diagonal + np.eye(graph.num_nodes, dtype=np.int64)
    np.testing.assert_array_equal(counts(graph.self_loops("add")), one_each)


def test_an_unknown_way_with_self_loops_is_refused():
    with pytest.raises(GraphError, match="expected keep, drop or add, got 'remove'"):
        from_pairs([], 1).self_loops("remove")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dia", "lil"])
def test_an_entry_of_a_scipy_matrix_is_an_edge_from_its_column_to_its_row(layout):
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 5.0]])
    for matrix in (sparse.coo_array(dense), sparse.coo_matrix(dense)):
        graph = CSRGraph.from_scipy(matrix.asformat(layout), duplicates="merge")
        assert listed_edges(graph) == [(1, 0), (2, 1), (2, 2)]


def test_zeros_stored_in_a_scipy_matrix_are_no_edges_and_repeats_are_duplicates():
    entries = ([1.0, 0.0, 1.0], ([0, 1, 0], [1, 0, 1]))
    matrix = sparse.coo_array(entries, shape=(2, 2))
    assert listed_edges(CSRGraph.from_scipy(matrix, duplicates="keep")) == [(1, 0), (1, 0)]
    assert listed_edges(CSRGraph.from_scipy(matrix, duplicates="merge")) == [(1, 0)]


def test_a_matrix_that_is_dense_or_not_square_is_refused():
    with pytest.raises(GraphError, match="expected a sparse matrix, got ndarray"):
        CSRGraph.from_scipy(np.eye(2), duplicates="merge")
    with pytest.raises(GraphError, match=r"expected a square matrix, got shape \(2, 3\)"):
        CSRGraph.from_scipy(sparse.coo_array((2, 3)), duplicates="merge")


def test_the_path_graph_is_one_component_for_scipy_too():
    graph = from_pairs([(0, 1), (1, 2), (3, 4)], 5)
    number, _ = csgraph.connected_components(sparse.csr_array(counts(graph)), directed=False)
    assert number == 2
    assert graph.connected_components().tolist() == [0, 0, 0, 1, 1]
