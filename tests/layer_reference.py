"""The paper's equations 1 to 3 and section 4, node by node and head by head, in NumPy."""

from typing import Any

import numpy as np

from gaancore.graph import Block
from gaancore.nn.linear import Linear
from gaancore.nn.module import Module


def with_random_biases(module: Module, rng: np.random.Generator) -> Any:
    """The module in float64, its biases no longer 0, as after some training."""
    for name, parameter in module.astype("float64").named_parameters():
        if name.endswith("bias"):
            parameter.data += rng.standard_normal(parameter.shape) / 2
    return module


def h(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, 0.1 * x)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def fc(layer: Linear, x: np.ndarray) -> np.ndarray:
    """One layer on x, which is z_j ++ e_ij where the layer has weights for both."""
    weight = layer.weight.data
    if hasattr(layer, "edge_weight"):
        weight = np.concatenate([weight, layer.edge_weight.data])
    return x @ weight + layer.bias.data


def neighbours(block: Block, z: np.ndarray, i: int) -> np.ndarray:
    """A row z_j for each edge of i, or z_j ++ e_ij where edges have features."""
    edges = slice(block.indptr[i], block.indptr[i + 1])
    rows = z[block.indices[edges]]
    if block.edge_attr is None:
        return rows
    return np.concatenate([rows, np.asarray(block.edge_attr)[edges]], axis=1)


def head(x: np.ndarray, k: int, num_heads: int) -> np.ndarray:
    """The columns of head k."""
    width = x.shape[-1] // num_heads
    return x[..., k * width : (k + 1) * width]


def gate(layer, variant: str, x_i: np.ndarray, z: np.ndarray) -> np.ndarray:
    """z : the rows of the neighbours of x_i."""
    largest = np.zeros(layer.max_branch.bias.shape)
    mean = np.zeros(z.shape[1])
    if len(z):
        largest, mean = fc(layer.max_branch, z).max(axis=0), z.mean(axis=0)
    pooled = [largest, mean] if layer.mean else [largest]
    if variant == "paper":
        return sigmoid(fc(layer.output, np.concatenate([x_i, *pooled])))
    return sigmoid(fc(layer.output, h(fc(layer.hidden, np.concatenate(pooled)))))


def heads(layer, x_i: np.ndarray, z: np.ndarray, weigh) -> list[np.ndarray]:
    """sum_j w_ij^k h(FC_v^k(z_j)) for each head, w = weigh(scores)."""
    gathered = []
    for k in range(layer.num_heads):
        query, key = head(fc(layer.query, x_i), k, layer.num_heads), fc(layer.key, z)
        values = head(h(fc(layer.value, z)), k, layer.num_heads)
        scores = head(key, k, layer.num_heads) @ query
        gathered.append(weigh(scores) @ values if len(z) else np.zeros(values.shape[1]))
    return gathered


def softmax(scores: np.ndarray) -> np.ndarray:
    exps = np.exp(scores - scores.max())
    return exps / exps.sum()


def gather(model: str, layer, variant: str, x_i: np.ndarray, z: np.ndarray) -> np.ndarray:
    """What reaches x_i from its neighbours z."""
    if model in ("avg-pool", "max-pool"):
        values = h(fc(layer.value, z))
        if not len(z):
            return np.zeros(values.shape[1])
        return values.mean(axis=0) if model == "avg-pool" else values.max(axis=0)
    if model.startswith("pairwise"):
        act = sigmoid if model == "pairwise-sigmoid" else np.tanh
        return np.concatenate(heads(layer, x_i, z, lambda scores: act(scores) / len(z)))
    key_dim = layer.key.weight.shape[1] // layer.num_heads
    scale = 1 if variant == "paper" else 1 / key_dim
    parts = heads(layer, x_i, z, lambda scores: softmax(scale * scores))
    if model == "gaan":
        gates = gate(layer.gate, variant, x_i, z)
        parts = [g * part for g, part in zip(gates, parts, strict=True)]
    return np.concatenate(parts)


def aggregate(
    model: str, layer, variant: str, x: np.ndarray, z: np.ndarray, block: Block
) -> np.ndarray:
    out = []
    for i in range(block.num_dst):
        gathered = gather(model, layer, variant, x[i], neighbours(block, z, i))
        both = [x[i], gathered] if variant == "paper" else [gathered, x[i]]
        before = fc(layer.output, np.concatenate(both))
        out.append(before if layer.output.slope == 1 else h(before))
    return np.array(out).reshape(block.num_dst, layer.output.bias.shape[0])


def graph_gru_cell(model: str, cell, variant: str, x, state, block: Block) -> np.ndarray:
    """Equation 7: the next state of every node."""
    both = np.concatenate([x, state], axis=1)
    of_x = [aggregate(model, layer, variant, x, x, block) for layer in cell.of_input]
    of_h = [aggregate(model, layer, variant, both, state, block) for layer in cell.of_state]
    if variant == "released":  # one aggregator, three times as wide
        (of_x,), (of_h,) = of_x, of_h
        of_x, of_h = np.split(of_x, 3, axis=1), np.split(of_h, 3, axis=1)
    u, r = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
    return (1 - u) * h(of_x[2] + r * of_h[2]) + u * state
