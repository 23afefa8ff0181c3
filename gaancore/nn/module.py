"""Modules: a tree of named parameters, found by walking attributes."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np

from gaancore.array import Array, device_of, on_device_of, to_device
from gaancore.display import Shown, html_table
from gaancore.errors import ShapeError
from gaancore.tensor import Tensor


class Parameter(Tensor):
    """A leaf that the optimiser moves; `lr_scale` multiplies the learning rate for it alone.

    >>> bias = Parameter(np.zeros(3, np.float32), lr_scale=0.1)
    >>> bias.requires_grad, bias.lr_scale
    (True, 0.1)
    """

    __slots__ = ("lr_scale",)

    def __init__(self, data: Array, lr_scale: float = 1.0) -> None:
        super().__init__(data, requires_grad=True)
        self.lr_scale = lr_scale

    def _arguments(self) -> tuple[object, ...]:
        return (self.lr_scale,)


MOST_SHOWN = 60  # parameters in a notebook's table


class Module(Shown):
    """Anything with parameters: attributes that are Parameters, Modules or lists of Modules.

    `copy.deepcopy` and `pickle` give a module with arrays and gradients of its own. `pickle` runs
    what a file says, so load only your own; `state` and a safetensors file need no such trust.

    >>> class Two(Module):
    ...     def __init__(self, rng):
    ...         self.layers = [Linear(3, 4, rng), Linear(4, 1, rng)]
    >>> model = Two(np.random.default_rng(0))
    >>> [name for name, _ in model.named_parameters()], model.num_parameters
    (['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias'], 21)
    """

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """("layers.0.query.weight", parameter) in the order the attributes were set."""
        for name, value in vars(self).items():
            if isinstance(value, Parameter):
                yield prefix + name, value
            elif isinstance(value, Module):
                yield from value.named_parameters(f"{prefix}{name}.")
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if isinstance(item, Module):
                        yield from item.named_parameters(f"{prefix}{name}.{i}.")

    def parameters(self) -> list[Parameter]:
        return [parameter for _, parameter in self.named_parameters()]

    @property
    def num_parameters(self) -> int:
        """How many numbers are learned (the paper's #Param)."""
        return sum(parameter.data.size for parameter in self.parameters())

    def _shown(self) -> dict[str, Any]:
        types = {str(parameter.dtype): None for parameter in self.parameters()}
        return {
            "num_parameters": self.num_parameters,
            "arrays": len(self.parameters()),
            "dtype": " and ".join(types) or None,
        }

    def _repr_html_(self) -> str:
        """Each parameter by its name, with its shape and how many numbers it holds."""
        named = list(self.named_parameters())
        rows: list[tuple[Any, ...]] = [
            (name, str(parameter.shape), parameter.data.size)
            for name, parameter in named[:MOST_SHOWN]
        ]
        if left := [parameter for _, parameter in named[MOST_SHOWN:]]:
            rows.append((f"{len(left)} more", "", sum(parameter.data.size for parameter in left)))
        return html_table(repr(self), rows, ("parameter", "shape", "numbers"))

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters():
            parameter.grad = None

    def twin(self) -> Self:
        """The same module with the same arrays, whose parameters gather gradients of their own.

        For threads that go through one module at once; what moves the arrays moves both.
        """
        other = copy(self)
        for name, value in vars(self).items():
            setattr(other, name, _twin(value))
        return other

    def astype(self, dtype: str) -> Self:
        """Hold every parameter in float32 or float64, in place; returns the module."""
        for parameter in self.parameters():
            parameter.data = parameter.data.astype(dtype)
        return self

    def to(self, device: str) -> Self:
        """Hold every parameter on `device` (see to_device), in place; returns the module."""
        for parameter in self.parameters():
            parameter.data = to_device(parameter.data, device)
        return self

    def state(self) -> dict[str, Array]:
        """Name -> array, for a checkpoint. The arrays are the live ones."""
        return {name: parameter.data for name, parameter in self.named_parameters()}

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        """Copy values in by name.

        Raises ShapeError, with nothing changed, naming what is missing, unknown or misshapen.
        """
        mine = dict(self.named_parameters())
        if missing := sorted(mine.keys() - state.keys()):
            raise ShapeError(f"load_state: {missing[0]}: missing (and {len(missing) - 1} more)")
        if unknown := sorted(state.keys() - mine.keys()):
            raise ShapeError(f"load_state: {unknown[0]}: no such parameter in this model")
        for name, parameter in mine.items():
            if parameter.shape != state[name].shape:
                raise ShapeError(
                    f"load_state: {name}: expected {parameter.shape}, got {state[name].shape}"
                )
        for name, parameter in mine.items():
            with on_device_of(parameter.data):
                parameter.data[...] = to_device(state[name], device_of(parameter.data))


def _twin(value: Any) -> Any:
    if isinstance(value, Parameter):
        return Parameter(value.data, value.lr_scale)
    if isinstance(value, Module):
        return value.twin()
    if isinstance(value, list):
        return [_twin(item) for item in value]
    return value
