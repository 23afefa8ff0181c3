"""Aggregators side by side give what each of them gives alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gaancore.choices import AGGREGATORS
from gaancore.graph import CSRGraph
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.nn.side_by_side import SideBySide
from gaancore.tensor import Tensor

WIDTHS = {"num_heads": 2, "key_dim": 3, "value_dim": 2, "gate_dim": 3, "slope": 1.0}


@pytest.mark.parametrize("mean", [False, True], ids=["maximum alone", "with the mean"])
@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("kind", AGGREGATORS)
def test_three_aggregators_side_by_side_are_each_on_its_own(kind, variant, mean):
    rng = np.random.default_rng(0)
    spec = AggregatorSpec(kind, variant, mean_in_gate=mean, **WIDTHS)
    three = [spec.make(5, 4, 3, rng).astype("float64") for _ in range(3)]
    for aggregator in three:
        for parameter in aggregator.parameters():
            parameter.data += rng.standard_normal(parameter.shape) / 2
    src, dst = rng.integers(0, 6, (2, 14))
    block = CSRGraph.from_edges(src, dst, 6, duplicates="merge").full_block()
    x, z = (Tensor(rng.standard_normal((6, width))) for width in (5, 4))
    for out, aggregator in zip(SideBySide(three)(x, z, block), three, strict=True):
        assert_allclose(out.data, aggregator(x, z, block).data, rtol=1e-12, atol=1e-13)
