"""Other libraries on the inputs that bench/segment_ops.py has written: one JSON line per result.

    PYTHON bench/peer_segment_ops.py FOLDER

Runs in the interpreter where those libraries live and needs nothing of gaancore. Each library does
an op in the quickest way that its documentation shows; what it lacks, it leaves out. Time includes
the library's own dispatch and autograd, for there is no way around them.
"""

import json
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from timing import time_call, wall_seconds

SLOPE = 0.1  # of the leaky ReLU after what an edge brings


class Graph:
    """Rows are destinations: indptr (N + 1,), col (E,) sources, row (E,) destinations."""

    def __init__(self, folder: Path, device: str) -> None:
        indptr, col = (np.load(folder / f"{name}.npy") for name in ("indptr", "indices"))
        self.ptr = torch.from_numpy(indptr).to(device)
        self.col = torch.from_numpy(col.astype(np.int64)).to(device)
        self.degrees = self.ptr.diff()
        self.num_dst, self.num_edges = self.degrees.numel(), self.col.numel()
        self.num_src = int(np.load(folder / "sources.npy"))
        self.row = torch.repeat_interleave(torch.arange(self.num_dst), self.degrees)


class Library:
    """What all have in common: attention is a composition, a dot gathers both ends."""

    packages: tuple[str, ...] = ("torch",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def edge_dot(self, queries: Any, keys: Any) -> Any:
        return (queries[self.graph.row] * keys[self.graph.col]).sum(-1)

    def attention(self, queries: Any, keys: Any, values: Any) -> Any:
        scores = self.edge_dot(queries / queries.shape[2], keys)
        return self.weighted_sum(self.softmax(scores), values)

    def edge_attention(
        self, queries: Any, keys: Any, values: Any, edges: Any, to_keys: Any, to_values: Any
    ) -> Any:
        """As PyG's TransformerConv: features are added to a key and a value of each edge."""
        col = self.graph.col
        of_keys = keys[col] + torch.einsum("eb,bka->eka", edges, to_keys)
        scores = ((queries / queries.shape[2])[self.graph.row] * of_keys).sum(-1)
        brought = values[col] + torch.einsum("eb,bkd->ekd", edges, to_values)
        messages = torch.nn.functional.leaky_relu(brought, SLOPE)
        return self.total(self.softmax(scores)[:, :, None] * messages)


class TorchScatter(Library):
    packages = ("torch_scatter",)

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        import torch_scatter

        self.reduce, self.spread = torch_scatter.segment_csr, torch_scatter.gather_csr

    def softmax(self, scores: Any) -> Any:
        ptr = self.graph.ptr
        tops = self.reduce(scores.detach(), ptr, reduce="max")
        exps = torch.exp(scores - self.spread(tops, ptr))
        return exps / self.spread(self.reduce(exps, ptr, reduce="sum"), ptr)

    def weighted_sum(self, weights: Any, values: Any) -> Any:
        return self.total(weights[:, :, None] * values[self.graph.col])

    def total(self, messages: Any) -> Any:
        return self.reduce(messages, self.graph.ptr, reduce="sum")

    def maximum(self, features: Any) -> Any:
        return self.reduce(features[self.graph.col], self.graph.ptr, reduce="max")

    def mean(self, features: Any) -> Any:
        return self.reduce(features[self.graph.col], self.graph.ptr, reduce="mean")


class Pyg(Library):
    """Softmax by ptr, messages by scatter, pools by SparseTensor (no message is stored)."""

    packages = ("torch_geometric", "torch_sparse")

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        import torch_geometric.utils
        import torch_sparse

        self.utils, self.matmul = torch_geometric.utils, torch_sparse.matmul
        sizes = (graph.num_dst, graph.num_src)
        self.adjacency = torch_sparse.SparseTensor(
            rowptr=graph.ptr, col=graph.col, sparse_sizes=sizes, is_sorted=True, trust_data=True
        )
        self.adjacency.fill_cache_()

    def softmax(self, scores: Any) -> Any:
        return self.utils.softmax(scores, ptr=self.graph.ptr)

    def weighted_sum(self, weights: Any, values: Any) -> Any:
        return self.total(weights[:, :, None] * values[self.graph.col])

    def total(self, messages: Any) -> Any:
        return self.utils.scatter(messages, self.graph.row, 0, self.graph.num_dst, "sum")

    def maximum(self, features: Any) -> Any:
        return self.matmul(self.adjacency, features, reduce="max")

    def mean(self, features: Any) -> Any:
        return self.matmul(self.adjacency, features, reduce="mean")


class Dgl(Library):
    packages = ("dgl",)

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        import dgl

        edges = ("csc", (graph.ptr, graph.col, torch.arange(graph.num_edges)))
        sizes = {"num_src_nodes": graph.num_src, "num_dst_nodes": graph.num_dst}
        self.ops, self.block = dgl.ops, dgl.create_block(edges, **sizes).int()
        self.block.create_formats_()

    def softmax(self, scores: Any) -> Any:
        return self.ops.edge_softmax(self.block, scores)

    def weighted_sum(self, weights: Any, values: Any) -> Any:
        return self.ops.u_mul_e_sum(self.block, values, weights[:, :, None])

    def total(self, messages: Any) -> Any:
        return self.ops.copy_e_sum(self.block, messages)

    def edge_attention(
        self, queries: Any, keys: Any, values: Any, edges: Any, to_keys: Any, to_values: Any
    ) -> Any:
        """Scores without a key for each edge; what it brings still is a row for each."""
        queries = queries / queries.shape[2]
        asked = torch.einsum("nka,bka->nkb", queries, to_keys)
        of_edges = self.ops.e_dot_v(self.block, edges[:, None, :], asked)[:, :, 0]
        weights = self.softmax(self.edge_dot(queries, keys) + of_edges)
        of_values = torch.einsum("eb,bkd->ekd", edges, to_values)
        brought = self.ops.u_add_e(self.block, values, of_values)
        messages = torch.nn.functional.leaky_relu(brought, SLOPE)
        return self.total(weights[:, :, None] * messages)

    def edge_dot(self, queries: Any, keys: Any) -> Any:
        return self.ops.u_dot_v(self.block, keys, queries)[:, :, 0]

    def maximum(self, features: Any) -> Any:
        return self.ops.copy_u_max(self.block, features)

    def mean(self, features: Any) -> Any:
        return self.ops.copy_u_mean(self.block, features)


class Torch(Library):
    """PyTorch alone: a CSR product or a sampled product for each head, reductions by segment."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        import warnings

        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        self.order = torch.argsort(graph.col, stable=True)
        counts = torch.bincount(graph.col, minlength=graph.num_src)
        self.t_ptr = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
        self.t_col = graph.row[self.order]
        self.pattern = self.matrix(torch.zeros(graph.num_edges))
        self.ones = self.matrix(torch.ones(graph.num_edges))

    def matrix(self, entries: Any) -> Any:
        size = (self.graph.num_dst, self.graph.num_src)
        return torch.sparse_csr_tensor(self.graph.ptr, self.graph.col, entries.contiguous(), size)

    def products(self, weights: Any, rows: Any) -> Any:
        heads = range(weights.shape[1])
        return torch.stack([self.matrix(weights[:, k]) @ rows[:, k] for k in heads], 1)

    def transposed_products(self, weights: Any, rows: Any) -> Any:
        size, heads = (self.graph.num_src, self.graph.num_dst), range(weights.shape[1])
        by_source = weights[self.order]
        made = (
            torch.sparse_csr_tensor(self.t_ptr, self.t_col, by_source[:, k].contiguous(), size)
            for k in heads
        )
        return torch.stack([matrix @ rows[:, k] for k, matrix in enumerate(made)], 1)

    def dots(self, left: Any, right: Any) -> Any:
        pattern, heads = self.pattern, range(left.shape[1])
        one_head = [
            torch.sparse.sampled_addmm(pattern, left[:, k], right[:, k].T, beta=0).values()
            for k in heads
        ]
        return torch.stack(one_head, 1)

    def softmax(self, scores: Any) -> Any:
        ptr, row = self.graph.ptr, self.graph.row
        tops = torch.segment_reduce(scores.detach(), "max", offsets=ptr, initial=-1e30)
        exps = torch.exp(scores - tops[row])
        return exps / torch.segment_reduce(exps, "sum", offsets=ptr, initial=0)[row]

    def weighted_sum(self, weights: Any, values: Any) -> Any:
        return _WeightedSum.apply(weights, values, self)

    def total(self, messages: Any) -> Any:
        return torch.segment_reduce(messages, "sum", offsets=self.graph.ptr, initial=0)

    def edge_dot(self, queries: Any, keys: Any) -> Any:
        return _EdgeDot.apply(queries, keys, self)

    def maximum(self, features: Any) -> Any:
        return torch.sparse.mm(self.ones, features, "amax")

    def mean(self, features: Any) -> Any:
        return torch.sparse.mm(self.ones, features, "mean")


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Any, values: Any, library: Torch) -> Any:
        ctx.backend = library
        ctx.save_for_backward(weights, values)
        return library.products(weights, values)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        weights, values = ctx.saved_tensors
        given = ctx.backend
        return given.dots(grad, values), given.transposed_products(weights, grad), None


class _EdgeDot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Any, keys: Any, library: Torch) -> Any:
        ctx.backend = library
        ctx.save_for_backward(queries, keys)
        return library.dots(queries, keys)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        queries, keys = ctx.saved_tensors
        given = ctx.backend
        return given.products(grad, keys), given.transposed_products(grad, queries), None


LIBRARIES = {"torch": Torch, "torch_scatter": TorchScatter, "pyg": Pyg, "dgl": Dgl}


def measure(
    library: Library, op: str, case: dict[str, Any], folder: Path, rules: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Error and times of one op, forward and backward."""
    function = getattr(library, op)
    names = (*case["inputs"], case["grad"])
    arrays = (np.load(folder / f"{name}.npy") for name in names)
    *inputs, grad = (torch.from_numpy(x).to(rules["device"]) for x in arrays)
    asked = [x for x, name in zip(inputs, case["inputs"], strict=True) if name != "edges"]
    for x in asked:
        x.requires_grad_()
    out = function(*inputs)

    def backward() -> Any:
        return torch.autograd.grad(out, asked, grad, retain_graph=True)

    directions = {
        "forward": ([out.detach()], lambda: function(*inputs)),
        "backward": (backward(), backward),
    }
    for direction, (got, call) in directions.items():
        expected = [np.load(folder / f"{op}-{direction}-{i}.npy") for i in range(len(got))]
        pairs = zip(got, expected, strict=True)
        error = max(float(np.abs(x.cpu().numpy() - y).max() / np.abs(y).max()) for x, y in pairs)
        clock = wall_seconds if rules["device"] == "cpu" else device_seconds
        timing = time_call(call, rules["repeats"], rules["budget"], clock)
        yield {"direction": direction, "error": error, **timing._asdict()}


def device_seconds(function: Callable[[], Any]) -> float:
    """By the device's own events."""
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begun.record()
    function()
    ended.record()
    ended.synchronize()
    return float(begun.elapsed_time(ended)) / 1e3


def main() -> None:
    folder = Path(sys.argv[1])
    rules = json.loads((folder / "rules.json").read_text(encoding="utf-8"))
    torch.set_num_threads(rules["threads"])
    torch.set_default_device(rules["device"])
    wanted = {name: make for name, make in LIBRARIES.items() if name not in rules["skip"]}
    for profile in rules["profiles"]:
        graph = Graph(folder / profile, rules["device"])
        for name, make in wanted.items():
            facts = {"profile": profile, "library": name, "threads": rules["threads"]}
            try:
                facts["version"] = ", ".join(f"{p} {version(p)}" for p in make.packages)
                library = make(graph)
            except ImportError:  # version() too: a package that is not installed
                continue
            for op, case in rules["ops"].items():
                for found in measure(library, op, case, folder / profile, rules):
                    print(json.dumps({**facts, "op": op, **found}), flush=True)


if __name__ == "__main__":
    main()
