"""One bipartite layer of a graph: destinations gather from sources."""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gaancore.array import device_of, note_longest_row, to_device, to_device_together
from gaancore.display import Shown
from gaancore.errors import GraphError
from gaancore.graph.checks import (
    columns,
    edge_rows,
    integers,
    offsets,
    owned,
    read_only,
    whole_number,
)
from gaancore.graph.counting_sort import counting_sort
from gaancore.graph.hash_set import merge_ids

MAX_SOURCES = np.iinfo(np.int32).max


class Transpose(NamedTuple):
    """A block's edges grouped by source: gradients with respect to the sources go through these.

    The edges of source j are the positions p in indptr[j]:indptr[j + 1]; edge p leads to
    destination indices[p] and is edge edge_ids[p] of the block.

    >>> from gaancore.graph import Block
    >>> block = Block([0, 2, 3], [2, 1, 2], num_src=3)  # 0 gathers from 2 and 1, 1 from 2
    >>> indptr, indices, edge_ids = block.transpose
    >>> indices[indptr[2] : indptr[3]].tolist(), edge_ids[indptr[2] : indptr[3]].tolist()
    ([0, 1], [0, 2])
    """

    indptr: np.ndarray  # (num_src + 1,) int64
    indices: np.ndarray  # (E,) int32, destination rows, ascending within a source
    edge_ids: np.ndarray  # (E,) int32 while E < 2^31, else int64


