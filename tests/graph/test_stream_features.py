"""Features of arcs put in the order of their graph on disk, against plain loops and in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import edge_lists, seeds

from gaancore.errors import GraphError
from gaancore.graph import CSRGraph
from gaancore.graph.stream.features import write_edge_attr
from gaancore.graph.stream.rows import write_undirected

HOW = {"sum": np.sum, "mean": np.mean, "max": np.max, "first": lambda rows, axis: rows[0]}


def stream(src, dst, rows, size):
    def chunks():
        for start in range(0, src.size, size):
            part = slice(start, start + size)
            yield src[part], dst[part], rows[part]

    return chunks


def written(folder, src, dst, rows, num_nodes, how, *, size=7, values=9):
    chunks = stream(src, dst, rows, size)
    write_undirected(folder, num_nodes, lambda: (chunk[:2] for chunk in chunks()))
    write_edge_attr(folder, chunks, rows.shape[1], how, values_at_a_time=values)
    return [np.load(folder / f"{name}.npy") for name in ("indptr", "indices", "edge_attr")]


def by_loops(src, dst, rows, how):
    """(row, neighbour) -> its features: of its own arcs, else of those the other way."""
    own = {}
    for e, arc in enumerate(zip(dst.tolist(), src.tolist(), strict=True)):
        own.setdefault(arc, []).append(rows[e].astype(np.float64))
    arcs = {arc for a, b in own for arc in ((a, b), (b, a))}
    return {(a, b): HOW[how](own.get((a, b)) or own[b, a], axis=0) for a, b in sorted(arcs)}


@pytest.mark.parametrize("how", HOW)
@given(
    drawn=edge_lists(), seed=seeds(), width=st.integers(1, 3), size=st.integers(1, 50),
    values=st.integers(1, 60),
)  # fmt: skip
def test_each_arc_keeps_its_own_features_or_takes_those_of_its_reverse(
    tmp_path_factory, how, drawn, seed, width, size, values
):
    pairs, num_nodes = drawn
    src, dst = np.array(pairs, np.int32).reshape(-1, 2).T
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((src.size, width)).astype(np.float32)
    folder = tmp_path_factory.mktemp("features")
    indptr, indices, found = written(
        folder, src, dst, rows, num_nodes, how, size=size, values=values
    )
    expected = by_loops(src, dst, rows, how)
    entries = zip(np.repeat(np.arange(num_nodes), np.diff(indptr)).tolist(), indices.tolist(),
                  strict=True)  # fmt: skip
    assert list(entries) == list(expected)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.array(list(expected.values())).reshape(found.shape), 1e-6)
    stored = CSRGraph.from_edges(src, dst, num_nodes, duplicates="keep", edge_attr=rows)
    in_memory = stored.undirected(reduce=how)
    np.testing.assert_array_equal(found, in_memory.edge_attr)
    np.testing.assert_array_equal(indices, in_memory.indices)


def test_four_arcs_by_hand(tmp_path):
    # 0 -> 1 twice, 1 -> 0 with its own, a loop twice, 2 -> 1 one way
    src, dst = np.array([0, 0, 1, 2, 2, 2]), np.array([1, 1, 0, 2, 2, 1])
    rows = np.array([[1], [4], [8], [16], [2], [32]], np.float32)
    indptr, indices, found = written(tmp_path, src, dst, rows, 3, "sum")
    assert (indptr.tolist(), indices.tolist()) == ([0, 1, 3, 5], [1, 0, 2, 1, 2])
    assert found.ravel().tolist() == [8, 5, 32, 32, 18]


def test_the_share_that_is_done_rises_to_one_and_a_sum_beyond_float32_is_refused(tmp_path):
    src, dst = np.array([0, 0]), np.array([1, 1])
    rows, told = np.full((2, 1), 3e38, np.float32), []
    chunks = stream(src, dst, rows, 1)
    write_undirected(tmp_path, 2, lambda: (chunk[:2] for chunk in chunks()))
    write_edge_attr(tmp_path, chunks, 1, "max", values_at_a_time=1, progress=told.append)
    assert told == [0.5, 1]
    with pytest.raises(GraphError, match="a sum of features is beyond float32"):
        write_edge_attr(tmp_path, chunks, 1, "sum")
