"""One training step of the Graph GRU at the paper's shape, and its matrix products alone.

207 sensors, batch 64, 12 steps in and 12 out, two layers of 64 units, GaAN with K = 4, d_a = d_v =
16, d_m = 64, variant `paper`; 1,722 arcs as in METR-LA's adjacency with its self-loops; float32.
"""

import statistics
import time

import numpy as np
from products_alone import flop, products_of, seconds_alone

from gaancore.graph.copies import GraphCopies
from gaancore.graph.csr import CSRGraph
from gaancore.models.traffic_forecaster import TrafficForecaster
from gaancore.nn import AggregatorSpec
from gaancore.ops import masked_absolute_error
from gaancore.optim import Adam, clip_grad_norm
from gaancore.system.process import peak_rss_mb, prepare_process, rss_mb
from gaancore.training.pieces import Gradients, pieces

SENSORS, ARCS, BATCH, STEPS = 207, 1722, 64, 12


def road_graph(rng: np.random.Generator) -> CSRGraph:
    """The ARCS shortest ordered pairs of random places, loops first."""
    places = rng.random((SENSORS, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    src, dst = np.divmod(np.argsort(distances, axis=None, kind="stable")[:ARCS], SENSORS)
    return CSRGraph.from_edges(src, dst, SENSORS, duplicates="merge")


def measure(num_threads: int, steps: int) -> dict[str, float]:
    """Median seconds of a step, the memory of the process, and its products."""
    prepare_process(num_threads)
    rng = np.random.default_rng(0)
    copies = GraphCopies(road_graph(rng))
    spec = AggregatorSpec(
        "gaan", "paper", num_heads=4, key_dim=16, value_dim=16, gate_dim=64, mean_in_gate=False
    )
    model = TrafficForecaster(2, spec=spec, hidden_dim=64, num_layers=2, rng=rng)
    shape = (STEPS, BATCH * SENSORS, 2)
    inputs, future = (rng.standard_normal(shape, np.float32) for _ in range(2))
    targets = rng.standard_normal((BATCH * SENSORS, STEPS), np.float32)
    mask = np.ones(targets.shape, bool)
    optimizer, gradient = Adam(model.named_parameters(), 0.001), Gradients(model)

    def learn(twin, part):
        rows = slice(part.start * SENSORS, part.stop * SENSORS)
        speeds = twin(inputs[:, rows], future[:, rows], copies)
        loss = masked_absolute_error(speeds, targets[rows], mask[rows], count=mask.size)
        loss.backward()
        return loss.data

    parts = pieces(BATCH, SENSORS)
    seconds, memory = [], []
    for _ in range(steps + 1):
        clock = time.perf_counter()
        model.zero_grad()
        gradient.of(learn, parts)
        clip_grad_norm(model.named_parameters(), 5.0)
        optimizer.step()
        seconds.append(time.perf_counter() - clock)
        memory.append(rss_mb())
    peak = peak_rss_mb()
    products = products_of(lambda: learn(model, parts[0])) * len(parts)
    return {
        "seconds": statistics.median(seconds[1:]),
        "seconds_min": min(seconds[1:]),
        "products_seconds": seconds_alone(products),
        "products_gflop": flop(products) / 1e9,
        "parameters": model.num_parameters,
        "rss_mb_after_step_2": memory[min(2, steps)],
        "rss_mb_at_end": memory[-1],
        "peak_rss_mb": peak,
    }