class Block(Shown):
    """A CSR matrix whose rows are destinations and whose entries are source rows.

    Destination i gathers from the sources indices[indptr[i]:indptr[i + 1]], its neighbourhood N_i.
    The destinations are the first num_dst sources, in the same order, so a layer finds its own
    input x_i among the rows z_j of its neighbours. A row may be empty, and list a source twice.

    indptr  : (num_dst + 1,) int64.
    indices : (E,) int32, 0 <= indices < num_src.
    src_ids : (num_src,) int64, the original node id of each source; 0, 1, 2, ... if not given.
    edge_ids : (E,) int64, which entry of the graph each edge is; None if the graph's edges have no
              features and nobody asked.
    edge_attr : (E, B) floats, the features of each edge; None if edges have none.

    The arrays are checked once, here, and read-only from then on. Arrays that are writeable, and
    read-only views of such, are copied. Raises GraphError if they are not such a matrix, naming the
    first entry that is wrong.

    >>> from gaancore.graph import Block
    >>> Block([0, 2, 3], [2, 1, 2], num_src=3, src_ids=[7, 8, 9])
    Block(num_dst=2, num_src=3, num_edges=3)
    """

    _host: "Block | None" = None  # for a block on a CUDA device: the one that it was made from

    def __init__(
        self,
        indptr: ArrayLike,
        indices: ArrayLike,
        num_src: int,
        src_ids: ArrayLike | None = None,
        *,
        edge_ids: ArrayLike | None = None,
        edge_attr: Any = None,
    ) -> None:
        num_src = whole_number("Block: num_src", num_src, 0)
        _expect_countable(num_src)
        entries = integers("Block: indices", indices)
        self.indptr = offsets("Block: indptr", indptr, entries.size)
        if self.num_dst > num_src:
            raise GraphError(
                f"Block: {self.num_dst} destinations cannot be the first of {num_src} sources"
            )
        self.indices = columns("Block: indices", entries, self.indptr, num_src, np.int32)
        if src_ids is None:
            src_ids = read_only(np.arange(num_src))
        self.src_ids = owned(integers("Block: src_ids", src_ids), np.int64)
        if self.src_ids.size != num_src:
            raise GraphError(f"Block: src_ids: expected {num_src} ids, got {self.src_ids.size}")
        self.edge_ids: np.ndarray | None = None
        if edge_ids is not None:
            self.edge_ids = owned(integers("Block: edge_ids", edge_ids), np.int64)
            if self.edge_ids.size != self.num_edges:
                raise GraphError(
                    f"Block: edge_ids: expected {self.num_edges} ids, got {self.edge_ids.size}"
                )
        self.edge_attr = edge_rows("Block: edge_attr", edge_attr, self.num_edges)

    @classmethod
    def from_neighbours(
        cls,
        dst_ids: np.ndarray,
        indptr: np.ndarray,
        neighbours: np.ndarray,
        num_nodes: int,
        *,
        merge: bool = True,
        edge_ids: np.ndarray | None = None,
        edge_attr: Any = None,
    ) -> "Block":
        """The block in which destination dst_ids[i] gathers neighbours[indptr[i]:indptr[i + 1]].

        dst_ids and neighbours are original node ids, below num_nodes. With `merge` (dst_ids
        distinct) a node is one source, however often it is met: the destinations, then new nodes
        in the order met. Without, every neighbour is a source of its own: num_src = num_dst + E.
        """
        most = dst_ids.size + neighbours.size
        _expect_countable(min(most, num_nodes) if merge else most)
        if merge:
            src_ids, indices = merge_ids(dst_ids, neighbours, num_nodes)
        else:
            src_ids = np.concatenate([dst_ids, neighbours])
            indices = np.arange(dst_ids.size, src_ids.size, dtype=np.int32)
        edges = {"edge_ids": edge_ids, "edge_attr": edge_attr}
        return cls(indptr, read_only(indices), src_ids.size, read_only(src_ids), **edges)

    @property
    def num_dst(self) -> int:
        return self.indptr.size - 1

    @property
    def num_src(self) -> int:
        return self.src_ids.size

    @property
    def num_edges(self) -> int:
        return self.indices.size

    @property
    def edge_dim(self) -> int:
        """B, how many features an edge has; 0 without any."""
        return 0 if self.edge_attr is None else self.edge_attr.shape[1]

    def with_edge_attr(self, edge_attr: Any) -> "Block":
        """The same block whose edges have the features `edge_attr`, (E, B), or None.

        A Tensor is kept as it is, so that gradients can reach it.
        """
        other = copy.copy(self)
        other.edge_attr = edge_rows("Block: edge_attr", edge_attr, self.num_edges)
        return other

    @cached_property
    def transpose(self) -> Transpose:
        """The same edges grouped by source (a stable counting sort, done on first use)."""
        if self._host is not None:
            transposed = self._host.transpose
            there = Transpose(*to_device_together(transposed, device_of(self.indptr)))
            note_longest_row(there.indptr, _longest(transposed.indptr))
            return there
        indptr, edge_ids = counting_sort(self.indices, self.num_src)
        rows = np.repeat(np.arange(self.num_dst, dtype=np.int32), np.diff(self.indptr))
        return Transpose(read_only(indptr), read_only(rows[edge_ids]), read_only(edge_ids))

    def to(self, device: str) -> "Block":
        """The block with indptr, indices and edge_attr on `device` (see to_device).

        The transpose goes along if it is made already; else it is made on the host, and follows,
        when a gradient asks for it. src_ids stay: they say which rows to fetch on the host.
        """
        host = self._host or self
        if device == "cpu":
            return host
        return host.made_of(to_device_together(host.offsets(), device))

    def offsets(self) -> list[np.ndarray]:
        """What `to` sends of a block on the host: indptr, indices, and the transpose's if made."""
        return [self.indptr, self.indices, *vars(self).get("transpose", ())]

    def made_of(self, arrays: Sequence[Any]) -> "Block":
        """This block of the host on a device, from its offsets there."""
        there = copy.copy(self)
        there._host = self
        transposed = vars(there).pop("transpose", None)
        there.indptr, there.indices, *moved = arrays
        note_longest_row(there.indptr, _longest(self.indptr))
        if transposed is not None:
            there.transpose = Transpose(*moved)
            note_longest_row(there.transpose.indptr, _longest(transposed.indptr))
        if self.edge_attr is not None:
            there.edge_attr = to_device(self.edge_attr, device_of(there.indptr))
        return there

    def _shown(self) -> dict[str, Any]:
        return {
            "num_dst": self.num_dst,
            "num_src": self.num_src,
            "num_edges": self.num_edges,
            "edge_attr": self.edge_attr,
        }


def _expect_countable(num_src: int) -> None:
    if num_src > MAX_SOURCES:
        raise GraphError(f"Block: {num_src} sources are more than 2^31 - 1; take fewer seeds")


def _longest(indptr: np.ndarray) -> int:
    """The most edges of a row."""
    return int(np.diff(indptr).max(initial=0))
