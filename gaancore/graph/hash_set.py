"""A set of node ids that remembers the order in which they came: open addressing, linear probing.

A table `slots` holds positions in an array `ids`, or -1 where it is free. It has at least twice as
many slots as ids, always a power of two, so memory follows the ids that are met and not the size
of the graph. Positions of merged ids are int32, which keeps the table of a large batch in the
processor's cache; a block has fewer than 2^31 sources. Keys are never negative.
"""

import numpy as np

from gaancore.system.jit import jit

MULTIPLIER = 0x5851F42D  # odd and below 2^31: its product with 32 bits of a key fits in int64


@jit
def table_size(least: int) -> int:
    """The number of slots of a table: a power of two, at least 8 and `least`."""
    size = 8
    while size < least:
        size *= 2
    return size


@jit
def hash_of(key: int) -> np.int64:
    """Where to begin to look for `key`, so that regular ids spread."""
    wide = np.int64(key)
    product = ((wide ^ (wide >> 32)) & 0xFFFFFFFF) * MULTIPLIER
    return product ^ (product >> 16) ^ (product >> 32)


@jit
def find_slot(
    slots: np.ndarray, ids: np.ndarray, key: int, begin: np.int64, oldest: np.int64
) -> np.int64:
    """The slot that leads to `key`, or else the free slot where it belongs.

    begin : any number that is always the same for a key, and differs between most keys.
    oldest : slots with a position below it count as free; 0, unless positions only grow and a
             table is used again without being cleared.
    """
    mask = len(slots) - 1
    slot = begin & mask
    while slots[slot] >= oldest and ids[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@jit
def first_repeat(ids: np.ndarray) -> int:
    """Position of the first id that an earlier position holds too; -1 if all are distinct."""
    slots = np.full(table_size(2 * len(ids)), -1, np.int32)
    for position in range(len(ids)):
        slot = find_slot(slots, ids, ids[position], hash_of(ids[position]), 0)
        if slots[slot] >= 0:
            return position
        slots[slot] = position
    return -1


@jit
def merge_ids(first: np.ndarray, others: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Number `first`, then each new id among `others`, in the order met.

    first  : (n,) int64, distinct.
    others : (E,) int32 or int64, repeats welcome.
    most   : how many distinct ids there can be, such as the nodes of the graph.
    Returns ids (m,) int64, which begins with `first`, and positions (E,) int32 with
    ids[positions[e]] == others[e].
    """
    ids = np.empty(min(len(first) + len(others), most), np.int64)
    slots = np.full(table_size(2 * len(ids)), -1, np.int32)
    for count in range(len(first)):
        slots[find_slot(slots, first, first[count], hash_of(first[count]), 0)] = count
        ids[count] = first[count]
    count = len(first)
    positions = np.empty(len(others), np.int32)
    for e in range(len(others)):
        slot = find_slot(slots, ids, others[e], hash_of(others[e]), 0)
        if slots[slot] < 0:
            slots[slot] = count
            ids[count] = others[e]
            count += 1
        positions[e] = slots[slot]
    return ids[:count].copy(), positions
