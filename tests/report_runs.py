"""A small graph of three classes, and names that would be programs if they were markup."""

import numpy as np

import gaancore

HOSTILE = (
    "<script>window.ran=1</script>",
    "</script><script>window.ran=1</script>",
    "<img src=x onerror=window.ran=1>",
    "<a href='https://elsewhere.example/'>here</a>",
    "\"'><svg onload=window.ran=1>",
    "javascript:window.ran=1",
    "{{data}} %{x} ${window.ran=1} &lt;b&gt;",
    "\u202eright to left \u05d0\u05d1",
    "line\u2028end",
    "x" * 10_000,
    " ",
)


def small_graph(
    node_ids: list[str] | None = None, class_names: tuple[str, ...] = ("a", "b", "c")
) -> gaancore.NodeDataset:
    """90 nodes of three classes, which their features tell; a node without neighbours."""
    rng = np.random.default_rng(1)
    label = rng.integers(3, size=90)
    arcs = rng.random((90, 90)) < np.where(label == label[:, None], 0.1, 0.02)
    arcs = np.triu(arcs, 1)
    arcs[:, 5] = arcs[5] = False
    arcs = arcs | arcs.T
    features = rng.standard_normal((90, 6)) + label[:, None] * [1, -1, 0, 0, 0, 0]
    labels = np.array(class_names, object)[label]
    return gaancore.from_scipy(arcs.astype(float), features, labels, node_ids=node_ids)
