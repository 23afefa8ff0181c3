"""Times the segment ops, forward and backward, after checking them against a float64 reference.

    python bench/segment_ops.py --peer-python PYTHON --json out.json --plot roofline.png

Ours are called as gaancore.ops calls them, shape checks included, the tape not; kernels are
compiled and the block is transposed before the clock starts. NumPy / SciPy runs beside them, and in
each `--peer-python` (and here) whichever of PyTorch, torch_scatter, PyG and DGL can be imported, on
the same inputs, in the same places and with an allocator that keeps freed memory, as ours does.
What is off by more than 1e-5 of the largest element is not timed. GB/s counts the bytes that have
to move (see segment_cases.py), and is compared with a copy on the same threads. On a GPU, events
are timed, and our inputs take turns so that the cache is not what is measured.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from timing import machine, new_file, time_call, wall_seconds

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.progress import track
from scipy_segment_ops import ScipySegmentOps
from segment_cases import OPS, Case, make_cases
from segment_peers import peer_rows, write_case
from segment_profiles import LARGE, PROFILES
from segment_report import print_report
from segment_roofline import plot

from gaancore import __version__
from gaancore.array import array_module, cuda_devices, resolve_device, to_device, to_numpy
from gaancore.errors import DeviceError
from gaancore.kernels import kernels_for
from gaancore.system import threads
from gaancore.system.process import give_memory_back, prepare_process

LARGEST_ERROR = 1e-5  # relative to the largest element, float32 against float64
BUDGET = 0.3  # seconds: a call that has been repeated for so long has been timed enough
COPIED, SQUARE = 1 << 26, 1536  # numbers in a copy (256 MB), side of a product
TURNS_BYTES, MOST_TURNS = 1 << 28, 16  # a GPU's inputs take turns until they fill this

Row = dict[str, Any]
Place = dict[str, Any]  # device, threads, and the name of a GPU


def main() -> None:
    args = _arguments()
    prepare_process(0)
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    places, no_gpu = _places(args.device, args.threads)
    roofs = [{**place, **_roof(place)} for place in places]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for profile in track(args.profiles, transient=True, disable=not sys.stderr.isatty()):
            for case in make_cases(profile, args.ops):
                rows += _time_here(case, places, args.repeats)
                if args.peers:
                    write_case(case, folder)
        give_memory_back()  # the others have need of it
        rows += _time_peers(args, places, folder, rows)
    print_report(rows, roofs)
    if no_gpu:
        print(f"not run on a GPU: {no_gpu}")
    if args.json:
        result = {"machine": facts, "gaancore": __version__, "roofs": roofs, "rows": rows}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.plot:
        plot(rows, roofs, args.plot)
    if any(row["library"] == "gaancore" and "median" not in row for row in rows):
        sys.exit("an op is wrong: see above")


def _arguments() -> argparse.Namespace:
    every = threads.get_num_threads()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=_names(OPS), default=list(OPS), help="comma list")
    usual = [name for name in PROFILES if name not in LARGE]
    text = f"the same, of {', '.join(PROFILES)} (all except {', '.join(LARGE)})"
    parser.add_argument("--profiles", type=_names(PROFILES), default=usual, help=text)
    parser.add_argument(
        "--threads", default=sorted({1, every}), help=f"comma list of thread counts (1,{every})",
        type=lambda text: [int(count) for count in text.split(",")],
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=20, help="most calls timed of each (20)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument(
        "--peer-python", dest="peers", action="append", default=[], metavar="PYTHON", type=_python,
        help="an interpreter with other libraries; may be repeated",
    )  # fmt: skip
    parser.add_argument("--json", type=new_file, metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--plot", type=new_file, metavar="FILE.png", help="draw a roofline")
    args = parser.parse_args()
    if find_spec("torch"):
        args.peers.insert(0, sys.executable)
    return args


def _names(known: dict[str, Any]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        wanted = text.split(",")
        if unknown := [name for name in wanted if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return wanted

    return names


def _python(text: str) -> str:
    if not which(text):
        raise argparse.ArgumentTypeError(f"{text}: not there, or not a program")
    return text


def _places(device: str, thread_counts: Sequence[int]) -> tuple[list[Place], str]:
    """Where to measure, and why not on a GPU."""
    places = [{"device": "cpu", "threads": count} for count in thread_counts]
    if device == "cpu":
        return places, "--device cpu"
    try:
        gpu = {"device": resolve_device("cuda"), "threads": 1, "name": cuda_devices()[0]["name"]}
    except DeviceError as error:
        if device == "cuda":
            sys.exit(f"error: {error}")
        return places, str(error)
    return [gpu] if device == "cuda" else [*places, gpu], ""


def _seconds_of(place: Place) -> Callable[[Callable[[], Any]], float]:
    """The clock: the wall's on the CPU, the device's own events on a GPU."""
    threads.set_num_threads(place["threads"])
    if place["device"] == "cpu":
        return wall_seconds
    import cupy

    def seconds(function: Callable[[], Any]) -> float:
        begun, ended = cupy.cuda.Event(), cupy.cuda.Event()
        begun.record()
        function()
        ended.record()
        ended.synchronize()
        return float(cupy.cuda.get_elapsed_time(begun, ended)) / 1e3

    return seconds


def _roof(place: Place) -> dict[str, float]:
    """The best of a few copies, in GB/s read and written, and of a float32 product, in GFLOP/s."""
    source = to_device(np.ones(COPIED, np.float32), place["device"])
    square = to_device(np.ones((SQUARE, SQUARE), np.float32), place["device"])
    xp, kernels, clock = array_module(source), kernels_for(source), _seconds_of(place)
    target = xp.empty_like(source)

    def copy_rows(start: int, stop: int) -> None:
        xp.copyto(target[start:stop], source[start:stop])

    copied = time_call(lambda: threads.share_rows(copy_rows, COPIED, 1), 9, 2, clock)
    product = time_call(lambda: kernels.matmul(square, square), 9, 2, clock)
    return {
        "copy_gb_s": 2 * source.nbytes / copied.minimum / 1e9,
        "product_gflop_s": 2 * SQUARE**3 / product.minimum / 1e9,
    }


def _time_here(case: Case, places: Sequence[Place], repeats: int) -> Iterator[Row]:
    """gaancore in each place, and NumPy / SciPy on one thread."""
    for place in places:
        function = case.gaancore(case.block.to(place["device"]))
        facts = {"library": "gaancore", "version": __version__, **place}
        yield from _measure(case, function, facts, repeats)
    baseline = getattr(ScipySegmentOps(case.block, np.float32), case.op)
    facts = {"library": "scipy", "version": np.__version__, "device": "cpu", "threads": 1}
    yield from _measure(case, baseline, facts, repeats)


def _measure(case: Case, function: Callable[..., Any], facts: Row, repeats: int) -> Iterator[Row]:
    """Rows of one op, forward and backward: the error, and times unless it is too large."""
    device, clock = facts["device"], _seconds_of(facts)
    size = sum(x.nbytes for x in (*case.inputs, case.grad))
    turns = 1 if device == "cpu" else min(MOST_TURNS, 1 + TURNS_BYTES // size)
    forwards, backwards = [], []
    for _ in range(turns):
        *inputs, grad = (to_device(x, device) for x in (*case.inputs, case.grad))
        out, backward = function(*inputs)
        forwards.append(partial(function, *inputs))
        backwards.append(partial(backward, grad))
    grads = tuple(grad for grad in backwards[-1]() if grad is not None)
    results = {"forward": ((out,), forwards), "backward": (grads, backwards)}
    for direction, (got, calls) in results.items():
        pairs = zip(map(to_numpy, got), case.expected[direction], strict=True)
        error = max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in pairs)
        row = {"profile": case.profile, "op": case.op, "direction": direction, **facts}
        row |= {"error": error, **case.costs[direction]}
        if error <= LARGEST_ERROR:
            row |= time_call(_in_turn(calls), repeats, BUDGET, clock)._asdict()
        yield row


def _in_turn(calls: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    turn = cycle(calls)
    return lambda: next(turn)()


def _time_peers(
    args: argparse.Namespace, places: Sequence[Place], folder: Path, ours: Sequence[Row]
) -> list[Row]:
    """The libraries of each interpreter in each place; one that an earlier interpreter had is left
    out.
    """
    costs = {_key(row): {name: row[name] for name in ("bytes", "flops")} for row in ours}
    rules = {"profiles": args.profiles, "ops": args.ops, "repeats": args.repeats, "budget": BUDGET}
    rows: list[Row] = []
    for python in args.peers:
        skip = sorted({row["library"] for row in rows})
        for place in places:
            here = {**rules, "skip": skip, "device": place["device"]}
            for row in peer_rows(python, folder, place["threads"], here):
                rows.append(row | place | costs[_key(row)])
    return rows


def _key(row: Row) -> tuple[str, ...]:
    return row["profile"], row["op"], row["direction"]


if __name__ == "__main__":
    main()
