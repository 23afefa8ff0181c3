"""Which part a node goes to: near its neighbours, in parts of equal size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gaancore.data.parts import assign
from gaancore.data.parts.assign import PASSES, assign_parts, crossing_arcs
from gaancore.graph import CSRGraph


def random_graph(nodes: int, edges: int, seed: int) -> CSRGraph:
    src, dst = np.random.default_rng(seed).integers(nodes, size=(2, edges))
    return CSRGraph.from_edges(src, dst, nodes, duplicates="merge").undirected()


def by_hand(graph: CSRGraph, count: int) -> list[int]:
    neighbours = [
        [j for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist() if j != i]
        for i in range(graph.num_nodes)
    ]
    capacity = -(-graph.num_nodes // count)
    part_of: dict[int, int] = {}
    for _ in range(PASSES):
        sizes = [0] * count
        for node, around in enumerate(neighbours):
            scores = {
                part: sum(part_of.get(j) == part for j in around) * (1 - sizes[part] / capacity)
                for part in range(count)
                if sizes[part] < capacity
            }
            best = max(scores, key=lambda part: (scores[part], -sizes[part], -part))
            part_of[node] = best
            sizes[best] += 1
    return [part_of[node] for node in range(graph.num_nodes)]


@given(
    nodes=st.integers(1, 25),
    edges=st.integers(0, 60),
    count=st.integers(2, 6),
    seed=st.integers(0, 99),
)
def test_parts_are_those_of_a_plain_loop(nodes, edges, count, seed):
    graph = random_graph(nodes, edges, seed)
    assert_array_equal(assign_parts(graph, count), by_hand(graph, count))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_no_part_has_more_than_its_share_of_the_nodes(count):
    part_of = assign_parts(random_graph(100, 300, 0), count)
    sizes = np.bincount(part_of, minlength=count)
    assert sizes.size == count
    assert sizes.max() <= -(-100 // count)


def test_groups_that_hang_together_become_parts():
    """Four groups of 50, whose nodes have 8 neighbours inside and 1 elsewhere, mixed by id."""
    rng = np.random.default_rng(1)
    group = rng.permutation(np.repeat(np.arange(4), 50))
    src, dst = rng.integers(200, size=(2, 4000))
    kept = (group[src] == group[dst]) | (rng.random(4000) < 0.04)
    graph = CSRGraph.from_edges(src[kept], dst[kept], 200, duplicates="merge").undirected()
    crossing = crossing_arcs(graph, group)
    found = crossing_arcs(graph, assign_parts(graph, 4))
    assert crossing < 0.15 * graph.num_edges
    assert found < 1.25 * crossing


def test_arcs_between_parts_are_counted():
    graph = CSRGraph.from_edges([0, 1, 2, 2], [1, 2, 3, 2], 4, duplicates="merge").undirected()
    assert crossing_arcs(graph, np.array([0, 0, 1, 1])) == 2  # 1 - 2 and 2 - 1
    assert crossing_arcs(graph, np.zeros(4)) == 0


def test_rows_that_are_read_a_few_at_a_time_change_nothing(monkeypatch):
    graph = random_graph(60, 200, 3)
    whole = assign_parts(graph, 3)
    monkeypatch.setattr(assign, "ENTRIES_AT_A_TIME", 7)
    told = []
    assert_array_equal(assign_parts(graph, 3, progress=told.append), whole)
    assert told == sorted(told)
    assert told[-1] == 1
