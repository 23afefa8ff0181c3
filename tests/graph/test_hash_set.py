import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaancore.graph.hash_set import find_slot, first_repeat, hash_of, merge_ids, table_size

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
    slots = np.full(table_size(2 * len(keys)), -1, np.int32)
    moved = 0
    for position in range(len(keys)):
        home = hash_of(keys[position]) % len(slots)
        slot = find_slot(slots, keys, keys[position], hash_of(keys[position]), 0)
        slots[slot] = position
        moved += (slot - home) % len(slots)
    assert moved < len(keys)  # random homes in a table half full: 0.5 per key


@pytest.mark.parametrize("least", [0, 1, 8, 9, 2000, 2048])
def test_a_table_has_a_power_of_two_of_slots_and_not_many_more_than_asked_for(least):
    size = table_size(least)
    assert size & (size - 1) == 0
    assert least <= size < max(9, 2 * least)


def test_positions_of_earlier_rows_count_as_free_in_a_table_that_is_used_again():
    ids = np.array([6, 14, 6, 3], np.int64)
    slots = np.full(8, -1, np.int64)
    for position in range(2):  # 6 and 14 both begin at slot 6
        slots[find_slot(slots, ids, ids[position], ids[position], 0)] = position
    assert slots.tolist() == [-1, -1, -1, -1, -1, -1, 0, 1]
    assert find_slot(slots, ids, 14, 14, 0) == 7
    assert find_slot(slots, ids, 14, 14, 2) == 6  # both are older than position 2
    slots[find_slot(slots, ids, 6, 6, 2)] = 2
    assert find_slot(slots, ids, 14, 14, 2) == 7
    assert slots[7] == 1


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
