"""What more ranks and more machines bring: runs are measured, a model of a step is fitted to them
and checked against one that it has not seen, and then predicts up to 256 machines.

    gaancore synth reddit reddit-small --scale 0.2
    python bench/scale.py reddit-small --json scale.json --picture scale.svg
    python bench/scale.py reddit-small --work           # the table of shares, without MPI
    python bench/scale.py /shared/mygraph --task classes --launcher 'mpiexec -f hosts' --threads 32

It starts `mpiexec -n RANKS` for each pair RANKS:SHARES of --runs and for --held-out; see
scale_run.py for what is measured, scale_model.py for the model. A machine with fewer CPUs than its
ranks have threads would measure how they share them, so such a run is left out.

A prediction takes a machine for a rank as they were here, and a network for what MPI costs here
plus the wire: --latency for each round of messages, and the bits. Strong scaling cuts the task's
batch into as many shares as there are machines; weak scaling gives each machine a batch of its own,
which is another training: its steps are larger, and fewer.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scale_model
import scale_report
from scale_model import Model
from scale_run import WARM_UP
from scale_work import Sampler
from timing import machine

from gaancore.errors import DeviceError, UserError

RUN = Path(__file__).with_name("scale_run.py")
RUNS = "1:1,1:2,1:4,1:32,2:2,2:4,2:32,4:4,4:32"
MACHINES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
GIGABITS = [10, 100, 400]  # a second
NO_MPI = "no MPI here: pip install 'gaancore[mpi]', or name the launcher of this cluster with "
NO_MPI += "--launcher; --work needs none"


def launched(args: argparse.Namespace, ranks: int, shares: int) -> dict[str, Any]:
    """The line of JSON that scale_run.py prints on so many ranks."""
    command = [*shlex.split(args.launcher), "-n", str(ranks), sys.executable, str(RUN), args.data]
    command += ["--task", args.task, "--shares", str(shares)]
    command += ["--steps", str(args.steps), "--threads", str(args.threads)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != 1:
        said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        said = said or done.stderr.splitlines()[-1:] or ["it printed no figures"]
        raise DeviceError(f"{shlex.join(command)}: exit code {done.returncode}: {said[0]}")
    return dict(json.loads(lines[0]))


def row_of(pair: dict[str, Any], model: Model, sampler: Sampler, fitted: bool) -> dict[str, Any]:
    """A measured pair, and what the model says of the same steps from what the sampler draws."""
    work = sampler.work(pair["shares"], len(pair["steps"]), WARM_UP, ranks=pair["ranks"])
    seconds = [model.step(of_step, pair["ranks"]).seconds for of_step in work]
    measured = scale_model.means(pair)
    return {
        "library": "gaancore",
        "ranks": pair["ranks"],
        "shares": pair["shares"],
        "fitted": fitted,
        **measured._asdict(),
        "predicted": float(np.median(seconds)),
        "error": float(np.median(seconds)) / measured.step - 1,
    }


def predictions(
    model: Model, sampler: Sampler, steps: int, latency: float
) -> Iterator[dict[str, Any]]:
    """Seconds of an epoch on more and more machines, for one network after the other."""
    batch = min(sampler.batch_size, sampler.num_seeds)
    for scaling in ("strong", "weak"):
        for machines in MACHINES:
            size = batch * machines if scaling == "weak" else batch
            if machines > min(size, sampler.most or size) or size > sampler.num_seeds:
                break
            count = steps if scaling == "strong" else max(1, steps // machines)
            count = min(count, sampler.num_seeds // size)
            work = sampler.work(machines, count, batch_size=size, ranks=machines)
            read = float(work[:, :, 2].max(axis=1).mean())
            per_epoch = sampler.num_seeds / size
            yield {
                "scaling": scaling,
                "machines": machines,
                "seeds": size,
                "steps_per_epoch": per_epoch,
                "edges": float(work[:, :, 0].sum(axis=1).mean()),
                "nodes": float(work[:, :, 1].sum(axis=1).mean()),
                "bytes": scale_model.talk(model.numbers, machines, machines).bytes + read,
                "hits": sampler.hits,
                "seconds_per_epoch": {
                    gigabits: per_epoch
                    * model.seconds(work, machines, model.network.over(gigabits, latency))
                    for gigabits in GIGABITS
                },
            }


def measure(args: argparse.Namespace, sampler: Sampler) -> dict[str, Any]:
    """Run everything; what goes into the JSON."""
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    notes = []
    for ranks, shares in [*args.runs, args.held_out]:
        found = launched(args, ranks, shares)
        name = scale_report.name_of(ranks, shares)
        if crowded := found.get("crowded"):
            notes.append(f"{name}: left out, {crowded}")
        else:
            pairs[ranks, shares] = found
            print(f"{name}: {scale_model.means(found).step:.3f} s a step", flush=True)
    held_out = pairs.pop(args.held_out, None)
    if not pairs:
        raise DeviceError("nothing was measured: " + "; ".join(notes))
    model = scale_model.fitted(list(pairs.values()))
    rows = [row_of(pair, model, sampler, True) for pair in pairs.values()]
    if held_out:
        rows.append(row_of(held_out, model, sampler, False))
    return {
        "rows": rows,
        "notes": notes,
        "model": asdict(model),
        "predicted": list(predictions(model, sampler, args.steps, args.latency * 1e-6)),
    }


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Print all there is to say; what goes into the JSON."""
    sampler = Sampler(args.task, args.data)
    if args.work:
        steps = max(1, min(args.steps, sampler.num_seeds // sampler.batch_size))  # not cut short
        work = {shares: sampler.work(shares, steps) for shares in args.work}
        print(*scale_report.of_work(work, args.markdown), sep="\n")
        return {"work": {shares: of_steps.tolist() for shares, of_steps in work.items()}}
    facts = machine()
    print("gaancore on", ", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"{args.data}: {sampler.num_seeds:,} training nodes; {args.steps} steps a run")
    found = {"machine": facts, **measure(args, sampler)}
    print(*scale_report.of_run(found, args), sep="\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="a store, or any other data of the task")
    parser.add_argument("--task", choices=["reddit", "ppi", "classes", "labels"], default="reddit")
    parser.add_argument(
        "--work", nargs="?", const=[1, 2, 8, 24], type=_numbers, metavar="SHARES",
        help="print edges and nodes of a step cut into so many shares [1,2,8,24], and measure "
        "nothing",
    )  # fmt: skip
    parser.add_argument("--runs", type=_pairs, default=_pairs(RUNS), help=f"RANKS:SHARES [{RUNS}]")
    parser.add_argument("--held-out", type=_pair, default=(2, 8), help="to check by [2:8]")
    parser.add_argument("--steps", type=int, default=20, help="timed ones of a run [20]")
    parser.add_argument("--threads", type=int, default=1, help="of a rank [1]")
    parser.add_argument("--launcher", default=_mpiexec(), help="what takes -n RANKS [mpiexec]")
    parser.add_argument("--latency", type=float, default=20, help="of a wire, in us [20]")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--markdown", action="store_true", help="print tables for docs")
    parser.add_argument("--picture", metavar="FILE", help="draw the predictions")
    args = parser.parse_args()
    if args.held_out in args.runs:
        parser.error("--held-out: is one of --runs, so it would be fitted")
    if not args.work and not (_found(args.launcher) and find_spec("mpi4py")):
        parser.exit(2, NO_MPI + "\n")
    try:
        found = run(args)
    except UserError as error:
        parser.exit(2, f"error: {error}\n")
    if args.picture and not args.work:
        from scale_picture import plot

        plot(found["predicted"], Path(args.picture))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=2) + "\n")


def _mpiexec() -> str | None:
    """The launcher beside this Python, else the first on the PATH."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def _found(launcher: str | None) -> bool:
    """Whether it is a program that is there."""
    words = shlex.split(launcher or "")
    return bool(words) and shutil.which(words[0]) is not None


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _pair(text: str) -> tuple[int, int]:
    ranks, shares = (int(number) for number in text.split(":"))
    if not 1 <= ranks <= shares:
        raise argparse.ArgumentTypeError(f"{text}: every rank needs a share")
    return ranks, shares


def _pairs(text: str) -> list[tuple[int, int]]:
    return [_pair(pair) for pair in text.split(",")]


if __name__ == "__main__":
    main()
