"""A graph whose labels are in the features of its edges, beside those of its nodes."""

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph
from gaancore.seeding import generator

SHARES = {TRAIN: 0.6, VALIDATION: 0.2, TEST: 0.2}
STEPS = (1, 2, 3, 4)  # neighbours on a ring, to either side; and the node opposite: 9 in all
NUM_FEATURES = 4
FLIP = 0.05
NOTE = "synthetic data: its scores say nothing about any real graph"


def synthetic_trust(seed: int = 0, *, num_nodes: int = 3000) -> NodeDataset:
    r"""People who hear nine others, and trust or distrust each of them.

    Graph  : three rings, one for each split; a node is joined to those up to 4 steps from it, and
             to the one opposite: nine neighbours, so that no vote is a tie.
    Nodes  : an opinion z_i of -1 or 1; features are z_i and three numbers of noise.
    Edges  : trust e_ij of -1 or 1, the same both ways, and a number of noise.
    Labels : whether sum_j e_ij z_j > 0, but turned round with probability 0.05.

    Trust is independent of everything else. Without it the labels are independent of all that is
    left, so a model is right for half of the nodes. `ceiling` is the share of the test nodes whose
    labels were not turned round, which no model can beat except by luck.

    The same arguments give the same bits. Raises SettingsError below 100 nodes.

    >>> from gaancore.data import synthetic_trust
    >>> data = synthetic_trust(num_nodes=300)
    >>> data.graph, data.edge_names
    (CSRGraph(num_nodes=300, num_edges=2700), ('trust', 'noise'))
    """
    if num_nodes < 100:
        raise SettingsError(f"synthetic trust: num_nodes: expected 100 or more, got {num_nodes}")
    rng = generator(seed, "synthetic_trust")
    sizes = {split: 2 * round(num_nodes * share / 2) for split, share in SHARES.items()}
    starts = np.cumsum([0, *sizes.values()])
    pairs = [start + _ring(size) for start, size in zip(starts, sizes.values(), strict=False)]
    src, dst = np.concatenate(pairs, axis=1)
    count = int(starts[-1])
    opinions, trust = rng.choice([-1.0, 1.0], count), rng.choice([-1.0, 1.0], src.size)
    edges = np.column_stack([trust, rng.standard_normal(src.size)]).astype(np.float32)
    graph = CSRGraph.from_edges(src, dst, count, duplicates="keep", edge_attr=edges).undirected()

    votes = np.bincount(dst, trust * opinions[src], count)
    votes += np.bincount(src, trust * opinions[dst], count)
    flipped = rng.random(count) < FLIP
    split = np.repeat(list(sizes), list(sizes.values())).astype(np.int8)
    features = np.column_stack([opinions, rng.standard_normal((count, NUM_FEATURES - 1))])
    return NodeDataset(
        name="synthetic-trust",
        kind="synthetic",
        path=None,
        graph=graph,
        features=features.astype(np.float32),
        labels=((votes > 0) != flipped).astype(np.int64),
        split=split,
        graph_ids=split.astype(np.int64),
        node_ids=np.arange(count),
        num_classes=2,
        class_names=("no", "yes"),
        feature_names=("opinion", *(f"noise {n}" for n in range(1, NUM_FEATURES))),
        edge_names=("trust", "noise"),
        notes=(NOTE,),
        ceiling=float(1 - flipped[split == TEST].mean()),
    )


def _ring(size: int) -> np.ndarray:
    """(2, edges): each edge of a ring of `size` nodes, an even number, one way."""
    nodes = np.arange(size)
    ends = [np.stack([nodes, (nodes + step) % size]) for step in STEPS]
    half = nodes[: size // 2]
    return np.concatenate([*ends, np.stack([half, half + size // 2])], axis=1)
