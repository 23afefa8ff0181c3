"""What a step on several ranks costs: a model of it, fitted to measured runs (see scale.py).

    a step  = the slowest rank's shares + rest + talk
    a share = per_share + per_edge * its edges + per_node * nodes whose features it reads
    talk    = rounds of messages * latency + bytes of a rank * per_byte

Of a store in parts, talk is also what a share reads of other ranks' nodes (see scale_parts.py).

Each part is fitted to a clock of its own by least squares without negative answers, of relative
errors, so that a short step counts as much as a long one. Seconds and bytes throughout.

A measured pair of ranks and shares is what scale_run.py prints: `steps`, of each a row for every
rank with the shares it had, their edges and nodes, seconds, and its calls of the transport.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

FLOAT = 4  # bytes of a gradient's number
GATHERS = 3  # of a few values in a step: losses and edges, that no rank has failed, that none stops
GATHERED = 100  # bytes of such values of one rank, about


class Talk(NamedTuple):
    """What a rank has to say in one step."""

    rounds: int
    bytes: float


class Cost(NamedTuple):
    """Seconds of a step, of the rank that is the last."""

    shares: float
    rest: float
    talk: float

    @property
    def seconds(self) -> float:
        return self.shares + self.rest + self.talk


class Network(NamedTuple):
    """latency: seconds of a round of messages. per_byte: seconds."""

    latency: float
    per_byte: float

    def over(self, gigabits: float, latency: float) -> "Network":
        """This one, which is memory, with a wire behind it: what is sent passes through both."""
        return Network(self.latency + latency, self.per_byte + 8 / (gigabits * 1e9))


@dataclass(frozen=True)
class Model:
    """numbers: of a gradient, those that say which parameters have one included.
    trades: how often a step asks other ranks or answers them, of a store in parts; else 0.
    """

    per_share: float
    per_edge: float
    per_node: float
    rest: float
    network: Network
    numbers: int
    trades: int = 0

    def step(self, work: np.ndarray, ranks: int, network: Network | None = None) -> Cost:
        """Of one step. work (S, 3): of each share, in their order, edges, nodes, and bytes that are
        read of other ranks.
        """
        shares = len(work)
        seconds = self.per_share + work[:, :2] @ np.array([self.per_edge, self.per_node])
        bounds = [shares * rank // ranks for rank in range(ranks + 1)]
        columns = np.stack([seconds, work[:, 2]], axis=1)
        sums = np.diff(
            np.concatenate([np.zeros((1, 2)), np.cumsum(columns, axis=0)])[bounds], axis=0
        )
        longest, read = sums.max(axis=0)
        said = talk(self.numbers, shares, ranks)
        asking = self.trades * (rounds("gather", ranks) + rounds("trade", ranks))
        latency, per_byte = network or self.network
        talking = (said.rounds + asking) * latency + (said.bytes + read) * per_byte
        return Cost(float(longest), self.rest, talking)

    def seconds(self, work: np.ndarray, ranks: int, network: Network | None = None) -> float:
        """Of the mean step. work (steps, S, 3)."""
        return float(np.mean([self.step(of_step, ranks, network).seconds for of_step in work]))


def rounds(call: str, ranks: int) -> int:
    """How often a rank has to wait for a message on its way, in one call of the transport.

    `gather` is two collections of few bytes, which MPI does by doubling; in the others each rank
    has something for every other, and the largest pieces go from one to the next.
    """
    return 2 * math.ceil(math.log2(ranks)) if call == "gather" else ranks - 1


def talk(numbers: int, shares: int, ranks: int) -> Talk:
    """Of a step (see Shares.add): slices of the gradients of shares go to the ranks that add them,
    their sums to all.
    """
    if ranks == 1:
        return Talk(0, 0.0)
    width, most, fewest = -(-numbers // ranks), -(-shares // ranks), shares // ranks
    exchanged = max(most * (ranks - 1), shares - fewest) * width * FLOAT
    collected = width * (ranks - 1) * FLOAT
    gathered = GATHERS * GATHERED * (ranks - 1)
    calls = ["gather"] * GATHERS + ["exchange", "collect"]
    return Talk(sum(rounds(call, ranks) for call in calls), exchanged + collected + gathered)


class Means(NamedTuple):
    """Of a measured pair: a rank's mean, in the median step."""

    step: float
    sample: float
    gather: float
    learn: float
    rest: float
    talk: float  # what the calls take the rank that comes last to each
    waiting: float  # what they take beyond that
    sent: float  # bytes
    received: float
    edges: float  # of all shares
    nodes: float


