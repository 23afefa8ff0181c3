"""One training step of the Graph GRU at the paper's shape, and its matrix products alone.

207 sensors, batch 64, 12 steps in and 12 out, two layers of 64 units, GaAN with K = 4, d_a = d_v =
16, d_m = 64, variant `paper`; 1,722 arcs as in METR-LA's adjacency with its self-loops; float32.
"""

import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from gaancore.graph.copies import GraphCopies
from gaancore.graph.csr import CSRGraph
from gaancore.kernels import cpu
from gaancore.kernels.cpu.products import linear
from gaancore.models.traffic_forecaster import TrafficForecaster
from gaancore.nn import AggregatorSpec
from gaancore.ops import masked_absolute_error
from gaancore.optim import Adam, clip_grad_norm
from gaancore.system import threads
from gaancore.system.process import peak_rss_mb, prepare_process, rss_mb
from gaancore.training.pieces import Gradients, pieces

SENSORS, ARCS, BATCH, STEPS = 207, 1722, 64, 12
Shape = tuple[int, int, int]  # rows, inputs and outputs of a product


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

    def loss_of(twin, part):
        rows = slice(part.start * SENSORS, part.stop * SENSORS)
        speeds = twin(inputs[:, rows], future[:, rows], copies)
        return masked_absolute_error(speeds, targets[rows], mask[rows], count=mask.size)

    def learn(twin, part):
        loss = loss_of(twin, part)
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
    shapes = products_of(lambda: loss_of(model, parts[0]))
    flop = sum(6 * n * f * g for n, f, g in shapes) * len(parts)
    return {
        "seconds": statistics.median(seconds[1:]),
        "seconds_min": min(seconds[1:]),
        "products_seconds": products_alone(shapes, len(parts)),
        "products_gflop": flop / 1e9,
        "parameters": model.num_parameters,
        "rss_mb_after_step_2": memory[min(2, steps)],
        "rss_mb_at_end": memory[-1],
        "peak_rss_mb": peak,
    }


def products_of(evaluate: Callable[[], object]) -> list[Shape]:
    """The products that `evaluate` makes on its way forward; the way back makes two of each."""
    shapes: list[Shape] = []
    forward = linear.linear_forward

    def noted(given, weight, bias, slope):
        shapes.append((len(given[0]), *weight.shape))
        return forward(given, weight, bias, slope)

    with patch.object(cpu, "linear_forward", noted), patch.object(linear, "linear_forward", noted):
        evaluate()  # layers that read one input come from the second
    return shapes


def products_alone(shapes: list[Shape], repeats: int) -> float:
    """Seconds of the same products on the same threads with nothing else between them."""
    arrays = {
        (n, f, g): [np.ones(size, np.float32) for size in ((n, f), (f, g), (n, g))]
        for n, f, g in shapes
    }

    def run(start: int, stop: int) -> None:
        for _ in range(start, stop):
            for shape in shapes:
                x, weight, out = arrays[shape]
                np.matmul(x, weight)
                np.matmul(out, weight.T)
                np.matmul(x.T, out)

    run(0, 1)
    clock = time.perf_counter()
    threads.run_ranges(run, threads.split_evenly(repeats))
    return time.perf_counter() - clock
