"""Rows of other ranks: what comes back is what their owners have, in the order asked for."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from ranks import Place, on_ranks, results

from gaancore.errors import DataError
from gaancore.parallel import ask_lists, ask_rows


@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_rank_gets_what_every_other_has_for_it(size):
    def work(team):
        return team.trade([[f"{team.rank} to {r}", np.full(r, team.rank)] for r in range(size)])

    for rank, found in enumerate(results(on_ranks(size, work))):
        assert [word for word, _ in found] == [f"{other} to {rank}" for other in range(size)]
        for other, (_, array) in enumerate(found):
            assert_array_equal(array, np.full(rank, other))


def test_what_a_rank_has_for_itself_is_not_copied():
    def work(team):
        own = np.zeros(3)
        return team.trade([own, own])[team.rank] is own

    assert results(on_ranks(2, work)) == [True, True]


def table(rank: int) -> np.ndarray:
    return np.arange(20).reshape(10, 2) + 100 * rank


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_rows_come_in_the_order_they_are_asked_for(size, count):
    def work(team):
        rng = np.random.default_rng(team.rank)
        asked = count if team.rank < 2 else 0  # one rank asks for nothing
        owner, row = rng.integers(size, size=asked), rng.integers(10, size=asked)
        return owner, row, ask_rows(team, owner, [row], table(team.rank).__getitem__)

    for owner, row, found in results(on_ranks(size, work)):
        assert found.shape == (row.size, 2)
        for rank, number, values in zip(owner, row, found, strict=True):
            assert_array_equal(values, table(rank)[number])


def test_lists_come_with_their_order_and_owners_are_told_by_whom():
    """The owner answers a question n with n numbers: its rank and who asks."""

    def work(team):
        def answer(told, lengths):
            values = np.repeat(100 * team.rank + told[0], lengths.sum())
            return lengths, values, np.stack([values, -values], axis=1)

        rng = np.random.default_rng(team.rank)
        owner, lengths = rng.integers(3, size=15), rng.integers(4, size=15)
        who = np.array([team.rank])
        return owner, lengths, *ask_lists(team, owner, [lengths], answer, told=[who])

    for rank, (owner, lengths, counts, columns, order) in enumerate(results(on_ranks(3, work))):
        assert_array_equal(np.sort(order), np.arange(15))
        assert_array_equal(counts, lengths[order])
        expected = np.repeat(100 * owner[order] + rank, counts)
        assert_array_equal(columns[0], expected)
        assert_array_equal(columns[1], np.stack([expected, -expected], axis=1))


def test_an_error_before_an_exchange_is_raised_in_all_ranks():
    def work(team):
        with team.together():
            if team.rank == 1:
                raise DataError("nothing there")
            team.trade([0, 0])

    assert [str(error) for error in on_ranks(2, work)] == ["nothing there (rank 1)"] * 2


def test_an_exchange_sends_no_more_than_what_is_asked_and_answered():
    """Two rounds of a size and the bytes, however many ranks there are."""
    place = Place(3)

    def work(team):
        return ask_rows(team, np.array([0, 1, 2]), [np.zeros(3, int)], table(team.rank).__getitem__)

    results(on_ranks(3, work, place))
    assert place.calls == ["gather", "trade"] * 2
