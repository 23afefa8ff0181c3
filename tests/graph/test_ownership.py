"""Nobody can change later what a graph or block has checked; mapped arrays stay in their file."""

import mmap
from pathlib import Path

import numpy as np
import pytest

from gaancore.errors import GraphError
from gaancore.graph import ArcList, Block, CSRGraph
from gaancore.graph.checks import owned, read_only

LINKS = np.array([0, 1, 3]), np.array([1, 0, 1], np.int32)


def views() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """(read-only array, the array under it that stays writeable) of int32, in many ways."""
    memory = np.arange(3, dtype=np.int32)
    whole, part, deep = memory.copy(), memory.copy(), memory.copy()
    buffer, packed = bytearray(memory.tobytes()), memory.copy()
    over_buffer = np.frombuffer(buffer, np.int32)
    return {
        "a view": (read_only(whole[:]), whole),
        "a part": (read_only(part[1:]), part),
        "a view of a read-only view": (read_only(read_only(deep[:])[:]), deep),
        "another shape": (read_only(packed.reshape(3, 1)[:, 0]), packed),
        "a bytearray": (read_only(np.frombuffer(buffer, np.int32)), over_buffer),
        "a memoryview": (read_only(np.asarray(memoryview(whole))), whole),
    }


@pytest.mark.parametrize("name", views())
def test_a_read_only_view_of_what_can_be_written_is_copied(name):
    array, below = views()[name]
    kept = owned(array, np.int32)
    wanted = kept.copy()
    below[:] = 10**6
    assert (array == 10**6).all()  # the view did change
    np.testing.assert_array_equal(kept, wanted)
    assert not kept.flags.writeable


def test_a_block_and_a_graph_stay_what_was_checked_when_the_array_below_changes():
    for make in (lambda i, j: Block(i, j, 2), CSRGraph):
        below = [LINKS[0].copy(), LINKS[1].copy()]
        made = make(*(read_only(array[:]) for array in below))
        for array in below:
            array[:] = 10**9
        assert made.indptr.tolist() == [0, 1, 3]
        assert made.indices.tolist() == [1, 0, 1]
    ids = np.array([7, 8])
    block = Block(*LINKS, 2, read_only(ids[:]))
    ids[:] = -1
    assert block.src_ids.tolist() == [7, 8]


def test_what_is_read_only_to_its_ground_is_shared():
    frozen = read_only(np.arange(3, dtype=np.int32))
    assert np.shares_memory(owned(frozen, np.int32), frozen)
    assert np.shares_memory(owned(frozen[1:], np.int32), frozen)
    text = np.frombuffer(frozen.tobytes(), np.int32)
    assert np.shares_memory(owned(text, np.int32), text)
    graph = CSRGraph(*LINKS)
    block = graph.full_block()
    assert np.shares_memory(block.indices, graph.indices)
    part = graph.block_of([1])  # made by compiled loops, whose memory nobody else has
    assert np.shares_memory(Block(part.indptr, part.indices, part.num_src).indices, part.indices)
    assert np.shares_memory(owned(part.src_ids, np.int64), part.src_ids)


def ground(array: np.ndarray) -> object:
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner


def mapped(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    for name, array in zip(("indptr", "indices"), LINKS, strict=True):
        np.save(folder / f"{name}.npy", array)
    return tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))


def test_arrays_mapped_from_a_file_stay_mapped(tmp_path):
    graph = CSRGraph(*mapped(tmp_path))
    for made in (graph, graph.full_block(), CSRGraph(graph.indptr, graph.indices)):
        assert isinstance(ground(made.indptr), mmap.mmap)
        assert isinstance(ground(made.indices), mmap.mmap)
    assert isinstance(ground(graph.induced_subgraph([0, 1]).indices), mmap.mmap)


def test_a_mapped_array_that_its_owner_writes_to_is_copied(tmp_path):
    mapped(tmp_path)
    indices = np.load(tmp_path / "indices.npy", mmap_mode="r+")
    graph = CSRGraph(LINKS[0], read_only(indices[:]))
    indices[:] = 10**9
    assert graph.indices.tolist() == [1, 0, 1]


def test_arcs_that_changed_since_they_were_checked_are_refused_before_they_are_counted():
    src, dst = np.array([0, 1]), np.array([1, 0])
    arcs = ArcList(src, dst, 2)
    src[1] = 10**9
    with pytest.raises(GraphError, match=r"ArcList: edge 1 \(1000000000 -> 0\) leaves the graph"):
        list(arcs.edge_chunks())
