"""What each kernel may be given; checked before it runs if GAANCORE_CHECK=1 when Python starts.

Kernels trust their arguments, for a look at every index costs as much as some of them. A call with
arrays that do not fit then reads or writes outside of them. With the checks it raises ShapeError.
"""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from typing import Any

from gaancore.array import Array, array_module, device_of, to_numpy
from gaancore.errors import ShapeError

# The axes of each array, by kernel and parameter, in the letters of the contract. N+1: one more
# than N. K*S: a product. +F: those of all parts add up to F. ...: any shape, the same for all.
AXES = {
    "segment_softmax_forward": {"scores": "E K", "indptr": "N+1"},
    "segment_softmax_backward": {"weights": "E K", "grad": "E K", "indptr": "N+1"},
    "segment_weighted_sum": {
        "weights": "E K", "values": "S K D", "indptr": "N+1", "indices": "E", "edge_ids": "E",
    },
    "edge_dot": {"queries": "N K D", "keys": "S K D", "indptr": "N+1", "indices": "E"},
    "segment_mean_forward": {"values": "S F", "indptr": "N+1", "indices": "E"},
    "segment_mean_backward": {
        "grad": "N F", "indptr": "N+1", "t_indptr": "S+1", "t_indices": "E",
    },
    "segment_max_forward": {"values": "S F", "indptr": "N+1", "indices": "E"},
    "segment_max_backward": {
        "grad": "N F", "winners": "N F", "t_indptr": "S+1", "t_indices": "E",
    },
    "attention_forward": {
        "queries": "N K A", "keys": "S K A", "values": "S K D", "indptr": "N+1", "indices": "E",
    },
    "attention_backward": {
        "grad": "N K D", "out": "N K D", "saved": "", "indptr": "N+1", "indices": "E",
        "t_indptr": "S+1", "t_indices": "E", "t_edge_ids": "E",
    },
    "feature_dot": {"queries": "N B K", "edges": "E B", "indptr": "N+1"},
    "feature_sum": {"weights": "E K", "edges": "E B", "indptr": "N+1"},
    "edge_sum_forward": {
        "weights": "E K", "values": "S K D", "edges": "E B", "projection": "B K D",
        "indptr": "N+1", "indices": "E",
    },
    "edge_sum_backward": {
        "grad": "N K D", "weights": "E K", "values": "S K D", "edges": "E B",
        "projection": "B K D", "indptr": "N+1", "indices": "E", "t_indptr": "S+1",
        "t_indices": "E", "t_edge_ids": "E",
    },
    "edge_max_forward": {
        "values": "S F", "edges": "E B", "projection": "B F", "indptr": "N+1", "indices": "E",
    },
    "edge_max_backward": {
        "grad": "N F", "places": "N F", "edges": "E B", "projection": "B F", "indptr": "N+1",
        "indices": "E", "t_indptr": "S+1", "t_indices": "E", "t_edge_ids": "E",
    },
    "edge_attention_forward": {
        "queries": "N K A", "keys": "S K A", "values": "S K D", "edges": "E B", "to_keys": "B K A",
        "to_values": "B K D", "indptr": "N+1", "indices": "E",
    },
    "edge_attention_backward": {
        "grad": "N K D", "out": "N K D", "saved": "", "indptr": "N+1", "indices": "E",
        "t_indptr": "S+1", "t_indices": "E", "t_edge_ids": "E",
    },
    "scale_heads_forward": {"heads": "N K D", "gates": "N K"},
    "scale_heads_backward": {"grad": "N K D", "heads": "N K D", "gates": "N K"},
    "gru_update_forward": dict.fromkeys(("x_u", "x_r", "x_c", "h_u", "h_r", "h_c", "h"), "N D"),
    "gru_update_backward": dict.fromkeys(("grad", "h_c", "h", "saved"), "N D"),
    "linear_forward": {"parts": "N +F", "weight": "F G", "bias": "G"},
    "linear_backward": {"grad": "N G", "out": "N G", "parts": "N +F", "weight": "F G"},
    "sigmoid_forward": {"x": "..."},
    "sigmoid_backward": dict.fromkeys(("grad", "out"), "..."),
    "linear_each_forward": {"x": "N F"},
    "linear_each_backward": {"x": "N F"},
    "join_columns": {"parts": "N +F"},
    "split_columns": {"x": "N F"},
    "dropout": {"x": "..."},
    "bce_with_logits": {"logits": "N C", "targets": "N C"},
    "softmax_cross_entropy": {"logits": "N C", "targets": "N"},
    "matmul": {"a": "M K", "b": "K N"},
    "adam_step": dict.fromkeys(("parameter", "grad", "moment1", "moment2"), "..."),
}  # fmt: skip
# What attention keeps for its way back, by the name of the type
SAVED = {
    "AllHeads": {"queries": "N K A", "keys": "S K A", "values": "S K D", "weights": "E K"},
    "ByHead": {
        "queries": "N K A", "keys": "K*S A", "values": "K*S D", "exps": "K E", "inverse": "K N",
    },
    "Saved": {"queries": "N K A", "keys": "S K A", "values": "S K D", "stats": "N K 2"},
    "WithEdges": {
        "queries": "N K A", "keys": "S K A", "values": "S K D", "edges": "E B", "to_keys": "B K A",
        "to_values": "B K D", "weights": "E K",
    },
}  # fmt: skip
# Parameters that are no floats: their types; the lowest number; the axis whose size they stay below
INTEGERS = {
    "indptr": (("int64",), 0, None),
    "t_indptr": (("int64",), 0, None),
    "indices": (("int32",), 0, "S"),
    "t_indices": (("int32",), 0, "N"),
    "edge_ids": (("int32", "int64"), 0, "E"),
    "t_edge_ids": (("int32", "int64"), 0, "E"),
    "winners": (("int32",), -1, "S"),
    "places": (("int32",), -1, "E"),
    "targets": (("int64",), 0, "C"),
}
TARGETS_OF_EACH_CLASS = (("uint8",), 0, None)
ANY_ORDER = {"matmul"}  # cuBLAS takes transposed matrices, the CPU copies them


