import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaancore.graph.counting_sort import counting_sort, sorted_rows


@given(st.lists(st.integers(0, 9)))
def test_the_order_is_numpys_stable_sort(keys):
    keys = np.array(keys, np.int32)
    indptr, order = counting_sort(keys, 10)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(indptr, np.searchsorted(np.sort(keys), np.arange(11)))
    assert indptr.dtype == np.int64
    assert order.dtype == np.int32


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_rows_are_in_order_of_target_and_then_of_source(arcs):
    src, dst = np.array(arcs, np.int32).reshape(-1, 2).T
    indptr, indices = sorted_rows(src, dst, 7)
    ordered = sorted((b, a) for a, b in arcs)
    assert indices.tolist() == [a for _, a in ordered]
    rows = np.repeat(np.arange(7), np.diff(indptr))
    assert rows.tolist() == [b for b, _ in ordered]
    assert indices.dtype == np.int32
