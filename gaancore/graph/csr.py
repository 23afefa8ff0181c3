"""A directed graph in compressed sparse rows: row i lists the sources of the edges into node i."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from gaancore.errors import GraphError
from gaancore.graph.block import Block
from gaancore.graph.checks import (
    columns,
    edge_ends,
    index_dtype,
    integers,
    node_ids,
    offsets,
    read_only,
    whole_number,
)
from gaancore.graph.counting_sort import sorted_rows
from gaancore.graph.ordered_rows import (
    count_inside,
    count_loops_and_repeats,
    fill_inside,
    rows_are_symmetric,
    rows_ascend,
    some_rows,
)
from gaancore.system.mapped import forget_pages, room_for_part

EDGES_AT_A_TIME = 4_000_000  # of a stream of them

Duplicates = Literal["merge", "keep"]
SelfLoops = Literal["keep", "drop", "add"]


class CSRGraph:
    """The neighbourhoods N_i of all nodes; an edge src -> dst is an entry src in row dst.

    indptr  : (N + 1,) int64; node i gathers from indices[indptr[i]:indptr[i + 1]].
    indices : (E,) int32 while N < 2^31, else int64; ascending within a row. Two equal entries are
              two edges: both are sampled, and both weigh in a softmax.

    Rows that are not ascending are sorted. The arrays are checked once, here, and read-only from
    then on. Arrays that are writeable, and read-only views of such, are copied; other read-only
    ones (memory-mapped, say) are shared.
    Raises GraphError, naming the first wrong entry, if indptr does not rise from 0 to E, an index
    is not a node, a dtype is not integer, or there are not num_nodes rows.

    >>> from gaancore.graph import CSRGraph
    >>> graph = CSRGraph.from_edges([2, 0, 1], [1, 1, 2], num_nodes=3, duplicates="merge")
    >>> graph.degrees.tolist(), graph.indices.tolist()  # node 1 gathers from 0 and 2, node 2 from 1
    ([0, 2, 1], [0, 2, 1])
    """

    def __init__(self, indptr: ArrayLike, indices: ArrayLike, num_nodes: int | None = None) -> None:
        entries = integers("CSRGraph: indices", indices)
        self.indptr = offsets("CSRGraph: indptr", indptr, entries.size)
        if num_nodes is not None and num_nodes != self.num_nodes:
            raise GraphError(
                f"CSRGraph: indptr: expected {num_nodes} + 1 offsets, got {self.indptr.size}"
            )
        dtype = index_dtype(self.num_nodes)
        self.indices = columns("CSRGraph: indices", entries, self.indptr, self.num_nodes, dtype)
        if not rows_ascend(self.indptr, self.indices):
            _, indices = sorted_rows(*self.edges(), self.num_nodes)
            self.indices = read_only(indices)
        forget_pages(self.indices)

    @classmethod
    def from_edges(
        cls, src: ArrayLike, dst: ArrayLike, num_nodes: int, *, duplicates: Duplicates
    ) -> "CSRGraph":
        """The graph with edges src[e] -> dst[e], in any order.

        src, dst   : (E,) integers in 0..num_nodes-1.
        num_nodes  : also counts nodes that no edge touches; it is never guessed from the edges.
        duplicates : "merge" makes equal edges one (see num_edges), "keep" leaves them apart.
        Raises GraphError naming the first edge that leaves the graph, and says if ids look 1-based.
        """
        num_nodes = whole_number("from_edges: num_nodes", num_nodes, 0)
        if duplicates not in get_args(Duplicates):
            raise GraphError(f"from_edges: duplicates: expected merge or keep, got {duplicates!r}")
        src, dst = edge_ends("from_edges", src, dst, num_nodes)
        indptr, indices = sorted_rows(src, dst, num_nodes)
        if duplicates == "merge":
            indptr, indices = _without_repeats(indptr, indices)
        return cls(read_only(indptr), read_only(indices))

    @classmethod
    def from_scipy(cls, matrix: Any, *, duplicates: Duplicates) -> "CSRGraph":
        """The graph of a square SciPy sparse matrix or array: A[i, j] != 0 is an edge j -> i.

        Values are otherwise ignored. Stored zeros are no edges; entries that are stored twice are
        duplicates, not summed. Raises GraphError if the matrix is not sparse or not square.
        """
        if not sparse.issparse(matrix):
            raise GraphError(f"from_scipy: expected a sparse matrix, got {type(matrix).__name__}")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise GraphError(f"from_scipy: expected a square matrix, got shape {matrix.shape}")
        entries = matrix.tocoo()
        stored = entries.data != 0
        return cls.from_edges(
            entries.col[stored], entries.row[stored], matrix.shape[0], duplicates=duplicates
        )

    @classmethod
    def disjoint_union(cls, graphs: Sequence["CSRGraph"]) -> "CSRGraph":
        """All graphs side by side, without edges between them; ids continue from graph to graph."""
        nodes = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
        edges = np.cumsum([0, *(graph.num_edges for graph in graphs)])
        dtype = index_dtype(int(nodes[-1]))
        indptr = [graph.indptr[1:] + start for graph, start in zip(graphs, edges[:-1], strict=True)]
        indices = [
            graph.indices.astype(dtype) + start.astype(dtype)
            for graph, start in zip(graphs, nodes[:-1], strict=True)
        ]
        return cls(
            read_only(np.concatenate([np.zeros(1, np.int64), *indptr])),
            read_only(np.concatenate([np.zeros(0, dtype), *indices])),
        )

    @property
    def num_nodes(self) -> int:
        return self.indptr.size - 1

    @property
    def num_edges(self) -> int:
        return self.indices.size

    @property
    def degrees(self) -> np.ndarray:
        """|N_i|, the number of incoming edges of each node: (N,) int64."""
        return np.diff(self.indptr)

    @property
    def num_self_loops(self) -> int:
        """How many edges lead from a node to itself."""
        loops, _ = count_loops_and_repeats(self.indptr, self.indices)
        return loops

    @property
    def num_repeats(self) -> int:
        """How many edges are another copy of an edge before them."""
        _, repeats = count_loops_and_repeats(self.indptr, self.indices)
        return repeats

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """src and dst of every edge, (E,) each, in CSR order: by dst, then by src."""
        nodes = np.arange(self.num_nodes, dtype=self.indices.dtype)
        return self.indices, np.repeat(nodes, self.degrees)

    def edge_chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The same in chunks, runs of rows with about EDGES_AT_A_TIME edges (or one row) each."""
        stops = self.indptr[1:]
        row = 0
        while row < self.num_nodes:
            most = self.indptr[row] + EDGES_AT_A_TIME
            stop = max(row + 1, int(np.searchsorted(stops, most, side="right")))
            rows = np.arange(row, stop, dtype=self.indices.dtype)
            src = self.indices[self.indptr[row] : self.indptr[stop]]
            yield src, np.repeat(rows, np.diff(self.indptr[row : stop + 1]))
            row = stop

    def to_csr(self) -> "CSRGraph":
        """The graph itself; an ArcList has to put its arcs in order."""
        return self

    def transpose(self) -> "CSRGraph":
        """Every edge reversed."""
        src, dst = self.edges()
        return CSRGraph.from_edges(dst, src, self.num_nodes, duplicates="keep")

    def undirected(self) -> "CSRGraph":
        """Both directions of every edge, each of them once; a self-loop once."""
        if self.is_symmetric() and not self.num_repeats:
            return self
        src, dst = self.edges()
        both_src, both_dst = np.concatenate([src, dst]), np.concatenate([dst, src])
        return CSRGraph.from_edges(both_src, both_dst, self.num_nodes, duplicates="merge")

    def is_symmetric(self) -> bool:
        """Whether every edge has its reverse, equally often."""
        return rows_are_symmetric(self.indptr, self.indices)

    def self_loops(self, mode: SelfLoops) -> "CSRGraph":
        """`keep` changes nothing, `drop` removes all loops, `add` gives each node exactly one."""
        if mode not in get_args(SelfLoops):
            raise GraphError(f"self_loops: expected keep, drop or add, got {mode!r}")
        if mode == "keep" or (mode == "drop" and not self.num_self_loops):
            return self
        src, dst = self.edges()
        proper = src != dst
        loops = np.arange(self.num_nodes if mode == "add" else 0, dtype=src.dtype)
        src, dst = np.concatenate([src[proper], loops]), np.concatenate([dst[proper], loops])
        return CSRGraph.from_edges(src, dst, self.num_nodes, duplicates="keep")

    def induced_subgraph(self, nodes: ArrayLike) -> "CSRGraph":
        """The given nodes, renumbered 0, 1, ... in their order, and the edges among them.

        nodes : distinct ids, or a bool mask (N,). Raises GraphError for a repeat or an unknown id.
        """
        ids = node_ids("induced_subgraph: nodes", nodes, self.num_nodes)
        new_id = np.full(self.num_nodes, -1, self.indices.dtype)
        new_id[ids] = np.arange(ids.size)
        indptr = count_inside(self.indptr, self.indices, ids, new_id)
        indices = room_for_part(self.indices, int(indptr[-1]))
        fill_inside(self.indptr, self.indices, ids, new_id, indices)
        return CSRGraph(read_only(indptr), read_only(indices))

    def connected_components(self) -> np.ndarray:
        """(N,) int64: the component of each node, edges both ways, numbered by lowest node."""
        ones = np.ones(self.num_edges, np.int8)
        shape = (self.num_nodes, self.num_nodes)
        matrix = sparse.csr_array((ones, self.indices, self.indptr), shape=shape)
        _, labels = csgraph.connected_components(matrix, connection="weak")
        return labels.astype(np.int64)

    def full_block(self) -> Block:
        """The whole graph as one block: every node is a destination and keeps its id."""
        return Block(self.indptr, self.indices, self.num_nodes)

    def block_of(self, dst_ids: ArrayLike) -> Block:
        """The given nodes with their whole neighbourhoods.

        dst_ids : distinct ids, or a bool mask (N,). Sources are the destinations first, then new
        nodes in the order met. Raises GraphError for a repeat or a node outside the graph.
        """
        ids = node_ids("block_of: dst_ids", dst_ids, self.num_nodes)
        indptr, neighbours = some_rows(self.indptr, self.indices, ids)
        return Block.from_neighbours(ids, read_only(indptr), read_only(neighbours), self.num_nodes)

    def __repr__(self) -> str:
        return f"CSRGraph(num_nodes={self.num_nodes}, num_edges={self.num_edges})"


def _without_repeats(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same rows, ascending, with equal neighbours merged."""
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    new = np.ones(indices.size, bool)
    new[1:] = (indices[1:] != indices[:-1]) | (rows[1:] != rows[:-1])
    merged = np.searchsorted(rows[new], np.arange(indptr.size))
    return read_only(merged), read_only(indices[new])
