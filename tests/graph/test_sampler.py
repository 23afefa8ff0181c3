import multiprocessing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs
from strategies import seeds as run_seeds

from gaancore.errors import GraphError
from gaancore.graph import Block, CSRGraph, drop_edges, sample_blocks
from gaancore.system.threads import get_num_threads, set_num_threads

fanout_lists = st.lists(st.integers(-1, 5) | st.just(2**31), min_size=1, max_size=3)


@st.composite
def graphs_with_seeds(draw):
    graph = draw(graphs())
    nodes = draw(st.permutations(range(graph.num_nodes)))
    return graph, nodes[: draw(st.integers(0, graph.num_nodes))]


def row_of(graph: CSRGraph, node: int) -> list[int]:
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist()


def drawn_for(block: Block, row: int) -> list[int]:
    return block.src_ids[block.indices[block.indptr[row] : block.indptr[row + 1]]].tolist()


def random_graph(num_nodes: int, num_edges: int) -> CSRGraph:
    rng = np.random.default_rng(0)
    src, dst = rng.integers(num_nodes, size=(2, num_edges))
    return CSRGraph.from_edges(src, dst, num_nodes, duplicates="merge")


def assert_same_blocks(ours: list[Block], theirs: list[Block]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.indptr, b.indptr)
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.src_ids, b.src_ids)


@given(graphs_with_seeds(), fanout_lists, run_seeds(), st.booleans())
def test_blocks_chain_from_the_seeds_outwards(graph_and_nodes, fanouts, seed, merge):
    graph, nodes = graph_and_nodes
    blocks = sample_blocks(graph, nodes, fanouts, seed=seed, merge=merge)
    assert len(blocks) == len(fanouts)
    assert blocks[-1].src_ids[: blocks[-1].num_dst].tolist() == list(nodes)
    for outer, inner in pairwise(blocks):
        np.testing.assert_array_equal(outer.src_ids[: outer.num_dst], inner.src_ids)


@given(graphs_with_seeds(), fanout_lists, run_seeds(), st.booleans())
def test_every_row_is_a_subset_of_its_nodes_edges_of_the_right_size(
    graph_and_nodes, fanouts, seed, merge
):
    graph, nodes = graph_and_nodes
    blocks = sample_blocks(graph, nodes, fanouts, seed=seed, merge=merge)
    for block, fanout in zip(reversed(blocks), fanouts, strict=True):
        for row in range(block.num_dst):
            edges = row_of(graph, block.src_ids[row])
            drawn = drawn_for(block, row)
            assert len(drawn) == (len(edges) if fanout == -1 else min(len(edges), fanout))
            for neighbour in drawn:
                edges.remove(neighbour)  # fails for an edge that is not there, or drawn twice


@given(graphs_with_seeds(), fanout_lists, run_seeds())
def test_merged_sources_are_distinct_and_new_ones_come_in_the_order_met(
    graph_and_nodes, fanouts, seed
):
    graph, nodes = graph_and_nodes
    for block in sample_blocks(graph, nodes, fanouts, seed=seed):
        met = block.src_ids[: block.num_dst].tolist()
        for row in range(block.num_dst):
            met += drawn_for(block, row)
        assert block.src_ids.tolist() == list(dict.fromkeys(met))


@given(graphs_with_seeds(), fanout_lists, run_seeds())
def test_without_merging_every_draw_is_a_source_of_its_own(graph_and_nodes, fanouts, seed):
    graph, nodes = graph_and_nodes
    for block in sample_blocks(graph, nodes, fanouts, seed=seed, merge=False):
        assert block.num_src == block.num_dst + block.num_edges
        assert block.indices.tolist() == list(range(block.num_dst, block.num_src))


@given(graphs_with_seeds(), run_seeds())
def test_all_neighbours_is_the_block_of_whole_neighbourhoods(graph_and_nodes, seed):
    graph, nodes = graph_and_nodes
    expected = [graph.block_of(nodes)]
    for fanout in (-1, 2**31, 10**30, max([0, *graph.degrees])):
        assert_same_blocks(sample_blocks(graph, nodes, [fanout], seed=seed), expected)