def means(pair: dict[str, Any]) -> Means:
    rows = [_mean_row(step) for step in pair["steps"]]
    return Means(*(float(np.median([row[name] for row in rows])) for name in Means._fields))


def _mean_row(step: Sequence[dict[str, Any]]) -> dict[str, float]:
    of_ranks = [_parts(row) for row in step]
    row = {name: float(np.mean([parts[name] for parts in of_ranks])) for name in of_ranks[0]}
    row["talk"] = sum(seconds for _, seconds, _ in last_to_call(step))
    row["waiting"] = row.pop("calling") - row["talk"]
    for name in ("edges", "nodes"):
        row[name] = sum(of_rank[name] for of_rank in step)
    return row


def _parts(row: dict[str, Any]) -> dict[str, float]:
    """Of one rank. What is made of a share beyond its sample is gathered: features and labels."""
    calling = sum(seconds for _, seconds, _, _ in row["calls"])
    return {
        "step": row["step"],
        "sample": row["sample"],
        "gather": row["make"] - row["sample"],
        "learn": row["learn"],
        "calling": calling,
        "rest": row["step"] - row["make"] - row["learn"] - calling,
        "sent": sum(sent for *_, sent, _ in row["calls"]),
        "received": sum(received for *_, received in row["calls"]),
    }


def last_to_call(step: Sequence[dict[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """Name, seconds and bytes of each call of a step. Who comes last to it waits for nobody, so it
    takes that rank what it takes; bytes are those of the rank with most to send or receive.
    """
    for calls in zip(*(row["calls"] for row in step), strict=True):
        name = calls[0][0]
        yield name, min(call[1] for call in calls), max(max(call[2:]) for call in calls)


def fitted(pairs: Sequence[dict[str, Any]]) -> Model:
    """The model that suits measured pairs best. Without one of two ranks talk costs nothing.

    per_share has what a share adds to the rest of a step: its gradient is copied, and added.
    """
    work, shares, rest, counts, calls, talking = [], [], [], [], [], []
    for pair in pairs:
        for rank in range(pair["ranks"]):
            rows = [step[rank] for step in pair["steps"]]
            columns = [[row["shares"], row["edges"], row["nodes"]] for row in rows]
            work.append(np.median(columns, axis=0))
            shares.append(np.median([row["make"] + row["learn"] for row in rows]))
            counts.append([1.0, rows[0]["shares"]])
            rest.append(np.median([_parts(row)["rest"] for row in rows]))
        for of_steps in zip(*(list(last_to_call(step)) for step in pair["steps"]), strict=True):
            _, seconds, sizes = zip(*of_steps, strict=True)
            calls.append([rounds(of_steps[0][0], pair["ranks"]), np.median(sizes)])
            talking.append(np.median(seconds))
    per_share, per_edge, per_node = _least_squares(work, shares)
    constant, of_share = _least_squares(counts, rest)
    network = Network(*_least_squares(calls, talking)) if calls else Network(0.0, 0.0)
    names = [[call[0] for call in pair["steps"][0][0]["calls"]] for pair in pairs]
    trades = max(of_pair.count("trade") for of_pair in names)
    numbers = int(pairs[0]["numbers"])
    return Model(per_share + of_share, per_edge, per_node, constant, network, numbers, trades)


def _least_squares(columns: Sequence[Any], seconds: Sequence[float]) -> list[float]:
    """x >= 0 with the least sum of squares of (columns x - seconds) / seconds."""
    y = np.array(seconds)
    a = np.array(columns, float) / y[:, None]
    scale = np.maximum(np.abs(a).max(axis=0), 1e-300)  # bytes and rounds are far apart
    found, _ = nnls(a / scale, np.ones(len(y)))
    return [float(x) for x in found / scale]
