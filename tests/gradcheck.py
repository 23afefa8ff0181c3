"""Gradients against finite differences, in float64.

Along a direction d the derivative of L = <f(x), c> is <dL/dx, d>. With c and d random, one number
tests every element of every gradient at once:

    (L(x + h d) - L(x - h d)) / 2h = <dL/dx, d> + O(h^2)

For inputs of order 1 the step h = 1e-5 is where truncation (h^2) and rounding (1e-16 / h) are both
near 1e-11, so a relative tolerance of 1e-6 leaves a wide margin to both.
"""

from collections.abc import Callable, Sequence

import numpy as np

from gaancore.array import device_of, to_device, to_numpy
from gaancore.tensor import Tensor

STEP = 1e-5
ROUNDING = 4 * np.finfo(np.float64).eps / STEP


def check_gradient(
    function: Callable[..., Tensor],
    *arrays: np.ndarray,
    rng: np.random.Generator,
    rtol: float = 1e-6,
    device: str = "cpu",
) -> None:
    """Check the gradient of function(*tensors) -> Tensor with respect to every array.

    arrays : float64, of order 1, away from kinks (of max, of leaky ReLU) by more than 1e-4.
    device : where the function computes.
    Raises AssertionError naming the function, the input, the analytic and the numeric value.
    """
    copies = [to_device(np.array(array, order="C"), device) for array in arrays]
    leaves = [Tensor(copy, requires_grad=True) for copy in copies]
    name = getattr(function, "func", function).__name__
    names = [f"input {i}" for i in range(len(leaves))]
    check_leaves(name, lambda: function(*leaves), dict(zip(names, leaves, strict=True)), rng, rtol)


def check_leaves(
    name: str,
    evaluate: Callable[[], Tensor],
    leaves: dict[str, Tensor],
    rng: np.random.Generator,
    rtol: float = 1e-6,
    one_by_one: bool = True,
) -> None:
    """The same for leaves that `evaluate()` finds by itself, such as a model's parameters.

    One direction moves all leaves together, then one each leaf alone, if there are not too many.
    """
    for leaf in leaves.values():
        assert leaf.dtype == np.float64, f"{name}: finite differences need float64"
        leaf.grad = None
    out = evaluate()
    cotangent = rng.standard_normal(out.shape)
    if out.requires_grad:
        out.backward(to_device(cotangent.copy(), device_of(out.data)))
    grads = {}
    for which, leaf in leaves.items():
        grads[which] = np.zeros(leaf.shape) if leaf.grad is None else to_numpy(leaf.grad)
        found = (grads[which].shape, grads[which].dtype)
        assert found == (leaf.shape, leaf.dtype), f"{name}: {which}: the gradient is {found}"

    noise = ROUNDING * (1 + np.abs(to_numpy(out.data) * cotangent).sum())
    everything = list(leaves)
    for moved in [
        everything,
        *([which] for which in everything if one_by_one and len(everything) > 1),
    ]:
        directions = {which: rng.standard_normal(leaves[which].shape) for which in moved}
        products = [(grads[which] * directions[which]).ravel() for which in moved]
        terms = np.concatenate([np.zeros(0), *products])
        analytic, size = terms.sum(), np.linalg.norm(terms)
        numeric = _central_difference(evaluate, leaves, directions, cotangent)
        assert abs(analytic - numeric) <= rtol * size + noise, (
            f"{name}: {_spoken(moved)}: analytic {analytic:.10g}, numeric {numeric:.10g}, "
            f"allowed difference {rtol * size + noise:.1g}"
        )


def _central_difference(
    evaluate: Callable[[], Tensor],
    leaves: dict[str, Tensor],
    directions: dict[str, np.ndarray],
    cotangent: np.ndarray,
) -> float:
    """(L(x + h d) - L(x - h d)) / 2h, the leaves put back afterwards."""
    start = {which: leaves[which].data for which in directions}
    ends = []
    for step in (STEP, -STEP):
        for which, direction in directions.items():
            moved = to_numpy(start[which]) + step * direction
            leaves[which].data = to_device(moved, device_of(start[which]))
        ends.append(to_numpy(evaluate().data))
    for which in directions:
        leaves[which].data = start[which]
    return float(((ends[0] - ends[1]) * cotangent).sum() / (2 * STEP))


def _spoken(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"all of {', '.join(names)}"
