"""Features of edges stay with their edges, whatever is done to the graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import edge_lists, seeds

from gaancore.errors import GraphError
from gaancore.graph import ArcList, Block, CSRGraph, drop_edges, sample_blocks

Arcs = dict[tuple[int, int], list[float]]


def labelled(edges: list[tuple[int, int]], num_nodes: int, **options) -> CSRGraph:
    """A graph whose edge number e has the features (e, src, dst)."""
    src, dst = [s for s, _ in edges], [d for _, d in edges]
    rows = np.array([(e, s, d) for e, (s, d) in enumerate(edges)], np.float64).reshape(-1, 3)
    return CSRGraph.from_edges(src, dst, num_nodes, edge_attr=rows, **options)


def numbers_of(graph: CSRGraph) -> dict[tuple[int, int], list[float]]:
    """The first feature of the entries of each arc, in their order."""
    found: Arcs = {}
    src, dst = graph.edges()
    for e, arc in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        found.setdefault(arc, []).append(graph.edge_attr[e, 0])
    return found


def given_numbers(edges: list[tuple[int, int]]) -> Arcs:
    found: Arcs = {}
    for e, arc in enumerate(edges):
        found.setdefault(arc, []).append(float(e))
    return found


@given(edge_lists())
def test_every_entry_has_the_features_of_its_edge(case):
    edges, num_nodes = case
    graph = labelled(edges, num_nodes, duplicates="keep")
    assert numbers_of(graph) == given_numbers(edges)
    src, dst = graph.edges()
    assert (graph.edge_attr[:, 1] == src).all()
    assert (graph.edge_attr[:, 2] == dst).all()
    plain = CSRGraph.from_edges(*[[edge[end] for edge in edges] for end in (0, 1)], num_nodes,
                                duplicates="keep")  # fmt: skip
    np.testing.assert_array_equal(plain.indices, graph.indices)
    assert plain.edge_attr is None
    assert plain.full_block().edge_attr is None
    rows = np.arange(3.0 * graph.num_edges).reshape(-1, 3)
    backwards = graph.indices.copy()
    for start, stop in zip(graph.indptr[:-1], graph.indptr[1:], strict=True):
        backwards[start:stop] = backwards[start:stop][::-1]
    again = CSRGraph(graph.indptr, backwards, edge_attr=rows)  # rows that it has to put in order
    assert sorted(map(tuple, again.edge_attr)) == sorted(map(tuple, rows))
    for e, place in enumerate((again.edge_attr[:, 0] / 3).astype(int)):
        assert again.indices[e] == backwards[place]


@pytest.mark.parametrize(
    ("how", "function"), [("sum", sum), ("max", max), ("first", lambda x: x[0]), ("mean", np.mean)]
)
@given(case=edge_lists())
def test_merged_edges_have_what_the_reduction_makes_of_their_features(how, function, case):
    edges, num_nodes = case
    merged = numbers_of(labelled(edges, num_nodes, duplicates="merge", reduce=how))
    assert merged == {arc: [function(rows)] for arc, rows in given_numbers(edges).items()}


def test_merging_edges_that_have_features_asks_how():
    message = (
        r"^from_edges: reduce: 1 edges repeat another one and have features: expected one of "
        r"sum, mean, max, first, got None$"
    )
    with pytest.raises(GraphError, match=message):
        labelled([(0, 1), (1, 0), (0, 1)], 2, duplicates="merge")
    labelled([(0, 1), (1, 0)], 2, duplicates="merge")  # nothing to merge, nothing to ask
    with pytest.raises(GraphError, match="reduce: 1 edges repeat"):
        labelled([(0, 1), (0, 1)], 2, duplicates="keep").undirected()


def test_a_direction_that_is_stored_keeps_its_features_and_another_takes_its_reverses():
    graph = labelled([(0, 1), (1, 0), (2, 1), (2, 2)], 3, duplicates="keep")
    both = graph.undirected(direction=True)
    src, dst = both.edges()
    rows = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), both.edge_attr, strict=True))
    assert {arc: (row[0], row[-1]) for arc, row in rows.items()} == {
        (0, 1): (0, 1), (1, 0): (1, 1), (2, 1): (2, 1), (1, 2): (2, 0), (2, 2): (3, 1),
    }  # fmt: skip
    np.testing.assert_array_equal(graph.undirected().edge_attr, both.edge_attr[:, :-1])
    assert both.undirected() is both
    with_repeats = labelled([(0, 1), (0, 1), (1, 0)], 2, duplicates="keep")
    assert numbers_of(with_repeats.undirected(reduce="sum")) == {(0, 1): [1], (1, 0): [2]}
    with pytest.raises(GraphError, match=r"^undirected: direction: the edges have no features"):
        CSRGraph([0, 1], [0]).undirected(direction=True)


@given(case=edge_lists(), mode=st.sampled_from(["drop", "add"]))
def test_proper_edges_keep_their_features_and_an_added_loop_has_the_mean(case, mode):
    edges, num_nodes = case
    graph = labelled(edges, num_nodes, duplicates="keep")
    changed, before = numbers_of(graph.self_loops(mode)), given_numbers(edges)
    mean = np.mean(range(len(edges))) if edges else 0
    wanted = {arc: rows for arc, rows in before.items() if arc[0] != arc[1]}
    if mode == "add":
        loops = [(node, node) for node in range(num_nodes)]
        wanted |= {arc: before[arc][:1] if arc in before else [mean] for arc in loops}
    assert changed == wanted


@given(edge_lists(), seeds())
def test_turned_cut_out_and_put_side_by_side(case, seed):
    edges, num_nodes = case
    graph = labelled(edges, num_nodes, duplicates="keep")
    turned = graph.transpose()
    src, dst = turned.edges()
    assert (turned.edge_attr[:, 1] == dst).all()
    assert (turned.edge_attr[:, 2] == src).all()
    nodes = np.random.default_rng(seed).permutation(num_nodes)[: num_nodes // 2]
    part = graph.induced_subgraph(nodes)
    src, dst = part.edges()
    assert (part.edge_attr[:, 1] == nodes[src]).all()
    assert (part.edge_attr[:, 2] == nodes[dst]).all()
    union = CSRGraph.disjoint_union([graph, part])
    expected = np.concatenate([graph.edge_attr, part.edge_attr])
    np.testing.assert_array_equal(union.edge_attr, expected)
    with pytest.raises(GraphError, match=r"^disjoint_union: some graphs have edge_attr"):
        CSRGraph.disjoint_union([graph, CSRGraph([0], [])])
    arcs = ArcList([s for s, _ in edges], [d for _, d in edges], num_nodes, np.eye(len(edges)))
    assert (arcs.to_csr().edge_attr.sum(axis=1) == 1).all()


@given(edge_lists(), st.sampled_from([-1, 1, 2]), st.booleans(), seeds())
def test_a_block_has_the_ids_and_features_of_its_own_edges(case, fanout, merge, seed):
    edges, num_nodes = case
    graph = labelled(edges, num_nodes, duplicates="keep")
    blocks = sample_blocks(graph, np.arange(num_nodes), [fanout, 2], seed=seed, merge=merge)
    some = np.random.default_rng(seed).permutation(num_nodes)[: num_nodes // 2]
    blocks = [*blocks, graph.block_of(some), graph.full_block()]
    for block in [*blocks, *(drop_edges(block, 0.5, seed=seed) for block in blocks)]:
        rows = np.repeat(np.arange(block.num_dst), np.diff(block.indptr))
        np.testing.assert_array_equal(block.edge_attr, graph.edge_attr[block.edge_ids])
        assert (block.edge_attr[:, 1] == block.src_ids[block.indices]).all()
        assert (block.edge_attr[:, 2] == block.src_ids[rows]).all()


def test_a_graph_without_features_gives_ids_to_those_who_ask():
    graph = CSRGraph.from_edges([2, 0, 1], [1, 1, 2], 3, duplicates="keep")
    (plain,) = sample_blocks(graph, [1, 2], [-1], seed=0)
    (asked,) = sample_blocks(graph, [1, 2], [-1], seed=0, edge_ids=True)
    assert plain.edge_ids is None
    assert plain.edge_attr is None
    assert plain.edge_dim == 0
    assert asked.edge_ids.tolist() == [0, 1, 2]
    assert asked.edge_attr is None


def test_what_gives_rows_for_ids_may_stand_for_an_array():
    class Doubled:
        shape = (3, 2)

        def __getitem__(self, ids):
            return np.column_stack([ids, 2 * ids]).astype(np.float32)

    graph = CSRGraph.from_edges([2, 0, 1], [1, 1, 2], 3, duplicates="keep")
    block = graph.with_edge_attr(Doubled()).block_of([2, 1])
    assert block.edge_ids.tolist() == [2, 0, 1]
    assert block.edge_attr.tolist() == [[2, 4], [0, 0], [1, 2]]
    assert graph.edge_attr is None


def test_features_that_are_no_row_for_each_edge_are_refused():
    with pytest.raises(
        GraphError, match=r"^CSRGraph: edge_attr: expected \(1, B\), a row for each"
    ):
        CSRGraph([0, 1], [0], edge_attr=[[1.0], [2.0]])
    with pytest.raises(
        GraphError, match=r"^from_edges: edge_attr: expected numbers, got dtype <U1"
    ):
        CSRGraph.from_edges([0], [0], 1, duplicates="keep", edge_attr=[["a"]])
    with pytest.raises(GraphError, match=r"^Block: edge_attr: expected \(1, B\), .*, got \(1,\)$"):
        Block([0, 1], [0], 1, edge_attr=[1.0])
    with pytest.raises(GraphError, match=r"^Block: edge_ids: expected 1 ids, got 2$"):
        Block([0, 1], [0], 1, edge_ids=[0, 1])


def test_nobody_can_change_the_features_of_a_graph_afterwards():
    rows = np.ones((1, 2), np.float32)
    graph = CSRGraph([0, 1], [0], edge_attr=rows)
    rows[:] = 7
    assert (graph.edge_attr == 1).all()
    for attr in (graph.edge_attr, graph.full_block().edge_attr):
        with pytest.raises(ValueError, match="read-only"):
            attr[0] = 1
