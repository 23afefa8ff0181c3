"""`mpiexec -n N gaancore ...` as processes, where there is an MPI."""

import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import gaancore as package
from gaancore.launcher import LAUNCHERS

CHECKOUT = Path(package.__file__).parents[1]
PROGRAM = "from gaancore.cli.main import main; main()"
BESIDE_PYTHON = Path(sys.executable).parent / "mpiexec"
MPIEXEC = str(BESIDE_PYTHON) if BESIDE_PYTHON.exists() else shutil.which("mpiexec")
NEEDS_MPI = pytest.mark.skipif(
    MPIEXEC is None or find_spec("mpi4py") is None,
    reason="no MPI here; pip install '.[mpi]'",
)


def start_ranks(
    folder: Path, *groups: tuple[int, list[str]], program: str = PROGRAM, **environment: str
) -> subprocess.Popen[str]:
    """Groups of so many ranks with the same arguments, of one world, with one thread each."""
    variables = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    for names in LAUNCHERS.values():
        for name in names:
            variables.pop(name, None)
    command = [str(MPIEXEC)]
    for number, (size, arguments) in enumerate(groups):
        command += [":"] * (number > 0) + ["-n", str(size), sys.executable, "-c", program]
        command += arguments
    return subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], seconds: float = 120) -> tuple[int, str, list[str]]:
    """Exit code, what was printed, and the lines of errors that the launcher has not written."""
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()  # if it hangs: its ranks end with it
    return process.returncode, out, [line for line in err.splitlines() if not _of_mpi(line)]


def wait_for_lines(process: subprocess.Popen[str], log: Path, count: int) -> None:
    """Until the log has so many lines; the process must still be running."""
    deadline = time.monotonic() + 120
    while not log.exists() or log.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def processes_of(process: subprocess.Popen[str]) -> list[int]:
    """The ranks that a launcher has started: the Python programs below it."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    children: dict[int, list[tuple[int, str]]] = {}
    for pid, parent, *arguments in rows:
        children.setdefault(int(parent), []).append((int(pid), " ".join(arguments)))
    found, waiting = [], [process.pid]
    while waiting:
        for pid, arguments in children.get(waiting.pop(), []):
            waiting.append(pid)
            if arguments.startswith(sys.executable):
                found.append(pid)
    return sorted(found)


def _of_mpi(line: str) -> bool:
    return not line.strip() or line.startswith(("=", "[mpiexec", "Abort(", "YOUR APPL", "This typ"))
