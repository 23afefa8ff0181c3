"""Features for graphs that have none: from the degrees, from the whole graph, or all alike."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from gaancore.choices import MadeFeatures
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.matrix import FeatureMatrix
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.seeding import generator

VECTORS, EXTRA = 16, 8  # eigenvectors, and columns more that make them come out sooner
MOST_ROUNDS, CLOSE, SHIFT = 100, 1e-6, 1.25


def with_features(raw: RawDataset, how: MadeFeatures) -> RawDataset:
    """`raw` with features for its N nodes, and a note on what they are.

    how : `file`, those of the files; or, in their place,
          `degree`: log(1 + d_i), where d_i is the number of neighbours;
          `ones`: 1 for every node, so that only the shape of the graph counts;
          `spectral`: the leading 16 eigenvectors of D^-1/2 A D^-1/2, each of length sqrt(N) and
          with its largest entry positive (fewer if there are fewer nodes). They belong to this one
          graph: those of another graph mean something else;
          `learned`: the number of the node, see `with_learned`.
    Degrees and eigenvectors are those of the whole graph: training sees, through them, that test
    nodes are there. Raises DataError for `file` if the files have none.
    """
    if how == "file":
        if raw.features.ndim == 2 and raw.features.shape[1] == 0:
            raise DataError(
                f"{raw.path}: the files have no features of the nodes; choose degree, ones or "
                "spectral, which are made of the graph, or learned, which belong to its nodes "
                "alone (features), or add some to the files"
            )
        return raw
    sources = {**raw.sources, "features": str(raw.path)}
    if how == "learned":
        numbers, told = one_hot(raw.graph.num_nodes), (*raw.notes, *_not_used(raw.features))
        return replace(raw, features=numbers, feature_names=None, sources=sources, notes=told)
    graph = raw.graph.to_csr().with_edge_attr(None).undirected().self_loops("drop")
    degrees = np.diff(graph.indptr)
    names: tuple[str, ...] | None
    seen = "of the whole graph, in training too"
    if how == "degree":
        features, names, what = np.log1p(degrees)[:, None], ("degree",), f"log(1 + degree) {seen}"
    elif how == "ones":
        features, names, what = np.ones((degrees.size, 1)), ("one",), "1 for every node"
    else:
        features = leading_eigenvectors(graph, VECTORS)
        names = tuple(f"spectral[{at}]" for at in range(features.shape[1]))
        what = f"{features.shape[1]} eigenvectors {seen}; those of another graph mean others"
    notes = [f"features: {what}", *_not_used(raw.features)]
    return replace(
        raw,
        features=features.astype(np.float32),
        feature_names=names,
        sources=sources,
        notes=(*raw.notes, *notes),
    )


def _not_used(features: FeatureMatrix) -> list[str]:
    count = features.shape[1] if features.ndim == 2 else 0
    return [f"{count:,} features of the files are not used"] if count else []


def with_learned(dataset: NodeDataset) -> NodeDataset:
    """`dataset` whose only feature of a node is which one it is, for a model to learn the rest: a
    row of numbers for each node (see nn.Embedding). A note says so.
    """
    note = "features: learned, a row of numbers for each node of this graph; no other has them"
    return replace(
        dataset,
        features=one_hot(dataset.num_nodes),
        feature_names=None,
        learned=True,
        notes=(*dataset.notes, note),
    )


def one_hot(count: int) -> sparse.csr_array:
    """(count, count) 1 on the diagonal."""
    return sparse.csr_array(sparse.eye_array(count, dtype=np.float32, format="csr"))


def leading_eigenvectors(graph: CSRGraph, count: int) -> np.ndarray:
    """(N, min(count, N)) float64: eigenvectors of D^-1/2 A D^-1/2 of an undirected graph, by
    falling eigenvalue, each of length sqrt(N), its largest entry positive. Rows of nodes without a
    neighbour are 0 but where an eigenvector lies in them alone.

    Orthogonal iteration with (s I + D^-1/2 A D^-1/2) / (s + 1), s = 1.25, whose eigenvalues are
    positive, and Rayleigh and Ritz's quotients at the end. Sums run in one order, whatever the
    threads: the same graph has the same bits.
    """
    size = graph.num_nodes
    width = min(count + EXTRA, size)
    if not size:
        return np.zeros((0, 0))
    degrees = np.diff(graph.indptr)
    roots = np.where(degrees, degrees.clip(1) ** -0.5, 0.0)
    rows = np.repeat(np.arange(size), degrees)
    weights = roots[rows] * roots[graph.indices]
    matrix = sparse.csr_array((weights, graph.indices, graph.indptr), shape=(size, size))
    block = _orthonormal(generator(0, "spectral features").standard_normal((size, width)))
    values = np.zeros(width)
    for _ in range(MOST_ROUNDS):
        for _ in range(3):
            block = (SHIFT * block + matrix @ block) / (SHIFT + 1)
        block = _orthonormal(block)
        image = matrix @ block
        last, (values, turn) = values, np.linalg.eigh(_inner(block, image))
        if np.abs(values - last).max() < CLOSE:
            break
    vectors = _times(block, turn[:, ::-1][:, : min(count, size)])
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    found: np.ndarray = vectors * signs * np.sqrt(size)
    return found


def _orthonormal(block: np.ndarray) -> np.ndarray:
    """The columns made orthonormal, one after the other, twice for the rounding."""
    out = block.T.copy()
    for at in range(len(out)):
        for _ in range(2):
            for before in out[:at]:
                out[at] -= (before * out[at]).sum() * before
        out[at] /= np.sqrt((out[at] ** 2).sum())
    return np.ascontiguousarray(out.T)


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a' b, symmetrised, without BLAS, whose sums depend on its threads."""
    columns = np.ascontiguousarray(b.T)
    found = np.array([[(left * right).sum() for right in columns] for left in a.T.copy()])
    return (found + found.T) / 2


def _times(block: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """block @ turn, likewise."""
    out = np.zeros((len(block), turn.shape[1]))
    for column, weights in zip(block.T, turn, strict=True):
        out += column[:, None] * weights
    return out
