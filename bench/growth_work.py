"""One point of bench/growth.py: reads it as JSON from its argument, prints seconds and memory."""

import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import time_call

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gaancore.data import open_store
from gaancore.graph import CSRGraph, sample_blocks
from gaancore.kernels.cpu.sharing import by_edges, edges_of, node_rows, soon
from gaancore.kernels.cpu.vector.register_moves import prefetch
from gaancore.models.node_classifier import NodeClassifier
from gaancore.nn import AggregatorSpec, Parameter
from gaancore.ops import bce_with_logits, segment_attention
from gaancore.optim import Adam
from gaancore.system.jit import jit
from gaancore.system.process import peak_rss_mb, prepare_process, rss_mb
from gaancore.tensor import Tensor

SEEDS, FANOUTS = 512, (25, 10)
FEATURES, LABELS, EMBEDDED, OUT = 50, 121, 64, 128  # of PPI's size
REPEATS, BUDGET = 9, 2.0


def random_graph(arcs: int, nodes: int, rng: np.random.Generator) -> CSRGraph:
    """Any node to any, some pairs twice."""
    return CSRGraph.from_edges(*rng.integers(0, nodes, (2, arcs)), nodes, duplicates="keep")


def attention(point: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    """Seconds of attention, and of gathers that add up its keys and values."""
    block = random_graph(point["arcs"], point["num_nodes"], rng).full_block()
    heads, widths = point["heads"], (point["key_width"], point["key_width"], point["value_width"])
    shape = (block.num_dst, heads)
    given = [Parameter(rng.standard_normal((*shape, width), np.float32)) for width in widths]
    grad = rng.standard_normal((*shape, widths[2]), np.float32)
    forward = partial(segment_attention, *given, block=block, scale=widths[0] ** -0.5)

    def both() -> None:
        forward().backward(grad)
        for parameter in given:
            parameter.grad = None

    both()
    one_way, both_ways = (time_call(call, REPEATS, BUDGET).median for call in (forward, both))
    megabytes = peak_rss_mb()  # before the gathers make arrays of their own
    rows = [node_rows(parameter.data) for parameter in given[1:]]
    gathers = {}
    for name, ahead in (("gather", False), ("fetching", True)):
        call = partial(_gather_all, ahead, rows, block.indptr, block.indices)
        call()
        gathers[name] = time_call(call, REPEATS, BUDGET).median
    return {
        "forward": one_way, "backward": both_ways - one_way, **gathers, "megabytes": megabytes,
    }  # fmt: skip


def _gather_all(ahead: bool, rows: list[np.ndarray], indptr: np.ndarray, indices: Any) -> None:
    for array in rows:
        width = array.shape[1]
        by_edges(_gather(width, ahead), indptr, width, array, indptr, indices, np.empty_like(array))


@cache
def _gather(width: int, ahead: bool) -> Any:
    @jit
    def kernel(rows, indptr, indices, out, start, stop):
        for i in range(start, stop):
            for n in range(width):
                out[i, n] = 0
            for e in edges_of(indptr, i):
                if ahead:
                    prefetch(rows, soon(indices, e), width)
                j = np.uintp(indices[e])
                for n in range(width):
                    out[i, n] += rows[j, n]

    return kernel


def step(point: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    """Seconds of a training step of GaAN on the whole graph."""
    block = random_graph(point["arcs"], point["num_nodes"], rng).full_block()
    x = Tensor(rng.standard_normal((block.num_dst, FEATURES), np.float32))
    labels = (rng.random((block.num_dst, LABELS), np.float32) < 0.3).astype(np.uint8)
    spec = AggregatorSpec(
        "gaan", num_heads=point["heads"], key_dim=point["key_width"],
        value_dim=point["value_width"], gate_dim=EMBEDDED,
    )  # fmt: skip
    layers = [spec, spec]
    model = NodeClassifier(
        FEATURES, LABELS, layers=layers, embed_dim=EMBEDDED, out_dim=OUT, dropout=0.0, rng=rng
    )
    optimizer = Adam(model.named_parameters(), lr=0.01)

    def train() -> None:
        loss = bce_with_logits(model(Tensor(x.data), [block, block], seed=0), labels)
        model.zero_grad()
        loss.backward()
        optimizer.step()

    train()
    seconds = time_call(train, REPEATS, BUDGET).median
    return {"seconds": seconds, "megabytes": peak_rss_mb()}


def draw(point: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    """Seconds of a draw from a store, each from other seeds. Its pages count as memory."""
    graph = open_store(point["store"]).graph
    numbers = iter(range(10_000))

    def once() -> None:
        number = next(numbers)
        seeds = rng.choice(graph.num_nodes, SEEDS, replace=False, shuffle=False)
        sample_blocks(graph, seeds, list(FANOUTS), seed=number)

    once()
    seconds = time_call(once, 50, BUDGET).median
    return {"seconds": seconds, "arcs": graph.num_edges, "megabytes": peak_rss_mb()}


def main() -> None:
    point = json.loads(sys.argv[1])
    prepare_process(point["threads"])
    works = {"attention": attention, "step": step, "draw": draw}
    before = rss_mb()
    point["num_nodes"] = point["nodes"] or point["arcs"] // 28
    found = works[point["work"]](point, np.random.default_rng(0))
    print(json.dumps({**found, "megabytes": round(found["megabytes"] - before, 1)}))


if __name__ == "__main__":
    main()
