"""A directed graph in compressed sparse rows: row i lists the sources of the edges into node i."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Literal, get_args

import numpy as np
import scipy  # whose modules are imported at their first use
from numpy.typing import ArrayLike

from gaancore.choices import SelfLoops
from gaancore.errors import GraphError
from gaancore.graph.block import Block
from gaancore.graph.checks import (
    columns,
    edge_ends,
    edge_rows,
    index_dtype,
    integers,
    node_ids,
    offsets,
    read_only,
    whole_number,
)
from gaancore.graph.counting_sort import sorted_order, sorted_rows
from gaancore.graph.ordered_rows import (
    Reduction,
    count_inside,
    count_loops_and_repeats,
    fill_inside,
    merge_repeats,
    one_below_another,
    places_of_rows,
    rows_are_symmetric,
    rows_ascend,
    rows_both_ways,
    rows_inside,
    rows_of_all,
    rows_with_loops,
    runs_of_rows,
    some_rows,
)
from gaancore.system.mapped import forget_pages, room_for_part

EDGES_AT_A_TIME = 4_000_000  # of a stream of them

Duplicates = Literal["merge", "keep"]


class CSRGraph:
    """The neighbourhoods N_i of all nodes; an edge src -> dst is an entry src in row dst.

    indptr  : (N + 1,) int64; node i gathers from indices[indptr[i]:indptr[i + 1]].
    indices : (E,) int32 while N < 2^31, else int64; ascending within a row. Two equal entries are
              two edges: both are sampled, and both weigh in a softmax.
    edge_attr : (E, B) floats, the features of each entry, or what gives such rows for positions.

    Rows that are not ascending are sorted. The arrays are checked once, here, and read-only from
    then on. Those that are writeable, and views of such, are copied; others (mapped, say) are not.
    Raises GraphError, naming the first wrong entry, if indptr does not rise from 0 to E, an index
    is not a node, a dtype is not integer, or there are not num_nodes rows.

    >>> from gaancore.graph import CSRGraph
    >>> graph = CSRGraph.from_edges([2, 0, 1], [1, 1, 2], num_nodes=3, duplicates="merge")
    >>> graph.degrees.tolist(), graph.indices.tolist()  # node 1 gathers from 0 and 2, node 2 from 1
    ([0, 2, 1], [0, 2, 1])
    """

    edge_attr: Any = None

    def __init__(
        self, indptr: ArrayLike, indices: ArrayLike, num_nodes: int | None = None, *,
        edge_attr: Any = None,
    ) -> None:  # fmt: skip
        entries = integers("CSRGraph: indices", indices)
        self.indptr = offsets("CSRGraph: indptr", indptr, entries.size)
        if num_nodes is not None and num_nodes != self.num_nodes:
            raise GraphError(
                f"CSRGraph: indptr: expected {num_nodes} + 1 offsets, got {self.indptr.size}"
            )
        dtype = index_dtype(self.num_nodes)
        self.indices = columns("CSRGraph: indices", entries, self.indptr, self.num_nodes, dtype)
        self.edge_attr = edge_rows("CSRGraph: edge_attr", edge_attr, self.num_edges)
        if not rows_ascend(self.indptr, self.indices):
            src, dst = self.edges()
            _, indices = sorted_rows(src, dst, self.num_nodes)
            if edge_attr is not None:
                self.edge_attr = read_only(self.edge_attr[sorted_order(src, dst, self.num_nodes)])
            self.indices = read_only(indices)
        forget_pages(self.indices)

    @classmethod
    def from_edges(
        cls, src: ArrayLike, dst: ArrayLike, num_nodes: int, *, duplicates: Duplicates,
        edge_attr: Any = None, reduce: Reduction | None = None,
    ) -> "CSRGraph":  # fmt: skip
        """The graph with edges src[e] -> dst[e], in any order.

        src, dst   : (E,) integers in 0..num_nodes-1.
        num_nodes  : also counts nodes that no edge touches; it is never guessed from the edges.
        duplicates : "merge" makes equal edges one (see num_edges), "keep" leaves them apart.
        edge_attr  : (E, B) floats, the features of each edge.
        reduce     : what the features of edges that are merged become: their "sum", "mean" or
                     "max", or those of the "first" of them in the order given.
        Raises GraphError naming the first edge that leaves the graph, and says if ids look 1-based;
        and if edges with features are merged and `reduce` does not say how.

        >>> merge = {"duplicates": "merge", "reduce": "sum"}  # 1 -> 0 is given twice
        >>> graph = CSRGraph.from_edges([1, 0, 1], [0, 1, 0], 2, edge_attr=[[1], [5], [2]], **merge)
        >>> graph.indices.tolist(), graph.edge_attr.tolist()
        ([1, 0], [[3.0], [5.0]])
        """
        num_nodes = whole_number("from_edges: num_nodes", num_nodes, 0)
        if duplicates not in get_args(Duplicates):
            raise GraphError(f"from_edges: duplicates: expected merge or keep, got {duplicates!r}")
        src, dst = edge_ends("from_edges", src, dst, num_nodes)
        indptr, indices = sorted_rows(src, dst, num_nodes)
        rows = edge_rows("from_edges: edge_attr", edge_attr, src.size)
        if rows is not None:
            rows = read_only(rows[sorted_order(src, dst, num_nodes)])
        if duplicates == "merge":
            indptr, indices, rows = merge_repeats(indptr, indices, rows, reduce)
        return cls(read_only(indptr), read_only(indices), edge_attr=rows)

    @classmethod
    def from_scipy(cls, matrix: Any, *, duplicates: Duplicates) -> "CSRGraph":
        """The graph of a square SciPy sparse matrix or array: A[i, j] != 0 is an edge j -> i.

        Values are otherwise ignored. Stored zeros are no edges; entries stored twice are
        duplicates, not summed. Raises GraphError if it is not sparse or not square.
        """
        if not scipy.sparse.issparse(matrix):
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
        dtype = index_dtype(sum(graph.num_nodes for graph in graphs))
        indptr, indices = one_below_another([(g.indptr, g.indices) for g in graphs], dtype)
        rows = rows_of_all([graph.edge_attr for graph in graphs])
        return cls(read_only(indptr), read_only(indices), edge_attr=rows)

    def with_edge_attr(self, edge_attr: Any) -> "CSRGraph":
        """The same graph, its arrays shared, whose entries have the features `edge_attr`."""
        other = copy(self)
        other.edge_attr = edge_rows("CSRGraph: edge_attr", edge_attr, self.num_edges)
        return other

    @property
    def num_nodes(self) -> int:
        return self.indptr.size - 1

    @property
    def num_edges(self) -> int:
        return self.indices.size

    @property
    def edge_dim(self) -> int:
        """B, how many features an edge has; 0 without any."""
        return 0 if self.edge_attr is None else self.edge_attr.shape[1]

    def of_edges(self, entries: np.ndarray, ids: bool = False) -> dict[str, Any]:
        """What a Block is told of its edges, which are `entries`; `ids`: also without features."""
        if self.edge_attr is None:
            return {"edge_ids": read_only(entries)} if ids else {}
        return {"edge_ids": read_only(entries), "edge_attr": read_only(self.edge_attr[entries])}

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
        for row, stop in runs_of_rows(self.indptr, EDGES_AT_A_TIME):
            rows = np.arange(row, stop, dtype=self.indices.dtype)
            src = self.indices[self.indptr[row] : self.indptr[stop]]
            yield src, np.repeat(rows, np.diff(self.indptr[row : stop + 1]))

    def to_csr(self) -> "CSRGraph":
        """The graph itself; an ArcList has to put its arcs in order."""
        return self

    def transpose(self) -> "CSRGraph":
        """Every edge reversed, with its features."""
        src, dst = self.edges()
        arcs = (dst, src, self.num_nodes)
        return CSRGraph.from_edges(*arcs, duplicates="keep", edge_attr=self.edge_attr)

    def undirected(self, *, reduce: Reduction | None = None, direction: bool = False) -> "CSRGraph":
        """Both directions of every edge, each of them once; a self-loop once.

        A direction that is stored keeps its own features, another takes those of its reverse.
        Repeats of an arc are merged as `reduce` says (see from_edges).
        direction : one more feature, 1 on the arcs that are stored and 0 on those that are added.
        """
        if direction and self.edge_attr is None:
            raise GraphError("undirected: direction: the edges have no features to add it to")
        if not direction and self.is_symmetric() and not self.num_repeats:
            return self
        src, dst = self.edges()
        if self.edge_attr is not None and self.num_repeats:
            merge = {"duplicates": "merge", "edge_attr": self.edge_attr, "reduce": reduce}
            once = CSRGraph.from_edges(src, dst, self.num_nodes, **merge)
            return once.undirected(direction=direction)
        arcs = (np.concatenate([src, dst]), np.concatenate([dst, src]), self.num_nodes)
        rows = rows_both_ways(self.edge_attr, direction)
        # equal arcs stay in the order given: what is stored comes before what is added
        return CSRGraph.from_edges(*arcs, duplicates="merge", edge_attr=rows, reduce="first")

    def is_symmetric(self) -> bool:
        """Whether every edge has its reverse, equally often; features are not looked at."""
        return rows_are_symmetric(self.indptr, self.indices)

    def self_loops(self, mode: SelfLoops) -> "CSRGraph":
        """`keep` changes nothing, `drop` removes all loops, `add` gives each node exactly one.

        A loop that is added has the mean features of all edges, one that was there its own.
        """
        if mode not in get_args(SelfLoops):
            raise GraphError(f"self_loops: expected keep, drop or add, got {mode!r}")
        if mode == "keep" or (mode == "drop" and not self.num_self_loops):
            return self
        src, dst = self.edges()
        proper = src != dst
        loops = np.arange(self.num_nodes if mode == "add" else 0, dtype=src.dtype)
        rows = rows_with_loops(self.edge_attr, src, proper, loops.size)
        src, dst = np.concatenate([src[proper], loops]), np.concatenate([dst[proper], loops])
        arcs = (src, dst, self.num_nodes)
        return CSRGraph.from_edges(*arcs, duplicates="keep", edge_attr=rows)

    def induced_subgraph(self, nodes: ArrayLike) -> "CSRGraph":
        """The given nodes, renumbered 0, 1, ... in their order, and the edges among them.

        nodes : distinct ids, or a bool mask (N,). Raises GraphError for a repeat or an unknown id.
        """
        ids = node_ids("induced_subgraph: nodes", nodes, self.num_nodes)
        new_id = np.full(self.num_nodes, -1, self.indices.dtype)
        new_id[ids] = np.arange(ids.size)
        inside = (self.indptr, self.indices, ids, new_id)
        indptr = count_inside(*inside)
        indices = room_for_part(self.indices, int(indptr[-1]))
        fill_inside(*inside, indices)
        rows = rows_inside(*inside, indptr, self.edge_attr)
        return CSRGraph(read_only(indptr), read_only(indices), edge_attr=rows)

    def connected_components(self) -> np.ndarray:
        """(N,) int64: the component of each node, edges both ways, numbered by lowest node."""
        ones = np.ones(self.num_edges, np.int8)
        shape = (self.num_nodes, self.num_nodes)
        matrix = scipy.sparse.csr_array((ones, self.indices, self.indptr), shape=shape)
        _, labels = scipy.sparse.csgraph.connected_components(matrix, connection="weak")
        return labels.astype(np.int64)

    def full_block(self) -> Block:
        """The whole graph as one block: every node is a destination and keeps its id."""
        edges = self.of_edges(np.arange(self.num_edges)) if self.edge_dim else {}
        return Block(self.indptr, self.indices, self.num_nodes, **edges)

    def block_of(self, dst_ids: ArrayLike) -> Block:
        """The given nodes with their whole neighbourhoods.

        dst_ids : distinct ids, or a bool mask (N,). Sources are the destinations first, then new
        nodes in the order met. Raises GraphError for a repeat or a node outside the graph.
        """
        ids = node_ids("block_of: dst_ids", dst_ids, self.num_nodes)
        indptr, neighbours = some_rows(self.indptr, self.indices, ids)
        edges = self.of_edges(places_of_rows(self.indptr, ids)) if self.edge_dim else {}
        given = (ids, read_only(indptr), read_only(neighbours), self.num_nodes)
        return Block.from_neighbours(*given, **edges)

    def __repr__(self) -> str:
        return f"CSRGraph(num_nodes={self.num_nodes}, num_edges={self.num_edges})"