def test_three_hops_along_a_path_find_its_nodes_from_the_seed_backwards():
    graph = CSRGraph.from_edges([1, 2, 3, 4], [2, 3, 4, 5], 6, duplicates="merge")
    blocks = sample_blocks(graph, [5], [25, 10, 10], seed=0)
    assert [block.src_ids.tolist() for block in blocks] == [[5, 4, 3, 2], [5, 4, 3], [5, 4]]
    assert [block.indices.tolist() for block in blocks] == [[1, 2, 3], [1, 2], [1]]


def test_the_first_fanout_is_the_one_nearest_the_seeds():
    graph = random_graph(50, 2000)
    outer, inner = sample_blocks(graph, [7], [3, 2], seed=0)
    assert inner.num_edges == 3
    assert outer.num_edges == 2 * inner.num_src


def test_sizes_without_merging_are_those_of_the_papers_table_one():
    dst = np.repeat(np.arange(64), 64)
    graph = CSRGraph.from_edges(np.tile(np.arange(64), 64), dst, 64, duplicates="merge")
    outer, inner = sample_blocks(graph, np.arange(2), [15, 15], seed=0, merge=False)
    assert (inner.num_src, outer.num_src) == (2 * 16, 2 * 16 * 16)


def test_a_fanout_of_zero_keeps_the_seeds_alone():
    (block,) = sample_blocks(random_graph(10, 40), [3, 1], [0], seed=0)
    assert block.src_ids.tolist() == [3, 1]
    assert block.num_edges == 0


def test_nodes_without_neighbours_are_kept_as_empty_rows():
    graph = CSRGraph.from_edges([], [], 5, duplicates="merge")
    for block in sample_blocks(graph, [1, 2], [3, -1], seed=0):
        assert block.src_ids.tolist() == [1, 2]
        assert block.indptr.tolist() == [0, 0, 0]


def test_no_seeds_give_blocks_without_rows():
    for block in sample_blocks(random_graph(10, 40), [], [3, 2], seed=0):
        assert (block.num_dst, block.num_src, block.num_edges) == (0, 0, 0)


def test_a_mask_asks_for_each_of_its_nodes_once():
    graph = random_graph(20, 100)
    mask = np.zeros(20, bool)
    mask[[3, 8, 19]] = True
    by_mask = sample_blocks(graph, mask, [4], seed=5)
    assert_same_blocks(by_mask, sample_blocks(graph, [3, 8, 19], [4], seed=5))
    with pytest.raises(GraphError, match=r"a mask must have shape \(20,\), got \(19,\)"):
        sample_blocks(graph, mask[1:], [4], seed=5)


def test_a_hub_gives_as_many_neighbours_as_asked_up_to_all_but_one():
    graph = CSRGraph.from_edges(np.arange(3000), np.zeros(3000, int), 3000, duplicates="merge")
    for fanout in (1, 1500, 2999):
        (block,) = sample_blocks(graph, [0], [fanout], seed=1)
        assert len(set(drawn_for(block, 0))) == block.num_edges == fanout


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([3, 102012], r"seeds\[0\]: node 3 is not in the graph, expected ids 0 to 2"),
        ([0, -1], r"seeds\[1\]: node -1 is not in the graph"),
        ([0.5], "seeds: expected integers, got dtype float64"),
        ([[0]], r"seeds: expected one dimension, got shape \(1, 1\)"),
    ],
)
def test_bad_seeds_are_refused_before_compiled_code_sees_them(nodes, message):
    graph = CSRGraph.from_edges([0], [1], 3, duplicates="merge")
    with pytest.raises(GraphError, match=message):
        sample_blocks(graph, nodes, [2], seed=0)


