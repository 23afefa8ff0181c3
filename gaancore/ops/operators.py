"""`+ - * @` and unary minus, between Tensors, arrays and numbers."""

import numpy as np

from gaancore.array import Array
from gaancore.ops.elementwise import add, multiply, negative, subtract
from gaancore.ops.linalg import matmul
from gaancore.tensor import Operator, Tensor


def install() -> None:
    """Give Tensor its operators: this room knows their gradients, the engine does not."""
    Tensor.__add__, Tensor.__radd__ = _operator(add), _reflected(add)
    Tensor.__sub__, Tensor.__rsub__ = _operator(subtract), _reflected(subtract)
    Tensor.__mul__, Tensor.__rmul__ = _operator(multiply), _reflected(multiply)
    Tensor.__matmul__, Tensor.__rmatmul__ = _operator(matmul), _reflected(matmul)
    Tensor.__neg__ = negative


def _operator(op: Operator) -> Operator:
    return lambda tensor, other: op(tensor, _operand(other, tensor))


def _reflected(op: Operator) -> Operator:
    return lambda tensor, other: op(_operand(other, tensor), tensor)


def _operand(other: Tensor | Array | float, tensor: Tensor) -> Tensor | Array:
    """A number becomes what the Tensor holds: float32 stays float32. Arrays stay as they are."""
    is_number = isinstance(other, int | float | np.integer | np.floating)
    return tensor.dtype.type(other) if is_number else other
