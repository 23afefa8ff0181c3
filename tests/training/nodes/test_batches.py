"""Which nodes a step is about, in both modes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_run import NODES, small_dataset, small_settings

from gaancore.data import TRAIN, Features, feature_statistics
from gaancore.data.nodes.rows import WholeRows
from gaancore.errors import DataError
from gaancore.graph import Block, CSRGraph
from gaancore.training.choices import read_config
from gaancore.training.nodes.batches import Batches

VIEW, _ = small_dataset().view(TRAIN)
MODES = pytest.mark.parametrize("mode", ["seeds", "graphs"])


def batches(layers: int = 2, view=VIEW, **changes) -> Batches:
    as_they_are = feature_statistics(view, "none")
    features = Features(view.features, *as_they_are)
    rows = WholeRows(view.graph, features, view.labels)
    return Batches(view, rows, small_settings(**changes), layers)


def blocks_of(b: Batches, seeds: np.ndarray, *key: int) -> list[Block]:
    (blocks,) = b.blocks([seeds], [key])
    return blocks


def epoch_of(b: Batches, epoch: int) -> list[np.ndarray]:
    return [b.seeds(epoch, step) for step in range(b.steps_per_epoch)]


@MODES
@given(size=st.integers(1, 100), seed=st.integers(0, 9), epoch=st.integers(0, 5))
def test_every_training_node_is_met_exactly_once_an_epoch(mode, size, seed, epoch):
    b = batches(batch=mode, batch_size=size, seed=seed)
    met = np.concatenate(epoch_of(b, epoch))
    assert_array_equal(np.sort(met), np.arange(VIEW.num_nodes))


def test_the_last_batch_is_short_and_kept():
    assert VIEW.num_nodes == 72
    assert [len(seeds) for seeds in epoch_of(batches(batch_size=32), 0)] == [32, 32, 8]
    assert [len(seeds) for seeds in epoch_of(batches(batch_size=100), 0)] == [72]


def test_a_step_of_whole_graphs_has_whole_graphs_and_the_last_takes_what_is_left():
    sizes = np.bincount(VIEW.graph_ids)
    size = int(sizes[:2].sum())  # the first two are just enough
    steps = epoch_of(batches(batch="graphs", batch_size=size), 0)
    for seeds in steps:
        graphs = np.unique(VIEW.graph_ids[seeds])
        assert len(seeds) == sizes[graphs].sum() >= size
    everything = epoch_of(batches(batch="graphs", batch_size=1000), 0)
    assert [len(seeds) for seeds in everything] == [VIEW.num_nodes]
    five_and_one = int(sizes[:5].sum())
    assert len(epoch_of(batches(batch="graphs", batch_size=five_and_one), 0)) == 1


@MODES
def test_each_epoch_has_its_own_order(mode):
    b = batches(batch=mode, batch_size=1 if mode == "graphs" else 16)
    orders = [np.concatenate(epoch_of(b, epoch)).tolist() for epoch in range(4)]
    assert len({tuple(order) for order in orders}) == 4


@MODES
def test_each_seed_has_its_own_order(mode):
    orders = {
        tuple(np.concatenate(epoch_of(batches(batch=mode, batch_size=1, seed=seed), 0)))
        for seed in range(4)
    }
    assert len(orders) == 4


@MODES
@pytest.mark.parametrize("fanouts", [(-1, -1), (3, 2)])
def test_a_step_is_a_function_of_run_seed_epoch_and_step_and_not_of_what_came_before(mode, fanouts):
    used, fresh = (batches(batch=mode, batch_size=20, fanouts=fanouts) for _ in range(2))
    for epoch in range(3):
        for step in range(used.steps_per_epoch):
            blocks_of(used, used.seeds(epoch, step), epoch, step)
    for epoch, step in ((2, 1), (0, 0)):
        seeds = used.seeds(epoch, step)
        assert_array_equal(fresh.seeds(epoch, step), seeds)
        of_both = (blocks_of(x, seeds, epoch, step) for x in (used, fresh))
        for a, b in zip(*of_both, strict=True):
            assert_array_equal(a.src_ids, b.src_ids)
            assert_array_equal(a.indptr, b.indptr)
            assert_array_equal(a.indices, b.indices)


def test_other_neighbours_are_drawn_at_each_step_and_in_each_epoch():
    b = batches(fanouts=(2, 2), batch_size=1000)
    seeds = np.arange(VIEW.num_nodes)
    drawn = {blocks_of(b, seeds, epoch, step)[-1].indices.tobytes() for epoch, step in
             [(0, 0), (0, 1), (1, 0)]}  # fmt: skip
    assert len(drawn) == 3


@MODES
def test_the_blocks_lead_to_the_seeds_over_all_neighbours_within_training_nodes(mode):
    b = batches(batch=mode, batch_size=20)
    seeds = b.seeds(0, 1)
    blocks = blocks_of(b, seeds, 0, 1)
    assert len(blocks) == 2
    assert_array_equal(blocks[-1].src_ids[: blocks[-1].num_dst], seeds)
    for block in blocks:
        for row in range(block.num_dst):
            node = block.src_ids[row]
            sources = block.src_ids[block.indices[block.indptr[row] : block.indptr[row + 1]]]
            graph = VIEW.graph
            neighbours = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            assert_array_equal(np.sort(sources), neighbours)


@MODES
def test_a_network_without_layers_needs_no_blocks(mode):
    b = batches(layers=0, batch=mode)
    assert blocks_of(b, b.seeds(0, 0), 0, 0) == []


def test_whole_graphs_with_an_edge_between_them_are_refused_by_name():
    view, _ = small_dataset(graph_id=np.arange(NODES)).view(TRAIN)
    refusal = r"^small.npz: the edge (\d+) - (\d+) leads from graph \1 to graph \2; use"
    with pytest.raises(DataError, match=refusal):
        batches(view=view, batch="graphs")
    assert batches(view=view, batch="seeds").steps_per_epoch == 5


def test_without_graph_ids_whole_graphs_are_components_of_what_training_sees():
    """A node that is no training node must not decide which training nodes share a step."""
    whole = small_dataset()
    src, dst = whole.graph.edges()
    outside = int(np.flatnonzero(whole.split != TRAIN)[0])
    inside = whole.nodes(TRAIN)[[0, -1]]  # two training graphs, tied together by a node outside
    tied = CSRGraph.from_edges(
        np.concatenate([src, inside]), np.append(dst, [outside] * 2), NODES, duplicates="merge"
    )
    views = [
        replace(whole, graph=graph.undirected(), graph_ids=None).view(TRAIN)[0]
        for graph in (whole.graph, tied)
    ]
    untied, tied_view = (
        epoch_of(batches(view=view, batch="graphs", batch_size=1), 0) for view in views
    )
    for a, b in zip(untied, tied_view, strict=True):
        assert_array_equal(a, b)


def test_edges_are_left_out_anew_for_each_step_and_layer():
    b = batches(batch="graphs", batch_size=20, fanouts=(-1, -1), edge_dropout=0.5)
    full = batches(batch="graphs", batch_size=20, fanouts=(-1, -1))
    seeds = b.seeds(0, 0)
    first, second = blocks_of(b, seeds, 0, 0)
    again, _ = blocks_of(b, seeds, 1, 0)
    assert first.num_dst == second.num_src == len(seeds)
    assert 0 < first.num_edges < blocks_of(full, seeds, 0, 0)[0].num_edges
    pairs = [
        set(zip(np.repeat(np.arange(x.num_dst), np.diff(x.indptr)), x.indices, strict=True))
        for x in (first, second, again)
    ]
    assert pairs[0] != pairs[1] != pairs[2] != pairs[0]
    assert_array_equal(blocks_of(b, seeds, 0, 0)[0].indices, first.indices)


@MODES
def test_a_batch_of_size_0_is_all_training_nodes_in_the_order_of_a_large_one(mode):
    view = replace(VIEW, graph_ids=None)  # as many components as there are lonely nodes and more
    assert len(epoch_of(batches(view=view, batch="graphs", batch_size=1), 0)) > 5
    (whole,) = epoch_of(batches(view=view, batch=mode, batch_size=0), 3)
    (large,) = epoch_of(batches(view=view, batch=mode, batch_size=10**6), 3)
    assert_array_equal(whole, large)
    assert_array_equal(np.sort(whole), view.nodes(TRAIN))


def test_the_recipe_for_small_graphs_takes_the_whole_graph_in_a_step():
    view = replace(VIEW, graph_ids=None)
    recipe = {"eval_fanouts": (-1,)} | read_config("small-graph")
    b = batches(view=view, **{name: recipe[name] for name in ("batch", "batch_size")})
    assert b.steps_per_epoch == 1
    for block in blocks_of(b, b.seeds(0, 0), 0, 0):
        assert (block.num_dst, block.num_edges) == (view.num_nodes, view.graph.num_edges)
