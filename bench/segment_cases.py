"""An op on a profile: inputs, what must come out, and what it costs, whoever computes it.

Bytes: every input and output once, and the block's links once where they are needed (indptr 8
bytes a row, indices 4 an edge). Rows that are gathered again, transposed links and temporaries are
not counted: a kernel is free to save them. Arithmetic: an exponential counts as one operation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy_segment_ops import SLOPE, ScipySegmentOps
from segment_profiles import EDGE_FEATURES, PROFILES, make_inputs

from gaancore import ops
from gaancore.graph.block import Block
from gaancore.seeding import generator
from gaancore.tape import Adding

DIRECTIONS = ("forward", "backward")
Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Op:
    """`kept` and `links`: what else is read, forward and backward, by name; `flops` of one edge and
    head from the widths of its key and value (a pool is one head, F wide)."""

    function: Callable[..., Any]
    inputs: tuple[str, ...]
    grad: str
    kept: tuple[tuple[str, ...], tuple[str, ...]]
    flops: Callable[[int, int], tuple[int, int]]


LINKS = ("indptr", "indices")
OPS = {
    "softmax": Op(
        ops.segment_softmax,
        ("scores",),
        "grad_edges",
        (("indptr",), ("indptr", "out")),
        lambda a, d: (5, 4),
    ),
    "weighted_sum": Op(
        ops.segment_weighted_sum,
        ("weights", "values"),
        "grad_heads",
        (LINKS, (*LINKS, "weights", "values")),
        lambda a, d: (2 * d, 4 * d),
    ),
    "edge_dot": Op(
        ops.edge_dot,
        ("queries", "keys"),
        "grad_edges",
        (LINKS, (*LINKS, "queries", "keys")),
        lambda a, d: (2 * a, 4 * a),
    ),
    "maximum": Op(
        ops.segment_max,
        ("features",),
        "grad_features",
        ((*LINKS, "winners"), ("winners",)),
        lambda a, d: (d, 0),
    ),
    "mean": Op(
        ops.segment_mean,
        ("features",),
        "grad_features",
        (LINKS, LINKS),
        lambda a, d: (d, 2 * d),
    ),
    "attention": Op(
        ops.segment_attention,
        ("queries", "keys", "values"),
        "grad_heads",
        (LINKS, (*LINKS, "queries", "keys", "values", "out")),
        lambda a, d: (2 * (a + d) + 5, 4 * (a + d) + 4),
    ),
    "edge_attention": Op(
        ops.edge_attention,
        ("queries", "keys", "values", "edges", "to_keys", "to_values"),
        "grad_heads",
        (LINKS, (*LINKS, "queries", "keys", "values", "to_keys", "to_values", "out")),
        lambda a, d: (
            2 * (a + d) + 5 + d + 2 * EDGE_FEATURES * (1 + d),
            4 * (a + d) + 4 + d + 2 * EDGE_FEATURES * (1 + 2 * d),
        ),
    ),
}


@dataclass(frozen=True)
class Case:
    """`expected` and `costs` by direction; `static`: what gaancore's op needs besides arrays."""

    profile: str
    op: str
    block: Block
    inputs: Arrays
    grad: np.ndarray
    expected: dict[str, Arrays]
    costs: dict[str, dict[str, int]]
    static: dict[str, Any]

    def gaancore(self, block: Any) -> Callable[..., Any]:
        """The op on arrays that live where `block` does: (out, backward)."""
        op = partial(OPS[self.op].function.__wrapped__, block=block, **self.static)

        def both(*inputs: Any) -> tuple[Any, Callable[[Any], Any]]:
            out, backward = op(*inputs)
            if not isinstance(backward, Adding):
                return out, backward
            return out, lambda grad: backward.backward(grad, [None] * len(inputs))

        return both


def make_cases(profile_name: str, op_names: Sequence[str]) -> Iterator[Case]:
    """Every op on one block, one set of arrays for all."""
    profile, rng = PROFILES[profile_name], generator(0, profile_name)
    block = profile.block(rng)
    arrays = make_inputs(profile, block, rng)
    exact = ScipySegmentOps(block, np.float64)
    for name in op_names:
        op = OPS[name]
        inputs, grad = [arrays[key] for key in op.inputs], arrays[op.grad]
        out, backward = getattr(exact, name)(*(x.astype(np.float64) for x in inputs))
        results = {"forward": (out,), "backward": backward(grad.astype(np.float64))}
        expected = {key: [x.astype(np.float32) for x in xs] for key, xs in results.items()}
        pool = op.grad == "grad_features"
        heads, width = (1, profile.F) if pool else (profile.K, profile.D)
        flops = op.flops(profile.A, width)
        value = expected["forward"][0]
        named = {**arrays, "out": value, "indptr": block.indptr, "indices": block.indices}
        named["winners"] = np.broadcast_to(np.int32(0), value.shape)
        through = sum(x.nbytes for x in (*inputs, value))  # gradients are as large as their values
        costs = {
            direction: {
                "bytes": through + sum(_size(named[key]) for key in op.kept[i]),
                "flops": flops[i] * block.num_edges * heads,
            }
            for i, direction in enumerate(DIRECTIONS)
        }
        static: dict[str, Any] = {"scale": 1 / profile.A} if "attention" in name else {}
        if "edges" in op.inputs:  # features are given: nobody asks for their gradient
            static |= {"slope": SLOPE, "needed": tuple(key != "edges" for key in op.inputs)}
        yield Case(profile_name, name, block, inputs, grad, expected, costs, static)


def _size(x: np.ndarray) -> int:
    return x.size * x.itemsize