@pytest.mark.parametrize(
    ("fanouts", "message"),
    [
        ([5, -2], r"fanouts\[1\]: expected -1 or more, got -2"),
        ([2.5], r"fanouts\[0\]: expected an integer, got 2.5"),
        ([], "expected one fan-out per layer, got none"),
        (5, r"expected a list such as \[25, 10\], got 5"),
    ],
)
def test_bad_fanouts_are_refused(fanouts, message):
    with pytest.raises(GraphError, match=message):
        sample_blocks(random_graph(5, 10), [0], fanouts, seed=0)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, None])
def test_a_seed_that_is_no_64_bit_number_is_refused(seed):
    with pytest.raises(GraphError, match="sample_blocks: seed"):
        sample_blocks(random_graph(5, 10), [0], [1], seed=seed)


def test_seeds_that_repeat_are_refused_because_their_rows_would_not_be_those_of_the_seeds():
    message = r"sample_blocks: seeds: 2 of 5 repeat a node; name each once, or use merge=False"
    with pytest.raises(GraphError, match=message):
        sample_blocks(random_graph(20, 100), [7, 2, 7, 5, 2], [3, 2], seed=4)


def test_seeds_may_repeat_when_nothing_is_merged():
    (block,) = sample_blocks(random_graph(5, 20), [2, 2], [1], seed=0, merge=False)
    assert block.src_ids[:2].tolist() == [2, 2]


def test_the_caller_keeps_the_right_to_change_the_seeds():
    nodes = np.array([1, 2])
    (block,) = sample_blocks(random_graph(5, 20), nodes, [1], seed=0)
    nodes[0] = 4
    assert block.src_ids[0] == 1


def test_a_fanout_of_a_million_takes_the_rows_there_are_and_no_more_memory_than_they_need():
    graph = random_graph(300, 6000)
    million = sample_blocks(graph, np.arange(5), [10**6, 10**6], seed=0)
    assert_same_blocks(million, sample_blocks(graph, np.arange(5), [-1, -1], seed=0))


def test_a_million_of_a_hub_with_a_few_more_are_distinct():
    degree, fanout = 1_000_003, 10**6
    indptr = np.full(degree + 1, degree)
    indptr[0] = 0
    hub = CSRGraph(indptr, np.arange(degree, dtype=np.int32))
    (block,) = sample_blocks(hub, [0], [fanout], seed=3)
    assert block.num_edges == fanout
    assert np.unique(block.src_ids[block.indices]).size == fanout


def test_a_row_too_long_for_32_random_bits_is_refused_unless_it_is_taken_whole():
    graph = object.__new__(CSRGraph)
    graph.indptr = np.array([0, 2**32, 2**32])
    graph.indices = np.broadcast_to(np.int32(1), 2**32)  # no memory behind it
    with pytest.raises(GraphError, match="a node has 4294967296 neighbours, more than 2"):
        sample_blocks(graph, [0], [5], seed=0)
    (block,) = sample_blocks(graph, [1], [5], seed=0)
    assert block.num_edges == 0


@pytest.fixture
def restore_threads():
    before = get_num_threads()
    yield
    set_num_threads(before)


@pytest.mark.usefixtures("restore_threads")
def test_any_number_of_threads_draws_the_same_bits():
    graph = random_graph(5000, 50_000)
    results = []
    for threads in (1, 2, 4, 8):
        set_num_threads(threads)
        results.append(sample_blocks(graph, np.arange(5000), [3, 2], seed=11))
    for result in results[1:]:
        assert_same_blocks(result, results[0])


def test_the_same_seed_draws_the_same_blocks_and_another_seed_draws_others():
    graph = random_graph(100, 2000)
    one, again, other = (sample_blocks(graph, [1, 2], [5, 5], seed=s) for s in (3, 3, 4))
    assert_same_blocks(one, again)
    assert one[0].src_ids.tolist() != other[0].src_ids.tolist()


def test_all_64_bits_of_the_seed_count():
    graph = random_graph(200, 8000)
    drawn = {
        tuple(sample_blocks(graph, [0], [10], seed=seed)[0].src_ids)
        for seed in (0, 1, 2**31, 2**32, 2**63, 2**64 - 1)
    }
    assert len(drawn) == 6


