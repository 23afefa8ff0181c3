"""Arcs put in order on disk, against sets and SciPy; a graph gone through in chunks."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import edge_lists, graphs, seeds

from gaancore.errors import GraphError
from gaancore.graph import ArcList, CSRGraph, arcs, csr
from gaancore.graph.stream.rows import ArcCounts, write_undirected
from gaancore.system.mapped import forget_pages, room_for_part

NAMES = ("indptr", "indices")


def chunks(pairs: list[tuple[int, int]], size: int):
    """What goes through `pairs` anew at each call, `size` of them at a time."""
    ends = np.array(pairs, np.int32).reshape(-1, 2).T

    def stream():
        for start in range(0, len(pairs), size):
            yield ends[0, start : start + size], ends[1, start : start + size]

    return stream


def written(folder: Path) -> list[tuple[int, int]]:
    indptr, indices = np.load(folder / "indptr.npy"), np.load(folder / "indices.npy")
    assert indptr.dtype == np.int64
    assert indices.dtype == np.int32
    assert sorted(path.name for path in folder.iterdir()) == ["indices.npy", "indptr.npy"]
    return [
        (row, int(indices[e]))
        for row in range(indptr.size - 1)
        for e in range(indptr[row], indptr[row + 1])
    ]


@given(drawn=edge_lists(), size=st.integers(1, 50), entries=st.integers(1, 90))
def test_the_rows_written_are_the_undirected_simple_graph(tmp_path_factory, drawn, size, entries):
    pairs, num_nodes = drawn
    folder = tmp_path_factory.mktemp("rows")
    counts = write_undirected(folder, num_nodes, chunks(pairs, size), entries_at_a_time=entries)
    expected = {(a, b) for a, b in pairs} | {(b, a) for a, b in pairs}
    assert written(folder) == sorted(expected)
    loops = sum(a == b for a, b in expected)
    assert counts == ArcCounts(len(expected), loops, len(pairs) - len(set(pairs)))


def test_an_arc_and_its_reverse_are_no_repeat_but_the_same_arc_again_is(tmp_path):
    pairs = [(0, 1), (1, 0), (2, 2), (2, 2), (2, 2), (0, 2), (0, 2)]
    counts = write_undirected(tmp_path, 3, chunks(pairs, 3))
    assert written(tmp_path) == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 2)]
    assert counts == ArcCounts(num_arcs=5, num_self_loops=1, num_repeats=3)


@given(seed=seeds())
def test_any_order_of_the_arcs_and_any_pieces_give_the_same_bytes(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(300, size=(5000, 2))
    files = []
    for size, entries in ((5000, 10**6), (700, 900)):
        folder = tmp_path_factory.mktemp("rows")
        write_undirected(folder, 300, chunks(pairs.tolist(), size), entries_at_a_time=entries)
        files.append([path.read_bytes() for path in sorted(folder.iterdir())])
        pairs = rng.permutation(pairs)
    assert files[0] == files[1]
    matrix = sparse.coo_array((np.ones(5000), pairs.T), shape=(300, 300)).tocsr()
    expected = ((matrix + matrix.T) > 0).tocsr()
    expected.sort_indices()
    np.testing.assert_array_equal(np.load(folder / "indptr.npy"), expected.indptr)
    np.testing.assert_array_equal(np.load(folder / "indices.npy"), expected.indices)


def test_the_share_that_is_done_rises_to_one(tmp_path):
    told = []
    write_undirected(
        tmp_path, 4, chunks([(0, 1), (2, 3)], 1), entries_at_a_time=1, progress=told.append
    )
    assert told == sorted(told)
    assert told[-1] == 1
    assert len(told) == 5  # counted, and a piece for each of four rows


def test_more_nodes_than_an_entry_can_name_are_refused(tmp_path):
    with pytest.raises(GraphError, match="at most 2,147,483,647 nodes, got 2,147,483,648"):
        write_undirected(tmp_path, 2**31, chunks([], 1))


@given(graph=graphs(), most=st.integers(1, 9))
def test_a_graph_gone_through_in_chunks_is_the_same_edges(graph, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csr, "EDGES_AT_A_TIME", most)
        parts = list(graph.edge_chunks())
    src, dst = graph.edges()
    np.testing.assert_array_equal(np.concatenate([src[:0], *(part[0] for part in parts)]), src)
    np.testing.assert_array_equal(np.concatenate([dst[:0], *(part[1] for part in parts)]), dst)
    for part, _ in parts:
        assert part.size <= max(most, graph.degrees.max())


@given(drawn=edge_lists(), most=st.integers(1, 9), dtype=st.sampled_from(["i4", "i8", ">u2"]))
def test_listed_arcs_gone_through_in_chunks_are_those_given(drawn, most, dtype):
    pairs, num_nodes = drawn
    src, dst = np.array(pairs, dtype).reshape(-1, 2).T
    listed = ArcList(src, dst, num_nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arcs, "EDGES_AT_A_TIME", most)
        parts = list(listed.edge_chunks())
    assert [(int(a), int(b)) for part in parts for a, b in zip(*part, strict=True)] == pairs
    assert all(end.dtype == np.int32 and end.size <= most for part in parts for end in part)
    kept = listed.to_csr()
    assert kept.num_edges == len(pairs)
    assert kept.num_repeats == len(pairs) - len(set(pairs))


def test_a_listed_arc_that_leaves_the_graph_is_named():
    with pytest.raises(GraphError, match=r"edge 1 \(3 -> 0\) leaves the graph"):
        ArcList([0, 3], [1, 0], 3)


@given(drawn=edge_lists())
def test_a_symmetric_graph_without_repeats_is_its_own_undirected_one(drawn):
    pairs, num_nodes = drawn
    src, dst = [a for a, _ in pairs], [b for _, b in pairs]
    graph = CSRGraph.from_edges(src, dst, num_nodes, duplicates="keep")
    undirected = graph.undirected()
    assert undirected.undirected() is undirected
    assert (undirected is graph) == (sorted(pairs) == sorted({(b, a) for a, b in pairs}))


@pytest.mark.parametrize("mode", ["r", "r+", "w+"])
def test_forgotten_pages_of_a_mapped_array_keep_their_content(tmp_path, mode):
    path, values = tmp_path / "values.npy", np.arange(50_000)
    if mode == "w+":
        array = np.lib.format.open_memmap(path, mode=mode, dtype=values.dtype, shape=values.shape)
        array[:] = values
    else:
        np.save(path, values)
        array = np.load(path, mmap_mode=mode)
    forget_pages(array[10:])
    np.testing.assert_array_equal(array, values)
    forget_pages(values)
    np.testing.assert_array_equal(np.load(path), values)


def test_a_part_of_a_mapped_graph_is_mapped_too_and_the_same(tmp_path):
    rng = np.random.default_rng(0)
    in_memory = CSRGraph.from_edges(*rng.integers(50, size=(2, 400)), 50, duplicates="keep")
    for name in NAMES:
        np.save(tmp_path / name, getattr(in_memory, name))
    mapped = CSRGraph(*(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in NAMES))
    ids = np.flatnonzero(rng.random(50) < 0.6)
    part, expected = mapped.induced_subgraph(ids), in_memory.induced_subgraph(ids)
    np.testing.assert_array_equal(part.indptr, expected.indptr)
    np.testing.assert_array_equal(part.indices, expected.indices)
    assert isinstance(part.indices.base, np.memmap)
    assert not isinstance(expected.indices.base, np.memmap)
    assert part.induced_subgraph([]).num_edges == 0


def test_room_in_memory_is_of_the_same_type():
    room = room_for_part(np.zeros(9, np.int16), 4)
    assert (room.dtype, room.shape) == (np.int16, (4,))
