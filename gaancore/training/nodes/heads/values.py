"""What the heads do for chosen nodes: the gates they pass through, how sharp their attention is."""

from collections.abc import Callable, Iterator

import numpy as np
import scipy  # whose modules are imported at their first use

from gaancore.array import device_of, to_device, to_numpy
from gaancore.graph.block import Block
from gaancore.graph.csr import CSRGraph
from gaancore.graph.ordered_rows import places_of_rows, some_rows
from gaancore.nn.linear import parts_of
from gaancore.nn.observe import AttentionLayer, Seen
from gaancore.parallel import Team
from gaancore.tensor import Tensor

EDGES_AT_A_TIME = 2_000_000  # whose attention weights are computed; a node's stay together

Measure = Callable[[Seen, np.ndarray], np.ndarray | None]


class HeadValues:
    """An observer (see observing) that keeps one number for each chosen node, layer and head.

    nodes   : distinct ids of the graph, which has num_nodes.
    measure : measure(seen, rows) -> (len(rows), K) for some destinations of a block, or None for a
              layer without gates: gate_values or attention_entropy.

    A node is measured where it is a destination. Where a sampled pass meets it more than once in a
    layer, with other neighbours each time, the last time counts.
    """

    def __init__(self, nodes: np.ndarray, num_nodes: int, measure: Measure) -> None:
        self.measure = measure
        self.count = nodes.size
        self.row_of = np.full(num_nodes, -1)
        self.row_of[nodes] = np.arange(nodes.size)
        self._values: dict[AttentionLayer, np.ndarray] = {}

    def __call__(self, seen: Seen) -> None:
        rows = self.row_of[seen.block.src_ids[: seen.block.num_dst]]
        chosen = np.flatnonzero(rows >= 0)
        if (measured := self.measure(seen, chosen)) is not None:
            if seen.layer not in self._values:
                self._values[seen.layer] = np.full((self.count, measured.shape[1]), np.nan)
            self._values[seen.layer][rows[chosen]] = measured

    @property
    def layers(self) -> list[np.ndarray]:
        """(len(nodes), K) float64 of each layer that was seen, from the features on."""
        return list(self._values.values())

    def of_all(self, team: Team) -> list[np.ndarray]:
        """`layers` as all ranks have seen them; of those that met a node, the last rank counts."""
        if team.size == 1:
            return self.layers
        found = [layers for layers in team.all(self.layers) if layers]
        whole = found[0] if found else []
        for layers in found[1:]:
            pairs = zip(whole, layers, strict=True)
            whole = [np.where(np.isnan(later), values, later) for values, later in pairs]
        return whole


class ArcWeights:
    """An observer that keeps the attention weights w_ij^k of each arc into chosen nodes.

    nodes      : distinct ids of `graph`, seen with their whole neighbourhoods.
    indptr     : (len(nodes) + 1,) int64; the arcs into nodes[i] are indptr[i]:indptr[i + 1].
    neighbours : (E,) ids, the sources of these arcs, in the order of the graph.
    """

    def __init__(self, graph: CSRGraph, nodes: np.ndarray) -> None:
        self.indptr, self.neighbours = some_rows(graph.indptr, graph.indices, nodes)
        self.row_of = np.full(graph.num_nodes, -1)
        self.row_of[nodes] = np.arange(nodes.size)
        self._weights: dict[AttentionLayer, np.ndarray] = {}

    def __call__(self, seen: Seen) -> None:
        rows = self.row_of[seen.block.src_ids[: seen.block.num_dst]]
        chosen = np.flatnonzero(rows >= 0)
        if seen.layer not in self._weights:
            shape = self.neighbours.size, seen.layer.num_heads
            self._weights[seen.layer] = np.empty(shape, seen.z.dtype)
        for part, indptr, weights in _weights_in_parts(seen, chosen):
            shift = np.repeat(self.indptr[rows[part]] - indptr[:-1], np.diff(indptr))
            self._weights[seen.layer][np.arange(indptr[-1]) + shift] = weights

    @property
    def layers(self) -> list[np.ndarray]:
        """(E, K) of each layer that was seen, from the features on, in the model's dtype."""
        return list(self._weights.values())


def gate_values(seen: Seen, rows: np.ndarray) -> np.ndarray | None:
    """The gates g_i^k of some destinations, as the layer itself used them."""
    return None if seen.gates is None else to_numpy(seen.gates.data)[rows]


def attention_entropy(seen: Seen, rows: np.ndarray) -> np.ndarray:
    """-sum_j w_ij^k log w_ij^k / log |N_i| of some destinations.

    1 where a head looks at all neighbours alike, 0 where it looks at one alone; NaN for a node with
    fewer than two neighbours, which leave nothing to choose.
    """
    degrees = np.diff(seen.block.to("cpu").indptr)[rows]
    out = np.full((rows.size, seen.layer.num_heads), np.nan)
    chosen = np.flatnonzero(degrees > 1)
    found = [
        np.add.reduceat(scipy.special.entr(weights.astype(np.float64)), indptr[:-1])
        for _, indptr, weights in _weights_in_parts(seen, rows[chosen])
    ]
    if found:
        out[chosen] = np.concatenate(found) / np.log(degrees[chosen])[:, None]
    return out


def _weights_in_parts(
    seen: Seen, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Runs of `rows`, destinations, with about EDGES_AT_A_TIME edges each: the run, its indptr and
    the weights (E, K) on its edges. No run is empty."""
    block, device = seen.block.to("cpu"), device_of(seen.z.data)
    number = (np.cumsum(np.diff(block.indptr)[rows]) - 1) // EDGES_AT_A_TIME
    for part in np.split(rows, np.flatnonzero(np.diff(number)) + 1) if rows.size else []:
        indptr, indices = some_rows(block.indptr, block.indices, part)
        chosen = to_device(part, device)
        x = tuple(Tensor(features.data[chosen]) for features in parts_of(seen.x))
        edges = block.edge_attr
        if edges is not None:
            edges = edges[places_of_rows(block.indptr, part)]
        there = Block(indptr, indices, block.num_src, edge_attr=edges).to(device)
        yield part, indptr, to_numpy(seen.layer.weights(x, seen.z, there).data)


def summary(layers: list[np.ndarray]) -> list[dict[str, list[float]]]:
    """Mean and standard deviation over the nodes, of each layer and head, to six digits."""
    return [
        {
            "mean": np.mean(values, axis=0).round(6).tolist(),
            "std": np.std(values, axis=0).round(6).tolist(),
        }
        for values in layers
    ]
