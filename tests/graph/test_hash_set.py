import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaancore.graph.hash_set import empty_slots, find_slot, first_repeat, merge_ids

ids = st.integers(0, 40) | st.integers(0, 2**63 - 1)


@given(st.lists(ids, unique=True), st.lists(ids), st.integers(0, 50))
def test_ids_are_numbered_in_the_order_in_which_a_dict_meets_them(first, others, spare):
    expected = list(dict.fromkeys(first + others))
    most = len(expected) + spare
    merged, positions = merge_ids(np.array(first, np.int64), np.array(others, np.int64), most)
    assert merged.tolist() == expected
    assert positions.tolist() == [expected.index(other) for other in others]


@given(st.lists(ids))
def test_the_first_repeat_is_the_first_id_seen_before(values):
    expected = next((n for n, value in enumerate(values) if value in values[:n]), -1)
    assert first_repeat(np.array(values, np.int64)) == expected


@pytest.mark.parametrize("stride", [1, 3, 41, 2**16, 2**20, 3 * 2**29, 2**31, 2**32, 2**40])
def test_regular_ids_do_not_crowd_together(stride):
    keys = np.arange(1, 1001, dtype=np.int64) * stride
    slots = empty_slots(len(keys))
    moved = 0
    for position in range(len(keys)):
        home = find_slot(np.full_like(slots, -1), keys, keys[position])
        slot = find_slot(slots, keys, keys[position])
        slots[slot] = position
        moved += (slot - home) % len(slots)
    assert moved < len(keys)  # random homes in a table half full: 0.5 per key


@pytest.mark.parametrize("capacity", [0, 1, 4, 5, 1000, 1024])
def test_a_table_is_at_most_half_full_and_not_much_larger(capacity):
    assert 2 * capacity <= len(empty_slots(capacity)) <= max(8, 4 * capacity)


def test_a_table_that_is_as_full_as_can_be_forgets_no_id():
    many = np.random.default_rng(0).permutation(4096) * 10**15
    merged, positions = merge_ids(np.zeros(0, np.int64), np.concatenate([many, many]), 4096)
    np.testing.assert_array_equal(merged, many)
    np.testing.assert_array_equal(positions, np.tile(np.arange(4096), 2))


def test_32_bit_and_64_bit_neighbours_are_merged_alike():
    first = np.array([5, 3], np.int64)
    for dtype in (np.int32, np.int64):
        merged, positions = merge_ids(first, np.array([7, 3, 7, 0], dtype), 10)
        assert merged.tolist() == [5, 3, 7, 0]
        assert positions.tolist() == [2, 1, 2, 3]