def test_numpys_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    sample_blocks(random_graph(100, 2000), [1, 2], [5, 5], seed=3)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def sample_in_child(queue, graph):
    set_num_threads(2)
    queue.put(sample_blocks(graph, np.arange(4000), [2], seed=7)[0].src_ids)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("restore_threads")
def test_a_forked_child_samples_as_its_parent_does():
    set_num_threads(2)
    graph = random_graph(4000, 20_000)
    expected = sample_blocks(graph, np.arange(4000), [2], seed=7)[0].src_ids
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=sample_in_child, args=(queue, graph))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), expected)
    child.join(timeout=60)
    assert child.exitcode == 0


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * 4096


def test_memory_stays_flat_over_two_hundred_epochs():
    try:
        resident_bytes()
    except OSError:
        pytest.skip("needs /proc")
    graph = random_graph(400, 4000)

    def epoch(number: int) -> None:
        for start in range(0, 400, 200):
            nodes = np.arange(start, start + 200)
            sample_blocks(graph, nodes, [3, 2], seed=number)[0].transpose  # noqa: B018

    for number in range(20):
        epoch(number)
    before = resident_bytes()
    for number in range(200):
        epoch(number)
    assert resident_bytes() - before < 4 * 2**20


def test_offsets_beyond_31_bits_reach_the_right_edges(tmp_path):
    far = 2**31 + 6
    indices = np.memmap(tmp_path / "indices", np.int32, "w+", shape=(far + 4,))  # a sparse file
    indices[far:] = [1, 3, 4, 5]
    indices.flags.writeable = False
    graph = object.__new__(CSRGraph)  # checking two thousand million zeros would take too long
    graph.indptr = np.array([0, 0, 0, far, far + 4, far + 4, far + 4])
    graph.indices = np.asarray(indices)
    graph.indptr.flags.writeable = False
    (block,) = sample_blocks(graph, [3, 5], [3], seed=0)
    assert set(drawn_for(block, 0)) < {1, 3, 4, 5}
    assert len(drawn_for(block, 0)) == 3
    assert drawn_for(graph.block_of([3]), 0) == [1, 3, 4, 5]


def test_dropping_edges_keeps_nodes_and_order_and_leaves_out_the_share_asked_for():
    rng = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 1000))])
    block = Block(indptr, rng.integers(0, 1200, indptr[-1]), 1200)
    thinner = drop_edges(block, 0.4, seed=7)
    assert (thinner.num_dst, thinner.num_src) == (1000, 1200)
    assert thinner.src_ids is block.src_ids
    expected = 0.6 * block.num_edges
    assert abs(thinner.num_edges - expected) < 5 * np.sqrt(0.24 * block.num_edges)
    for i in range(1000):  # what is left of a row is a subsequence of it
        left = iter(block.indices[indptr[i] : indptr[i + 1]])
        row = thinner.indices[thinner.indptr[i] : thinner.indptr[i + 1]]
        assert all(source in left for source in row)


def test_each_edge_is_dropped_equally_often_and_by_its_seed_alone():
    block = Block([0, 0, 5], np.arange(5), 5)
    counts = sum(
        np.bincount(drop_edges(block, 0.3, seed=s).indices, minlength=5) for s in range(4000)
    )
    assert np.abs(counts - 2800).max() < 5 * np.sqrt(4000 * 0.21)
    again = drop_edges(block, 0.3, seed=1)
    assert np.array_equal(drop_edges(block, 0.3, seed=1).indices, again.indices)
    assert again.indptr[1] == 0  # the empty row stays


def test_no_edge_is_dropped_at_rate_0_and_rates_outside_of_0_to_1_are_refused():
    block = Block([0, 2], [0, 1], 2)
    assert drop_edges(block, 0, seed=0) is block
    for rate in (-0.1, 1.0, float("nan")):
        with pytest.raises(GraphError, match="drop_edges: rate: expected 0 <= rate < 1"):
            drop_edges(block, rate, seed=0)
