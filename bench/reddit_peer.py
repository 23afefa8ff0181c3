"""GaAN K = 4 in torch on DGL's sampler and kernels, run by bench/reddit_epoch.py.

    PYTHON bench/reddit_peer.py FOLDER FEATURES.npy --threads 1 --batches 300

Runs in the interpreter where DGL lives and needs nothing of gaancore. FOLDER has the training
graph as indptr.npy, indices.npy and its labels.npy; the first rows of FEATURES.npy are its nodes'.
Each part in the quickest way that DGL's documentation shows: the fused sampler, blocks with 32-bit
ids, features standardised once (before the clock starts) and taken by row. The network is that of
the paper's Reddit recipe, layer by layer the size of ours.
"""

import argparse
import json
import resource
import time
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import dgl
import numpy as np
import torch
from dgl import ops
from torch import nn
from torch.nn.functional import cross_entropy, dropout, leaky_relu

SEEDS, FANOUTS, WARM_UP = 512, (25, 10), 2
EMBED, OUT, KEY, VALUES, GATE = 256, 128, 32, 512, 64  # VALUES: of all heads together
HEADS = (1, 4)
DROPOUT, ATTENTION_DROPOUT, RATE, CLIP = 0.1, 0.5, 1e-3, 1.0


class GatedAttention(nn.Module):
    """The released layers: scores divided by the key width, a gate with a hidden layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, heads * KEY), nn.Linear(width, heads * KEY)
        self.value, self.largest = nn.Linear(width, VALUES), nn.Linear(width, GATE)
        self.hidden, self.gate = nn.Linear(GATE + width, GATE), nn.Linear(GATE, heads)
        self.output = nn.Linear(VALUES + width, OUT)

    def forward(self, block: Any, z: torch.Tensor) -> torch.Tensor:
        x = z[: block.num_dst_nodes()]
        queries = (self.query(x) / KEY).view(len(x), self.heads, KEY)
        keys = self.key(z).view(len(z), self.heads, KEY)
        values = leaky_relu(self.value(z), 0.1).view(len(z), self.heads, -1)
        weights = ops.edge_softmax(block, ops.u_dot_v(block, keys, queries))
        weights = dropout(weights, ATTENTION_DROPOUT, self.training)
        heads = ops.u_mul_e_sum(block, values, weights)
        pooled = [ops.copy_u_max(block, self.largest(z)), ops.copy_u_mean(block, z)]
        gates = torch.sigmoid(self.gate(leaky_relu(self.hidden(torch.cat(pooled, 1)), 0.1)))
        gathered = (heads * gates[:, :, None]).flatten(1)
        return leaky_relu(self.output(torch.cat([gathered, x], 1)), 0.1)


class Network(nn.Module):
    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.embed = nn.Linear(num_features, EMBED)
        widths = (EMBED, OUT)
        self.layers = nn.ModuleList(map(GatedAttention, widths, HEADS))
        self.head = nn.Linear(OUT, num_classes)

    def forward(self, blocks: list[Any], x: torch.Tensor) -> torch.Tensor:
        h = self.embed(x)
        for layer, block in zip(self.layers, blocks, strict=True):
            h = dropout(layer(block, h), DROPOUT, self.training)
        return self.head(h)


def standardised(path: Path, num_rows: int) -> torch.Tensor:
    features = np.load(path, mmap_mode="r")[:num_rows]
    mean, scale = features.mean(0, dtype=np.float64), features.std(0, dtype=np.float64)
    out = np.empty(features.shape, np.float32)
    for start in range(0, num_rows, 8192):
        rows = slice(start, start + 8192)
        out[rows] = (features[rows] - mean) / scale
    return torch.from_numpy(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("features", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batches", type=int, required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    indptr, indices, labels = (
        torch.from_numpy(np.load(args.folder / f"{name}.npy"))
        for name in ("indptr", "indices", "labels")
    )
    num_nodes = len(indptr) - 1
    graph = dgl.graph(("csc", (indptr, indices.long(), torch.empty(0, dtype=torch.long))))
    x = standardised(args.features, num_nodes)
    sampler = dgl.dataloading.NeighborSampler(list(FANOUTS[::-1]), replace=False, fused=True)
    loader = dgl.dataloading.DataLoader(
        graph, torch.arange(num_nodes), sampler, batch_size=SEEDS, shuffle=True
    )
    model = Network(x.shape[1], int(labels.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), RATE)

    batches = chain.from_iterable(repeat(loader))
    edges, waited = 0, 0.0
    for number in range(WARM_UP + args.batches):
        if number == WARM_UP:
            edges, waited = 0, 0.0
            cpu, clock = time.process_time(), time.perf_counter()
        asked = time.perf_counter()
        sources, seeds, blocks = next(batches)
        blocks, fetched, truth = [block.int() for block in blocks], x[sources], labels[seeds]
        waited += time.perf_counter() - asked
        loss = cross_entropy(model(blocks, fetched), truth)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        edges += sum(block.num_edges() for block in blocks)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    line = {
        "library": "dgl",
        "threads": args.threads,
        "batches": args.batches,
        "batches_per_epoch": len(loader),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "edges": edges,
        "waiting_share": waited / seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
