"""Sums and rows of shares, beside plain loops: the same bits on any number of ranks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from ranks import Place, on_ranks, results

from gaancore.parallel import ALONE, Shares

SIZES = st.integers(1, 5)


@given(count=st.integers(1, 12), ranks=SIZES, rows=st.integers(0, 40))
def test_shares_cut_rows_in_runs_that_all_have_in_order(count, ranks, rows):
    found = results(on_ranks(ranks, lambda team: Shares(count, team)))
    assert [share for shares in found for share in shares.own] == list(range(count))
    cut = [part for shares in found for part in shares.cut(rows)]
    assert [cut[0].start, cut[-1].stop] == [0, rows]
    assert all(a.stop == b.start for a, b in pairwise(cut))
    sizes = [part.stop - part.start for part in cut]
    assert max(sizes) - min(sizes) <= 1
    assert cut == Shares(count, ALONE).cut(rows)  # whoever has them
    runs = [shares.run(rows) for shares in found]
    assert [i for run in runs for i in range(rows)[run]] == list(range(rows))


@given(
    count=st.integers(1, 9),
    ranks=SIZES,
    columns=st.integers(1, 30),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 99),
)
def test_rows_are_added_in_their_order_whoever_has_them(count, ranks, columns, dtype, seed):
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((count, columns)) * 10.0 ** rng.integers(-6, 6, (count, 1))).astype(
        dtype
    )
    expected = []
    for column in range(columns):
        total = rows[0, column]
        for share in range(1, count):
            total = dtype(total + rows[share, column])
        expected.append(total)
    sums = results(on_ranks(ranks, lambda team: added(team, rows)))
    for found in sums:
        assert found.dtype == dtype
        assert_array_equal(found, np.array(expected, dtype))


def added(team, rows):
    shares = Shares(len(rows), team)
    return shares.add(rows[shares.own.start : shares.own.stop])


def test_a_sum_leaves_the_rows_as_they_are():
    rows = np.ones((3, 2))
    Shares(3).add(rows)
    assert (rows == 1).all()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_rows_come_together_in_the_order_of_shares(ranks):
    rows = np.arange(10.0).reshape(5, 2)

    def together(team):
        shares = Shares(4, team)
        return shares.rows(rows[shares.run(5)])

    for found in results(on_ranks(ranks, together)):
        assert_array_equal(found, rows)


def test_one_rank_talks_to_nobody():
    place = Place(1)

    def alone(team):
        with team.together():
            assert team.from_first(lambda: (1, 2)) == (1, 2)
            assert not team.any(False)
            return added(team, np.ones((2, 2)))

    assert_array_equal(results(on_ranks(1, alone, place))[0], [2, 2])
    assert place.calls == []
