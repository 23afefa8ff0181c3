"""The matrix products of a training step, and their seconds with nothing else between them."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np

from gaancore.kernels import cpu
from gaancore.kernels.cpu.products import linear
from gaancore.system import threads

Product = tuple[int, int, int]  # rows, inner dimension and columns


def products_of(step: Callable[[], object]) -> list[Product]:
    """The products of the layers in `step`, forward and backward, in order.

    A layer makes x W for each of its inputs x, then x^T dy for each, and dy W^T for those whose
    gradient is needed.
    """
    seen: list[Product] = []
    forward, backward = linear.linear_forward, linear.linear_backward

    def noted_forward(parts, weight, bias, slope):
        seen.extend((len(part), part.shape[1], weight.shape[1]) for part in parts)
        return forward(parts, weight, bias, slope)

    def noted_backward(grad, out, parts, weight, slope, needed, totals=()):
        rows, columns = grad.shape
        for part, wanted in zip(parts, needed, strict=True):
            width = part.shape[1]
            seen.append((width, rows, columns))
            if wanted:
                seen.append((rows, columns, width))
        return backward(grad, out, parts, weight, slope, needed, totals)

    with ExitStack() as patches:
        for module in (cpu, linear):  # layers that read one input come from the second
            patches.enter_context(patch.object(module, "linear_forward", noted_forward))
            patches.enter_context(patch.object(module, "linear_backward", noted_backward))
        step()
    return seen


def flop(products: Sequence[Product]) -> int:
    return sum(2 * n * k * m for n, k, m in products)


def cut(products: Sequence[Product], count: int) -> list[int]:
    """Bounds of `count` runs of the list with about as many operations each."""
    total = np.cumsum([flop([product]) for product in products])
    shares = np.arange(1, count) / count
    return [0, *np.searchsorted(total, shares * total[-1], "right").tolist(), len(products)]


def seconds_alone(products: Sequence[Product]) -> float:
    """Seconds that NumPy's BLAS takes for them in float32, each as a whole, in the order given.

    The threads share out the list, each as many operations as the others. An output has memory that
    was used before, as in a program that keeps what it has freed.
    """
    arrays = {
        (n, k, m): [np.ones(size, np.float32) for size in ((n, k), (k, m))]
        for n, k, m in set(products)
    }

    def run(start: int, stop: int) -> None:
        for shape in products[start:stop]:
            np.matmul(*arrays[shape])

    bounds = cut(products, threads.get_num_threads())
    run(0, len(products))
    clock = time.perf_counter()
    threads.run_ranges(run, bounds)
    return time.perf_counter() - clock
