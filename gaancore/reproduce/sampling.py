"""How large sampled neighbourhoods grow, merged and not: the paper's Table 1."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaancore.graph.csr import CSRGraph
from gaancore.graph.sampler import sample_blocks
from gaancore.parallel import ALONE, Team, dealt
from gaancore.reproduce.printed import count_in
from gaancore.reproduce.report.data import Facts, data_part
from gaancore.reproduce.report.schema import SCHEMA, SamplingReport
from gaancore.reproduce.tables import TABLES
from gaancore.seeding import derive_seed, generator
from gaancore.system.disk import checksum
from gaancore.tasks import Task

FANOUTS, NUM_SEEDS, REPEATS = (15, 15, 15), 512, 10  # Table 1

# Printed in Table 1 for Reddit, merged or not: |B_0|, ..., |B_3| from 512 seeds, 15 neighbours each
# (means of ten draws).
PRINTED_FOR, PLACE = "reddit", "Table 1, section 4.1"
PRINTED: dict[bool, tuple[str, ...]] = {
    False: ("512", "7.8K", "124.4K", "1.9M"),
    True: ("512", "7.5K", "70.7K", "0.2M"),
}
PAPER_SIZES = {merge: [count_in(text) for text in texts] for merge, texts in PRINTED.items()}


@dataclass(frozen=True)
class SampledSizes:
    """nodes : mean |B_0|, |B_1|, ..., |B_L| over the draws; B_l contains B_{l-1}.
    edges   : mean number of edges in all steps together.
    seconds : mean time of a draw, on one thread.
    """

    merge: bool
    nodes: tuple[float, ...]
    edges: float
    seconds: float


def sampled_sizes(
    graph: CSRGraph,
    fanouts: Sequence[int],
    *,
    num_seeds: int,
    repeats: int,
    seed: int,
    merge: bool,
    team: Team = ALONE,
) -> SampledSizes:
    """Draw `repeats` times from seeds of their own, a run of them by each rank, and take the mean.

    Each draw has min(num_seeds, N) distinct seeds, uniform over the nodes: the same ones for both
    values of `merge`. A first draw, which compiles and reads pages in, is not counted.
    Raises SettingsError, in all ranks, if one has another graph.
    """
    if team.size > 1:
        team.expect_same({"data": f"{checksum([graph.indptr, graph.indices]):08x}"})
    own: list[list[Any]] = []
    for repeat in (-1, *dealt(range(repeats), team)):
        key = derive_seed(seed, "sampling table", repeat + 1)
        size = min(num_seeds, graph.num_nodes)
        rng = generator(seed, "sampling table seeds", repeat + 1)
        seeds = rng.choice(graph.num_nodes, size, replace=False)
        clock = time.perf_counter()
        blocks = sample_blocks(graph, seeds, fanouts, seed=key, merge=merge)
        if repeat >= 0:
            taken = time.perf_counter() - clock
            counts = [size, *(block.num_src for block in reversed(blocks))]
            own.append([counts, sum(block.num_edges for block in blocks), taken])
    draws = [draw for of_rank in team.all(own) for draw in of_rank]
    nodes, edges, seconds = zip(*draws, strict=True)
    return SampledSizes(
        merge=merge,
        nodes=tuple(np.mean(nodes, axis=0).tolist()),
        edges=float(np.mean(edges)),
        seconds=float(np.mean(seconds)),
    )


def sampling_report(
    task: Task, graph: CSRGraph, facts: Facts, read: Sequence[str]
) -> SamplingReport:
    """|B_l| on the whole graph of the data, means over as many draws as the paper's.

    read : as of `read_with`.
    """
    sizes = [
        sampled_sizes(graph, FANOUTS, num_seeds=NUM_SEEDS, repeats=REPEATS, seed=0, merge=merge)
        for merge in (False, True)
    ]
    data = data_part(task, facts, read)
    return {
        "schema": SCHEMA,
        "table": "sampling",
        "title": TABLES["sampling"].title,
        "task": task.name,
        "data": data,
        "changed": [],
        "beside": (task.name, data["kind"]) == (PRINTED_FOR, "full"),
        "rows": [
            {
                "name": "merged" if size.merge else "not merged",
                "nodes": list(size.nodes),
                "edges": size.edges,
                "place": PLACE,
                "paper": PAPER_SIZES[size.merge],
                "printed": list(PRINTED[size.merge]),
            }
            for size in sizes
        ],
        "missing": [],
    }