def check_if_asked(namespace: dict[str, Any], names: list[str]) -> None:
    """Put checks before the kernels `names` of a backend, if GAANCORE_CHECK=1."""
    if os.environ.get("GAANCORE_CHECK") == "1":
        namespace.update({name: checking(namespace[name]) for name in names})


def checking(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, but ShapeError names the first argument that does not fit, before anything runs."""
    parameters = signature(kernel)

    @wraps(kernel)
    def checked(*args: Any, **static: Any) -> Any:
        _Call(kernel.__name__, parameters.bind(*args, **static).arguments).check()
        return kernel(*args, **static)

    return checked


class _Call:
    def __init__(self, kernel: str, arguments: dict[str, Any]) -> None:
        self.kernel = kernel
        self.arrays = list(_arrays(AXES[kernel], arguments))
        self.sizes: dict[str, int] = {}
        self.sums: dict[str, int] = {}
        self.shape: tuple[int, ...] | None = None

    def check(self) -> None:
        for name, x, _ in self.arrays:
            self._expect_array(name, x)
        for name, x, axes in self.arrays:
            self._read_sizes(name, x, axes)
        for name, x, axes in self.arrays:
            self._expect_shape(name, x, axes)
        for name, x, _ in self.arrays:
            if integers := self._integers(name):
                self._expect_range(name, x, *integers[1:])

    def _fail(self, name: str, expected: str, found: Any) -> None:
        raise ShapeError(f"{self.kernel}: {name}: expected {expected}, got {found}")

    def _integers(self, name: str) -> tuple[tuple[str, ...], int, str | None] | None:
        if self.kernel == "bce_with_logits" and name == "targets":
            return TARGETS_OF_EACH_CLASS
        return INTEGERS.get(name)

    def _expect_array(self, name: str, x: Any) -> None:
        """Of the type that the contract says, in C order, and where the first array is."""
        if not hasattr(x, "dtype") or not hasattr(x, "flags"):
            self._fail(name, "an array", type(x).__name__)
        first = self.arrays[0][1]
        here, there = device_of(first), device_of(x)
        if here != there:
            self._fail(name, f"an array on {here}", f"one on {there}")
        integers = self._integers(name)
        floats = first.dtype.name if first.dtype.name in ("float32", "float64") else "float32"
        wanted = integers[0] if integers else (floats,)
        if x.dtype.name not in wanted or not x.dtype.isnative:
            self._fail(name, " or ".join(wanted), x.dtype)
        if self.kernel not in ANY_ORDER and not x.flags.c_contiguous:
            self._fail(name, "an array in C order", "one that is not")

    def _read_sizes(self, name: str, x: Array, axes: str) -> None:
        """What the letters stand for, by the first array that has them."""
        if axes == "...":
            self.shape = self.shape or x.shape
            return
        words = axes.split()
        if x.ndim != len(words):
            self._fail(name, f"{len(words)} axes", f"shape {x.shape}")
        for word, size in zip(words, x.shape, strict=True):
            if word.startswith("+"):
                self.sums[word[1:]] = self.sums.get(word[1:], 0) + size
            elif "*" not in word and not word.isdigit():
                self.sizes.setdefault(word[0], size - word.endswith("+1"))

    def _expect_shape(self, name: str, x: Array, axes: str) -> None:
        expected = self.shape
        if axes != "...":
            expected = tuple(
                self._size(word, size) for word, size in zip(axes.split(), x.shape, strict=True)
            )
        if x.shape != expected:
            self._fail(name, f"{expected}", x.shape)
        for letter, total in self.sums.items():
            if total != self.sizes.get(letter, total):
                self._fail(name, f"parts of {self.sizes[letter]} columns", f"{total} columns")

    def _size(self, word: str, found: int) -> int:
        if word.isdigit() or word.startswith("+"):
            return int(word) if word.isdigit() else found
        one, _, other = word.partition("*")
        size = self.sizes[one[0]] + one.endswith("+1")
        return size * self.sizes[other] if other else size

    def _expect_range(self, name: str, x: Array, lowest: int, below: str | None) -> None:
        if name.endswith("indptr"):
            steps, edges = array_module(x).diff(x), self.sizes["E"]
            if _number(x[0]) != 0 or _number(x[-1]) != edges:
                found = f"{_number(x[0])} to {_number(x[-1])}"
                self._fail(name, f"offsets from 0 to {edges}", found)
            if steps.size and _number(steps.min()) < 0:
                self._fail(name, "offsets that do not decrease", "some that do")
        elif below and x.size:
            least, most, size = _number(x.min()), _number(x.max()), self.sizes[below]
            if least < lowest or most >= size:
                self._fail(name, f"numbers from {lowest} to {size - 1}", f"{least} to {most}")


def _arrays(axes: dict[str, str], arguments: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """(name, array, axes) of every array, also of those in tuples."""
    for name, words in axes.items():
        value = arguments.get(name)
        if isinstance(value, tuple):
            fields = SAVED.get(type(value).__name__)
            for place, item in enumerate(value):
                field = list(fields)[place] if fields else str(place)
                yield f"{name}.{field}", item, fields[field] if fields else words
        elif value is not None or name != "edge_ids":
            yield name, value, words


def _number(x: Array) -> int:
    return int(to_numpy(x))
