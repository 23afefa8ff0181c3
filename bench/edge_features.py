"""Times aggregators, forward and backward, with features of edges and without them.

    python bench/edge_features.py --profiles ppi --edge-dim 4 --json out.json

What a layer gathers from its neighbours is timed on the blocks of segment_ops.py, products of
queries, keys and values included, the output layer left out. Both kinds take turns, after a call
of each that is not timed, and have the same weights but for those of the features.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine, summary, wall_seconds

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from segment_profiles import PROFILES

from gaancore import __version__
from gaancore.choices import AGGREGATORS
from gaancore.graph.block import Block
from gaancore.nn import AggregatorSpec
from gaancore.seeding import generator
from gaancore.system import threads
from gaancore.system.process import prepare_process
from gaancore.tensor import Tensor

X_DIM = 64


def main() -> None:
    args = _arguments()
    prepare_process(0)
    threads.set_num_threads(args.threads)
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"gaancore {__version__}, float32, {args.threads} threads, {args.edge_dim} features")
    print(
        f"{'profile':<12}{'aggregator':<18}{'ms without':>12}{'ms with':>12}{'with / without':>16}"
    )
    rows = []
    for profile in args.profiles:
        for name in args.aggregators:
            row = _time(profile, name, args)
            rows.append(row)
            without, with_them = (1e3 * row[key]["median"] for key in ("without", "with"))
            ratio = with_them / without
            print(f"{profile:<12}{name:<18}{without:12.2f}{with_them:12.2f}{ratio:16.2f}")
    if args.json:
        result = {"machine": facts, "gaancore": __version__, "rows": rows}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _time(profile_name: str, aggregator: str, args: argparse.Namespace) -> dict[str, Any]:
    profile, rng = PROFILES[profile_name], generator(0, profile_name)
    block = profile.block(rng)
    features = rng.standard_normal((block.num_edges, args.edge_dim), np.float32)
    pool = aggregator in ("avg-pool", "max-pool")
    steps = []
    for edge_dim, seen in ((0, block), (args.edge_dim, block.with_edge_attr(features))):
        spec = AggregatorSpec(
            aggregator, num_heads=profile.K, key_dim=profile.A,
            value_dim=profile.F if pool else profile.D, edge_dim=edge_dim,
        )  # fmt: skip
        layer = spec.make(X_DIM, X_DIM, X_DIM, np.random.default_rng(0))
        steps.append(_step(layer, seen))
    for step in steps:
        step()
    seconds = [[wall_seconds(step) for step in steps] for _ in range(args.repeats)]
    without, with_them = (summary(column)._asdict() for column in zip(*seconds, strict=True))
    row = {"profile": profile_name, "aggregator": aggregator, "edges": block.num_edges}
    return {**row, "without": without, "with": with_them}


def _step(layer: Any, block: Block) -> Any:
    rng = np.random.default_rng(1)
    z = Tensor(rng.standard_normal((block.num_src, X_DIM), np.float32), requires_grad=True)
    x = Tensor(z.data[: block.num_dst])
    _ = block.transpose

    def step() -> None:
        out = layer.gather(x, z, block)
        out.backward(np.ones(out.shape, np.float32))

    return step


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiles", type=_comma_list, default=["ppi"])
    parser.add_argument("--aggregators", type=_comma_list, default=list(AGGREGATORS))
    parser.add_argument("--edge-dim", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--threads", type=int, default=threads.get_num_threads())
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to FILE")
    return parser.parse_args()


def _comma_list(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
