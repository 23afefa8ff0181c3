"""Reverse-mode automatic differentiation: a tape of closures over arrays.

An op computes an array and a closure `backward`: given the gradient with respect to its result,
`backward(grad)` gives one for each of its inputs (see ops/lift.py). The tape is made of Nodes that
hold these closures; `Tensor.backward` walks them from last to first.

Closures hold arrays and never a Tensor, so there are no reference cycles: memory is given back
as soon as the last name for a result is gone, without waiting for the garbage collector.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np

from gaancore.array import Array, array_module, on_device_of
from gaancore.errors import ShapeError
from gaancore.tape import Node, walk

Operator = Callable[["Tensor", "Tensor | Array | float"], "Tensor"]

recording: ContextVar[bool] = ContextVar("recording", default=True)


@contextmanager
def no_grad() -> Iterator[None]:
    """Inside, ops compute values only: nothing is recorded and nothing is kept alive.

    >>> x = Tensor(np.array([3.0]), requires_grad=True)
    >>> with no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """
    token = recording.set(False)
    try:
        yield
    finally:
        recording.reset(token)


class Tensor:
    """An array that remembers how it was made.

    data          : the array (NumPy or CuPy), of any shape.
    requires_grad : make this a leaf that gathers a gradient in `.grad` (None until then).
    Raises ShapeError if a gradient is asked for an array that is not float32 or float64.

    `+ - * @` and unary minus are ops: gaancore/ops/operators.py gives them to this class.

    >>> from gaancore.ops import total
    >>> x = Tensor(np.array([3.0, 4.0]), requires_grad=True)
    >>> total(x * x + 2 * x).backward()
    >>> x.grad  # 2 x + 2
    array([ 8., 10.])
    """

    __slots__ = ("__weakref__", "_node", "data", "grad")
    __array_ufunc__ = None  # so that NumPy leaves array + Tensor to __radd__
    __add__: ClassVar[Operator]
    __radd__: ClassVar[Operator]
    __sub__: ClassVar[Operator]
    __rsub__: ClassVar[Operator]
    __mul__: ClassVar[Operator]
    __rmul__: ClassVar[Operator]
    __matmul__: ClassVar[Operator]
    __rmatmul__: ClassVar[Operator]
    __neg__: ClassVar[Callable[["Tensor"], "Tensor"]]

    def __init__(self, data: Array, requires_grad: bool = False) -> None:
        if isinstance(data, Tensor):
            raise ShapeError("Tensor: data: expected an array, got a Tensor")
        self.data: Array = data if hasattr(data, "dtype") else np.asarray(data)
        self.grad: Array | None = None
        self._node: Node | None = None
        if requires_grad:
            if self.data.dtype not in (np.float32, np.float64):
                raise ShapeError(
                    f"Tensor: requires_grad: expected float32 or float64, got {self.data.dtype}"
                )
            self._node = Node((), None, weakref.ref(self))

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows back through this Tensor."""
        return self._node is not None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype}, requires_grad={self.requires_grad})"

    def __reduce__(self) -> "tuple[Callable[..., Tensor], tuple[object, ...]]":
        """Copied and pickled as a leaf of its own, with a copy of the gradient so far.

        Raises TypeError for the result of an op: its tape leads to other Tensors.
        """
        if self._node is not None and self._node.leaf is None:
            raise TypeError("Tensor: the result of an op cannot be copied or pickled; detach it")
        return _leaf, (type(self), (self.data, *self._arguments()), self.grad)

    def _arguments(self) -> tuple[object, ...]:
        """What it was made with, after the array."""
        return (self.requires_grad,)

    def detach(self) -> "Tensor":
        """The same array, cut off from the tape."""
        return Tensor(self.data)

    def backward(self, grad: Array | None = None) -> None:
        """Add d(self)/d(leaf), contracted with `grad`, to every leaf's `.grad`; free the tape.

        grad : same shape as self; may be left out for a scalar (then 1).
        Raises ShapeError for a missing or misshapen `grad`, RuntimeError on a second walk.
        """
        if self._node is None:
            raise RuntimeError("backward: nothing that requires a gradient led to this Tensor")
        with on_device_of(self.data):
            if grad is None:
                if self.data.size != 1:
                    raise ShapeError(f"backward: grad: needed for shape {self.shape}")
                grad = array_module(self.data).ones_like(self.data)
            if grad.shape != self.shape:
                raise ShapeError(f"backward: grad: expected {self.shape}, got {grad.shape}")
            walk(self._node, grad)


def _leaf(kind: type[Tensor], arguments: tuple[Any, ...], grad: Array | None) -> Tensor:
    tensor = kind(*arguments)
    tensor.grad = grad
    return tensor
