"""Several arrays as one: a sum over ranks is then one message, and clipping and Adam on a CUDA
device are a few launches.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gaancore.array import Array, array_module, on_device_of, to_host_later, to_numpy
from gaancore.errors import TrainingError
from gaancore.nn.module import Parameter

Parameters = dict[str, Parameter]


def end_to_end(arrays: Sequence[Array]) -> Array:
    """All numbers of several arrays of one device and type, in one row."""
    with on_device_of(arrays[0]):
        return array_module(arrays[0]).concatenate([x.reshape(-1) for x in arrays])


def views(row: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The arrays of these shapes that a row was made of; what is written to them, it has.

    >>> [x.tolist() for x in views(np.arange(5), [(2, 2), (1,)])]
    [[[0, 1], [2, 3]], [4]]
    """
    stops = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
    starts = [0, *stops[:-1]]
    return [row[a:b].reshape(s) for a, b, s in zip(starts, stops, shapes, strict=True)]


def flat_on_cuda(parameters: Parameters) -> "Flat | None":
    """The parameters in one array, if they are on a CUDA device."""
    here = all(array_module(p.data) is np for p in parameters.values())
    return None if here else Flat(parameters)


def not_finite(name: str) -> TrainingError:
    return TrainingError(
        f"the gradient of {name} is not finite, so nothing was updated; lower the learning rate, "
        "clip gradients, or look for extreme features"
    )


class Flat:
    """Parameters as views of one array, and their moments of two others.

    Those whose numbers fill loads of 16 bytes come first, so that nearly all views start at a
    multiple of 16 bytes. Then those of one rate lie together.
    """

    def __init__(self, parameters: Parameters) -> None:
        def key(name: str) -> tuple[bool, float]:
            p = parameters[name]
            return p.data.nbytes % 16 > 0, p.lr_scale

        self.names = sorted(parameters, key=key)
        arrays = [parameters[name].data for name in self.names]
        self.starts = np.cumsum([0, *(x.size for x in arrays)]).tolist()
        self.data = end_to_end(arrays)
        with on_device_of(self.data):
            xp = array_module(self.data)
            self.moment1, self.moment2 = xp.zeros_like(self.data), xp.zeros_like(self.data)
        shapes = [x.shape for x in arrays]
        self.views, *self.moments = (
            dict(zip(self.names, views(row, shapes), strict=True))
            for row in (self.data, self.moment1, self.moment2)
        )
        for name, p in parameters.items():
            p.data = self.views[name]

    def grads(self, parameters: Parameters) -> "FlatGrads":
        """The gradients that are there; a parameter that was given another array gives it here."""
        for name, p in parameters.items():
            if p.data is not self.views[name]:
                self.views[name][...] = p.data
                p.data = self.views[name]
        grads = {name: parameters[name].grad for name in self.names}
        return FlatGrads({name: x for name, x in grads.items() if x is not None})

    def runs(
        self, grads: "FlatGrads", constants: Callable[[str], Any]
    ) -> Iterator[tuple[tuple[Array, ...], Any]]:
        """Parameters, gradients and both moments of neighbours that have the same constants."""
        runs: list[list[Any]] = []  # constants, start and stop, start among the gradients
        for name, start, stop in zip(self.names, self.starts, self.starts[1:], strict=False):
            if name not in grads.starts:
                continue
            its = constants(name)
            if runs and runs[-1][0] == its and runs[-1][2] == start:
                runs[-1][2] = stop
            else:
                runs.append([its, start, stop, grads.starts[name]])
        for its, start, stop, first in runs:
            parts = [x[start:stop] for x in (self.data, self.moment1, self.moment2)]
            yield (parts[0], grads.data[first : first + stop - start], *parts[1:]), its


class FlatGrads:
    """Gradients one behind the other; the arrays that they come from are kept to name one."""

    def __init__(self, grads: dict[str, Array]) -> None:
        self.apart = grads
        sizes = [grad.size for grad in grads.values()]
        self.starts = dict(zip(grads, np.cumsum([0, *sizes]).tolist(), strict=False))
        self.data: Array = end_to_end(list(grads.values())) if grads else None

    def clip(self, max_norm: float) -> Callable[[], float]:
        """See Adam.clip."""
        from gaancore.kernels.cuda.clipping import clip_to_norm

        if self.data is None:
            return lambda: 0.0
        norm = to_host_later(clip_to_norm(self.data, max_norm))

        def read() -> float:
            found = float(norm())
            if not math.isfinite(found):
                raise not_finite(self._culprit())
            return found

        return read

    def _culprit(self) -> str:
        """The first whose sum of squares is not finite, else the one with the largest."""
        with np.errstate(all="ignore"):
            squares = {
                n: float((to_numpy(x).astype(float) ** 2).sum()) for n, x in self.apart.items()
            }
        bad = [name for name, square in squares.items() if not math.isfinite(square)]
        return bad[0] if bad else max(squares, key=lambda name: squares[name])
