"""Are all subsets equally likely, and draws independent? Chi-square over whole outcomes."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from gaancore.graph import Block, CSRGraph, sample_blocks
from gaancore.graph.sampler import _below


def complete_rows(num_rows: int, degree: int) -> CSRGraph:
    """Every one of `num_rows` nodes has the same `degree` neighbours, 0 .. degree - 1."""
    num_nodes = max(num_rows, degree)
    indptr = np.minimum(np.arange(num_nodes + 1), num_rows) * degree
    return CSRGraph(indptr, np.tile(np.arange(degree), num_rows))


def subsets(block: Block, rows: range) -> list[tuple[int, ...]]:
    """The neighbours drawn for each of the given rows, in ascending order."""
    drawn = block.src_ids[block.indices]
    return [tuple(sorted(drawn[block.indptr[row] : block.indptr[row + 1]])) for row in rows]


def p_value(outcomes: list, possible: list) -> float:
    """Of the hypothesis that each possible outcome is equally likely."""
    number = {outcome: n for n, outcome in enumerate(possible)}
    observed = np.bincount([number[outcome] for outcome in outcomes], minlength=len(possible))
    return stats.chisquare(observed).pvalue


@pytest.mark.parametrize(("degree", "fanout"), [(4, 2), (5, 4), (7, 3), (2, 1), (9, 8), (8, 4)])
def test_all_subsets_are_equally_likely_over_the_rows_of_one_batch(degree, fanout):
    graph = complete_rows(4000, degree)
    (block,) = sample_blocks(graph, np.arange(4000), [fanout], seed=1)
    outcomes = subsets(block, range(4000))
    assert p_value(outcomes, list(combinations(range(degree), fanout))) > 1e-3


def test_every_position_of_a_long_row_is_drawn_equally_often():
    graph = complete_rows(1000, 40)
    (block,) = sample_blocks(graph, np.arange(1000), [10], seed=2)
    observed = np.bincount(block.src_ids[block.indices], minlength=40)
    # Ten of forty without replacement: the counts vary by 3/4 of what independent draws would.
    statistic = np.sum((observed - 250.0) ** 2) / (250.0 * 0.75) * 39 / 40
    assert stats.chi2.sf(statistic, 39) > 1e-3


@pytest.mark.parametrize(("degree", "fanout"), [(16, 15), (26, 25), (11, 10), (17, 15)])
def test_all_subsets_just_smaller_than_a_row_are_equally_likely(degree, fanout):
    graph = complete_rows(8000, degree)
    (block,) = sample_blocks(graph, np.arange(8000), [fanout], seed=5)
    everything = set(range(degree))
    left_out = [tuple(sorted(everything - set(s))) for s in subsets(block, range(8000))]
    assert p_value(left_out, list(combinations(range(degree), degree - fanout))) > 1e-3


def test_all_pairs_of_a_hubs_quarters_are_equally_likely():
    """A hub of 20,000 neighbours: which quarter of them the first of two draws falls into."""
    graph = complete_rows(1, 20_000)
    drawn = np.array(
        [sample_blocks(graph, [0], [2], seed=seed)[0].src_ids[1:] for seed in range(6400)]
    )
    assert (drawn[:, 0] != drawn[:, 1]).all()
    quarters = [tuple(row) for row in drawn // 5000]
    assert p_value(quarters, [(a, b) for a in range(4) for b in range(4)]) > 1e-3


def test_every_neighbour_of_a_hub_is_drawn_equally_often_with_a_wide_fanout():
    graph = complete_rows(4000, 1000)
    (block,) = sample_blocks(graph, np.arange(4000), [200], seed=8)
    observed = np.bincount(block.src_ids[block.indices], minlength=1000)[:1000]
    # 200 of 1000 without replacement: the counts vary by 4/5 of what independent draws would.
    statistic = np.sum((observed - 800.0) ** 2) / (800.0 * 0.8) * 999 / 1000
    assert 1e-3 < stats.chi2.sf(statistic, 999) < 1 - 1e-3


def test_numbers_below_a_bound_that_does_not_divide_2_to_the_32_are_equally_likely():
    """Three quarters of 2^32: the high half of the product alone would favour multiples of 3."""
    bound = 3 * 2**30
    words = np.random.default_rng(0).integers(2**32, size=9000, dtype=np.uint64)
    numbers = [_below(bound, word, np.uint64(7), t, 0, 0) for t, word in enumerate(words)]
    assert 0 <= min(numbers) <= max(numbers) < bound
    assert p_value([number % 3 for number in numbers], [0, 1, 2]) > 1e-3


@pytest.fixture(scope="module")
def two_steps() -> list[list[tuple[int, ...]]]:
    """For each of 3600 run seeds: what nodes 0 and 1 drew in the first step and in the second."""
    graph = complete_rows(2, 4)
    results = []
    for seed in range(3600):
        outer, inner = sample_blocks(graph, [0, 1], [2, 2], seed=seed)
        results.append(subsets(inner, range(2)) + subsets(outer, range(2)))
    return results


@pytest.mark.parametrize("draw", range(4))
def test_all_subsets_are_equally_likely_over_run_seeds(two_steps, draw):
    outcomes = [result[draw] for result in two_steps]
    assert p_value(outcomes, list(combinations(range(4), 2))) > 1e-3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(0, 1, id="two nodes in a step"),
        pytest.param(0, 2, id="a node in two steps"),
        pytest.param(1, 2, id="two nodes in two steps"),
    ],
)
def test_two_draws_are_independent(two_steps, one, other):
    pairs = list(combinations(range(4), 2))
    outcomes = [(result[one], result[other]) for result in two_steps]
    assert p_value(outcomes, [(a, b) for a in pairs for b in pairs]) > 1e-3


def test_consecutive_run_seeds_draw_independently(two_steps):
    pairs = list(combinations(range(4), 2))
    outcomes = [
        (before[0], after[0])
        for before, after in zip(two_steps[0::2], two_steps[1::2], strict=True)
    ]
    assert p_value(outcomes, [(a, b) for a in pairs for b in pairs]) > 1e-3


def test_parallel_edges_are_drawn_as_separate_edges():
    graph = CSRGraph([0, *[3] * 3], [1, 1, 2])
    outcomes = [
        int(sample_blocks(graph, [0], [1], seed=seed)[0].src_ids[1]) for seed in range(1500)
    ]
    observed = np.bincount(outcomes, minlength=3)
    assert stats.chisquare(observed[1:], [1000, 500]).pvalue > 1e-3
