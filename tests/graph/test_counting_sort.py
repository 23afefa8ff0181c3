import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaancore.graph.counting_sort import counting_sort


@given(st.lists(st.integers(0, 9)))
def test_the_order_is_numpys_stable_sort(keys):
    keys = np.array(keys, np.int32)
    indptr, order = counting_sort(keys, 10)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(indptr, np.searchsorted(np.sort(keys), np.arange(11)))
    assert indptr.dtype == np.int64
    assert order.dtype == np.int32
