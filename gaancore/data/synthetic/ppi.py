"""A look-alike of PPI that needs no download, small enough for a first run and for tests.

Its labels are made so that the neighbours matter AND which of them matters depends on the node
itself: a model that looks at the node alone, or that averages all neighbours, cannot reach the
ceiling, one that attends can. It says nothing about scores on PPI.
"""

import os

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.data.nodes.store.writer import store_writer
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph
from gaancore.seeding import generator

NUM_LABELS = 121
NUM_FAMILIES = 3  # features 0 to 2: one-hot, the family of the protein
NUM_SIGNALS = 8  # features 3 to 10: what a protein tells its neighbours
NUM_FEATURES = 50  # the others have no influence and are as sparse as PPI's
EDGES_PER_NODE = 9  # drawn; merging repeats leaves about 7, a mean degree of 14
FLIP = 0.02


def synthetic_ppi(seed: int = 0, *, num_graphs: int = 8, nodes_per_graph: int = 300) -> NodeDataset:
    r"""Several graphs of proteins: all for training but the last two (validation, test).

    Graph : heavy-tailed degrees around a mean of 14; an edge i-j is drawn with probability
            proportional to w_i w_j, log w normal, whatever the features of i and j.
    Truth : with f_i the family of node i (one of 3), s_i its 8 binary signals, and M_i the
            neighbours of i in its own family,

                m_i   = mean of s_j over j in M_i (0 if there is none)
                y*_ic = [ a_c . m_i + b_c . s_i > t_c ]

            with m and s scaled to unit variance, a ~ N(0, 1) and b ~ N(0, 1/4), the same for all
            graphs. t_c gives label c its frequency, drawn to be like PPI's (9 % to 88 %, about
            30 % on average).
    Noise : every y*_ic is flipped with probability 0.02, independently of everything.

    `ceiling` is the micro-F1 of y* itself against the flipped labels of the test graph. No model
    can do better except by luck: F1 is best when a label is predicted where its probability
    exceeds half of that F1, and here the probabilities are 0.98 and 0.02. It is measured on this
    draw.

    The same arguments give the same bits. Raises SettingsError below 3 graphs of 20 nodes.

    >>> from gaancore.data import synthetic_ppi
    >>> synthetic_ppi(num_graphs=3, nodes_per_graph=20).labels.shape
    (60, 121)
    """
    if num_graphs < 3 or nodes_per_graph < 20:
        raise SettingsError(
            f"synthetic_ppi: needs at least 3 graphs of 20 nodes, got {num_graphs} of "
            f"{nodes_per_graph}"
        )
    rng = generator(seed, "synthetic_ppi")
    graph = CSRGraph.disjoint_union([_draw_graph(rng, nodes_per_graph) for _ in range(num_graphs)])
    graph_ids = np.repeat(np.arange(num_graphs), nodes_per_graph)
    split = np.full(graph.num_nodes, TRAIN)
    split[graph_ids == num_graphs - 2] = VALIDATION
    split[graph_ids == num_graphs - 1] = TEST
    families = rng.integers(NUM_FAMILIES, size=graph.num_nodes)
    signals = rng.random((graph.num_nodes, NUM_SIGNALS)) < 0.4
    others = rng.random((graph.num_nodes, NUM_FEATURES - NUM_FAMILIES - NUM_SIGNALS)) < 0.02
    features = np.hstack([families[:, None] == np.arange(NUM_FAMILIES), signals, others])

    messages = mean_of_matching(graph, families, signals)
    truth = _draw_truth(rng, messages, signals)
    labels = truth ^ (rng.random(truth.shape) < FLIP)
    tested = split == TEST
    hits = np.count_nonzero(truth[tested] & labels[tested])
    ceiling = 2 * hits / (np.count_nonzero(truth[tested]) + np.count_nonzero(labels[tested]))
    raw = RawDataset(
        path=None,
        graph=graph,
        features=features,
        labels=labels,
        split=split,
        node_ids=np.arange(graph.num_nodes),
        graph_ids=graph_ids,
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "synthetic_ppi"),
        notes=("synthetic data: its scores say nothing about PPI",),
    )
    return make_dataset(
        raw, name="synthetic-ppi", multi_label=True, kind="synthetic", ceiling=ceiling
    )


def write_synthetic_ppi(path: str | os.PathLike[str], seed: int = 0) -> None:
    """Write the same dataset to a store, whose nodes are in the order of their splits already.

    Raises DataError if `path` exists or cannot be written.
    """
    data = synthetic_ppi(seed)
    assert data.graph_ids is not None
    with store_writer(path) as writer:
        writer.save("indptr", data.graph.indptr)
        writer.save("indices", data.graph.indices)
        writer.save("features", data.features)
        writer.save("labels", data.labels)
        writer.save("split", data.split)
        writer.save("graph_id", data.graph_ids)
        writer.finish(
            name=data.name,
            kind=data.kind,
            num_classes=data.num_classes,
            num_self_loops=data.graph.num_self_loops,
            notes=[*data.notes, f"drawn with seed {seed}"],
            ceiling=data.ceiling,
        )


def mean_of_matching(graph: CSRGraph, families: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """m_i: the mean of `signals` over the neighbours of i in i's own family, 0 if none: (N, S)."""
    src, dst = graph.edges()
    match = families[src] == families[dst]
    src, dst = src[match], dst[match]
    counts = np.bincount(dst, minlength=graph.num_nodes)
    sums = np.stack(
        [np.bincount(dst, signals[src, s], graph.num_nodes) for s in range(signals.shape[1])],
        axis=1,
    )
    return sums / np.maximum(counts, 1)[:, None]


def _draw_graph(rng: np.random.Generator, num_nodes: int) -> CSRGraph:
    weights = np.exp(1.2 * rng.standard_normal(num_nodes))  # 1.2: the spread of PPI's log degrees
    src, dst = rng.choice(
        num_nodes, size=(2, EDGES_PER_NODE * num_nodes), p=weights / weights.sum()
    )
    proper = src != dst
    directed = CSRGraph.from_edges(src[proper], dst[proper], num_nodes, duplicates="merge")
    return directed.undirected()


def _draw_truth(rng: np.random.Generator, messages: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """y*, (N, NUM_LABELS) bool: for each label a half-space of (m_i, s_i)."""
    inputs = np.hstack([messages / messages.std(axis=0), signals / (2 * signals.std(axis=0))])
    weights = rng.standard_normal((inputs.shape[1], NUM_LABELS))
    scores = np.einsum("nf,fc->nc", inputs, weights)  # not BLAS: the same bits for any threads
    frequencies = np.clip(rng.beta(1.6, 3.7, NUM_LABELS), 0.09, 0.88)
    cuts = [np.quantile(scores[:, c], 1 - frequencies[c]) for c in range(NUM_LABELS)]
    return scores > np.array(cuts)
