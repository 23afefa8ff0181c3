"""`gaancore doctor`."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from gaancore.array import resolve_device
from gaancore.doctor.checks import CHECKS
from gaancore.doctor.kernel_resources import (
    SHAPE,
    Resources,
    architectures,
    disassembler,
    kernel_files,
    resource_table,
)
from gaancore.doctor.machine import describe_machine
from gaancore.doctor.self_test import Outcome, self_test
from gaancore.errors import DeviceError
from gaancore.system.process import prepare_process

from .process import debug_option
from .show import print_whole


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not lines.  [default: no]")
@click.option(
    "--device", default="auto", show_default=True,
    help="Where kernels are tested: auto (on the CPU and every GPU), cpu or cuda[:N].",
)  # fmt: skip
@click.option(
    "--kernels", is_flag=True,
    help="Compile the CUDA kernels for every architecture instead (no GPU is needed), and show "
    "the registers, occupancy, shared memory and spilled bytes of each and, where nvdisasm or "
    "cuobjdump is there, its instructions.  [default: no]",
)  # fmt: skip
@debug_option
def doctor(as_json: bool, device: str, kernels: bool) -> int:
    """Show versions, processor, BLAS, GPU and cache folders, and test every kernel.

    Each kernel runs on every usable device, on a small graph, and is compared with plain loops. The
    first run also compiles it. Exit code 2 if one is wrong.
    """
    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    if kernels:
        _show_resources(console, as_json)
        return 0
    machine = describe_machine()  # BLAS as it comes: prepare_process limits it
    prepare_process(0)
    gpus = [gpu["device"] for gpu in machine["gpu"]["devices"]]
    devices = ["cpu", *gpus] if device == "auto" else [resolve_device(device)]
    if not as_json:
        for line in _machine_lines(machine):
            console.print(line)
    outcomes = [outcome for name in devices for outcome in _tested(name, console, as_json)]
    if as_json:
        tests = [{**asdict(outcome), "passed": outcome.passed} for outcome in outcomes]
        click.echo(json.dumps({**machine, "self_test": tests}, indent=2))
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if failed:
        names = ", ".join(f"{outcome.kernel} on {outcome.device}" for outcome in failed)
        raise DeviceError(
            f"self-test: wrong: {names}; compile anew (delete the folders of compiled kernels) or "
            "install the versions that pyproject.toml names"
        )
    return 0


def _show_resources(console: Console, as_json: bool) -> None:
    """A line for each kernel and build: what it takes on each architecture; what must be 0 last."""
    targets = architectures()
    found: list[Resources] = []
    files = track(
        kernel_files(), "compiling", console=console, transient=True,
        disable=as_json or not console.is_terminal,
    )  # fmt: skip
    began = time.perf_counter()
    for file in files:
        found += resource_table(targets, [file])
    if as_json:
        click.echo(json.dumps([kernel._asdict() for kernel in found], indent=2))
        return
    found.sort(key=_build)
    print_whole(console, _table("registers", found, targets, ("shared", "spilled")))
    print_whole(console, _table("occupancy", found, targets))
    if disassembler():
        print_whole(console, _table("instructions", found, targets))
    else:
        console.print(
            "instructions: not counted: no nvdisasm or cuobjdump; pip install nvidia-cuda-nvdisasm"
        )
    shape = ", ".join(f"{name} = {value}" for name, value in SHAPE.items())
    texts = len({(kernel.file, kernel.dtype, kernel.numbers) for kernel in found}) * len(targets)
    console.print(f"compiled for {shape}")
    console.print(
        f"{texts:,} texts compiled in {time.perf_counter() - began:.1f} s; a run compiles those "
        "that it launches, once: CuPy keeps them on disk"
    )


def _table(
    name: str, found: Sequence[Resources], targets: Sequence[int], last: Sequence[str] = ()
) -> Table:
    """One figure of each kernel and build, sorted, by architecture, and the largest of `last`."""
    unit = {"occupancy": ", % of the warps that a multiprocessor holds,"}.get(name, "")
    # box and padding are spared, so that a line of all architectures fits a terminal
    table = Table(title=f"{name}{unit} by architecture (sm_)", title_justify="left", box=None)
    for title in ("kernel", "per load"):
        table.add_column(title)
    for title in (*map(str, targets), *last):
        table.add_column(title, justify="right")
    for (kernel, dtype, numbers), builds in groupby(found, key=lambda row: _build(row)[:3]):
        group = list(builds)
        figures = [str(getattr(row, name)) for row in group]
        most = [str(max(getattr(row, key) for row in group)) for key in last]
        table.add_row(kernel, f"{numbers} {dtype}", *figures, *most)
    return table


def _build(kernel: Resources) -> tuple[str, str, int, int]:
    return kernel.kernel, kernel.dtype, kernel.numbers, kernel.architecture


def _tested(device: str, console: Console, quiet: bool) -> Sequence[Outcome]:
    outcomes = list(
        track(
            self_test(device),
            f"self-test on {device}",
            total=len(CHECKS),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
    )
    if not quiet:
        for outcome in outcomes:
            if not outcome.passed:
                off = outcome.reason or f"off by {outcome.error:.1e} of the largest element"
                console.print(f"self-test: {outcome.kernel} on {device}: {off}")
        good = [outcome.error for outcome in outcomes if outcome.passed]
        seconds = sum(outcome.seconds for outcome in outcomes)
        console.print(
            f"self-test: {device}: {len(good)} of {len(outcomes)} kernels agree with plain loops "
            f"(to {max(good, default=0):.0e} of the largest element); {seconds:.1f} s"
        )
    return outcomes


def _machine_lines(machine: dict[str, Any]) -> Sequence[str]:
    gpu = machine["gpu"]
    lines = [
        ", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        f"system: {machine['system']}",
        f"processor: {machine['processor']}, {machine['cores']} cores",
        f"threads: {machine['threads']}, of gaancore's own (Numba's layers are not used)",
    ]
    for library in machine["blas"]:
        lines.append(
            "blas: {library} {version}, {kernel} kernels, {threads} threads".format(**library)
        )
    for device in gpu["devices"]:
        free, total = (device[name] / 1e9 for name in ("free_bytes", "total_bytes"))
        lines.append(
            f"gpu: {device['device']}: {device['name']}, compute capability "
            f"{device['compute_capability']}, {free:.1f} of {total:.1f} GB free"
        )
    if not gpu["devices"]:
        lines.append(f"gpu: none: {gpu['reason']}")
    driver = f"for CUDA {gpu['driver']}" if gpu["driver"] else "none"
    lines.append(f"driver: {driver}; the extra that fits: {gpu['extra'] or 'none'}")
    for folder in machine["folders"]:
        state = "writable" if folder["writable"] else "not writable: each process compiles anew"
        lines.append(f"folder: {folder['purpose']}: {folder['path'] or 'none'}, {state}")
    return lines
