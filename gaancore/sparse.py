"""A matrix most of whose numbers are 0, in compressed sparse rows: words of texts, categories.

The data hold such features as SciPy's csr_array; a step reads some of their rows as a CSRMatrix,
which can go to a CUDA device and knows its transpose.
"""

import copy
from functools import cached_property
from typing import Any

import numpy as np

from gaancore.array import Array, device_of, to_device
from gaancore.errors import ShapeError
from gaancore.graph.block import Transpose
from gaancore.graph.checks import columns, integers, offsets, read_only
from gaancore.graph.counting_sort import counting_sort


class CSRMatrix:
    """(N, F) numbers: row i has values[e] in column indices[e], indptr[i] <= e < indptr[i + 1].

    All others are 0. A row may be empty; numbers of one place are added.

    indptr  : (N + 1,) int64.
    indices : (E,) int32, 0 <= indices < num_columns.
    values  : (E,) float32 or float64.

    The first two are checked once, here, and copied if they are writeable, as those of a Block.
    Raises GraphError if they are no such matrix, ShapeError if there is not a value for each entry.

    >>> from gaancore.sparse import CSRMatrix
    >>> matrix = CSRMatrix([0, 2, 2], [0, 3], np.array([5.0, 7.0]), num_columns=4)
    >>> matrix.toarray()
    array([[5., 0., 0., 7.],
           [0., 0., 0., 0.]])
    """

    _host: "CSRMatrix | None" = None  # for one on a CUDA device: that which it was made from

    def __init__(self, indptr: Any, indices: Any, values: Array, num_columns: int) -> None:
        entries = integers("CSRMatrix: indices", indices)
        self.indptr = offsets("CSRMatrix: indptr", indptr, entries.size)
        self.indices = columns("CSRMatrix: indices", entries, self.indptr, num_columns, np.int32)
        self.num_columns = num_columns
        self.values = values
        self._expect_values(values)

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.num_columns

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @cached_property
    def transpose(self) -> Transpose:
        """The entries grouped by column (a stable counting sort, done on first use)."""
        if self._host is not None:
            device = device_of(self.indptr)
            return Transpose(*(to_device(x, device) for x in self._host.transpose))
        indptr, entries = counting_sort(self.indices, self.num_columns)
        rows = np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))
        return Transpose(read_only(indptr), read_only(rows[entries]), read_only(entries))

    def with_values(self, values: Array) -> "CSRMatrix":
        """Other numbers (E,) in the same places. Raises ShapeError for another count of them."""
        self._expect_values(values)
        other = copy.copy(self)
        other.values = values
        return other

    def to(self, device: str) -> "CSRMatrix":
        """The matrix on `device` (see to_device); its transpose goes along if it is made already,
        and follows when a gradient asks for it otherwise.
        """
        host = self._host or self
        if device == "cpu":
            return host
        there = copy.copy(host)
        there._host = host
        for name in ("indptr", "indices", "values"):
            setattr(there, name, to_device(getattr(host, name), device))
        if vars(there).pop("transpose", None) is not None:
            _ = there.transpose
        return there

    def toarray(self) -> np.ndarray:
        """All the numbers, zeros too, on the host."""
        host = self.to("cpu")
        out = np.zeros(self.shape, self.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(host.indptr))
        np.add.at(out, (rows, host.indices), host.values)
        return out

    def __repr__(self) -> str:
        return f"CSRMatrix(shape={self.shape}, entries={self.indices.size})"

    def _expect_values(self, values: Array) -> None:
        if values.shape != self.indices.shape:
            raise ShapeError(
                f"CSRMatrix: values: expected {self.indices.shape}, one for each entry, got "
                f"{values.shape}"
            )
