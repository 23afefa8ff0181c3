"""Where sensors stand on a map, and at which others the attention of a forecaster looks."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from gaancore.array import to_numpy
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.graph import CSRGraph
from gaancore.nn.observe import Seen, observing
from gaancore.report.values import packed, spread
from gaancore.tensor import no_grad
from gaancore.training.traffic.scores.scorer import ForecastScorer

Run = Any
WINDOWS = 2  # that the attention is a mean over
ARCS = 12  # into one sensor that are drawn, those with most attention


def places(data: TrafficDataset, sensors: np.ndarray) -> dict[str, Any]:
    """x and y of each of `sensors`, from their coordinates, or else from the roads among them; and
    these roads as pairs of sensors.
    """
    graph = data.graph.induced_subgraph(sensors)
    known = data.coordinates
    if known is not None and np.isfinite(known[sensors]).all():
        latitude, longitude = known[sensors].T
        x, y = longitude * np.cos(np.radians(latitude.mean())), latitude
    else:
        known = None
        x, y = by_distance(graph).T
    pairs = np.unique(np.sort(np.stack(graph.edges(), axis=1), axis=1), axis=0)
    return {
        "from_coordinates": known is not None,
        "x": np.asarray(x, float).tolist(),
        "y": np.asarray(y, float).tolist(),
        "roads": pairs.tolist(),
    }


def by_distance(graph: CSRGraph) -> np.ndarray:
    """(N, 2): places of nodes, as far apart as there are arcs between them: classical scaling.

    X = V sqrt(L) of the two largest eigenvalues L of B = -J D^2 J / 2, where D are the lengths of
    shortest paths and J = I - 1/N centres (Torgerson, 1952). Nodes without a path between them are
    one arc farther apart than any that have one.
    """
    count = graph.num_nodes
    if count < 3:
        return np.column_stack([np.arange(count), np.zeros(count)])
    arcs = (np.ones(graph.num_edges), graph.indices, graph.indptr)
    apart = shortest_path(csr_array(arcs, (count, count)), directed=False, unweighted=True)
    reached = np.isfinite(apart)
    apart[~reached] = apart[reached].max() + 1
    squared = apart**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    found = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0))
    largest = np.abs(found).argmax(axis=0)
    return found * np.where(found[largest, [0, 1]] < 0, -1, 1)  # eigenvectors have no sign


def looked_at(run: Run, scorer: ForecastScorer, sensors: np.ndarray) -> dict[str, Any] | None:
    """The attention w_ij of the arcs into `sensors` from each other, a mean over the heads, gates,
    steps and a few windows, of each layer of encoder and decoder. None without attention.
    """
    if run.settings.model not in ("gaan", "attention"):
        return None
    forecaster, graph = run.forecaster, scorer.dataset.graph
    starts = spread(scorer.starts("test"), WINDOWS)
    calls: list[np.ndarray] = []

    def look(seen: Seen) -> None:
        weights = to_numpy(seen.layer.weights(seen.x, seen.z, seen.block).data)
        calls.append(weights.mean(axis=1).reshape(-1, graph.num_edges).mean(axis=0))

    batch = forecaster.windows.cut(starts)
    with observing(look), no_grad():
        forecaster.speeds(forecaster.model, batch, slice(0, starts.size))
    layers = run.settings.num_layers
    of_encoder = 1 + run.settings.history  # calls of a cell: its inputs at once, then each step
    parts = {
        f"encoder, layer {n + 1}": calls[n * of_encoder : (n + 1) * of_encoder]
        for n in range(layers)
    }
    of_decoder = calls[layers * of_encoder :]  # of each step and layer, its input and its state
    for n in range(layers):
        parts[f"decoder, layer {n + 1}"] = (
            of_decoder[2 * n :: 2 * layers] + of_decoder[2 * n + 1 :: 2 * layers]
        )
    found = {name: np.mean(part, axis=0) for name, part in parts.items() if part}
    strength = np.mean(list(found.values()), axis=0)
    target, source, kept = strongest(graph, strength, sensors)
    return {
        "windows": int(starts.size),
        "parts": list(found),
        "targets": target.tolist(),
        "sources": source.tolist(),
        "weights": packed(np.stack([values[kept] for values in found.values()])),
    }


def strongest(
    graph: CSRGraph, strength: np.ndarray, sensors: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the arcs among `sensors`, the ARCS with most attention into each: target and source as
    places in `sensors`, and which arcs of the graph they are.
    """
    place = np.full(graph.num_nodes, -1)
    place[sensors] = np.arange(sensors.size)
    kept = []
    for sensor in sensors:
        arcs = np.arange(graph.indptr[sensor], graph.indptr[sensor + 1])
        arcs = arcs[place[graph.indices[arcs]] >= 0]
        kept.append(arcs[np.argsort(-strength[arcs], kind="stable")[:ARCS]])
    arcs = np.concatenate(kept).astype(np.int64)
    target = np.repeat(np.arange(sensors.size), [part.size for part in kept])
    return target, place[graph.indices[arcs]], arcs
