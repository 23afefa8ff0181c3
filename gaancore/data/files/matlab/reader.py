"""Matrices of a MATLAB file, read by another process: a damaged file cannot crash this one."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gaancore.data.files.arrays import refusing_damage
from gaancore.data.files.matlab import child
from gaancore.errors import DataError

SECONDS, BYTES_PER_SECOND = 60.0, 1_000_000  # that reading may take


def read_matlab_file(
    path: Path, *choices: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The matrices of numbers, dense or sparse, by name, and the names of what else there is.

    choices : the matrices are those of the first choice of names that the file has all of, else of
              the first choice.

    Raises DataError if the file is missing or damaged, if reading it needs more memory or time than
    a file of its size can, and if a name is missing or no matrix of numbers.
    """
    with refusing_damage(path, "MATLAB file"), tempfile.TemporaryDirectory() as folder:
        told = _facts(path, folder, tuple(name for choice in choices for name in choice))
        if "error" in told:
            raise ValueError(told["error"])
        found = told["matrices"]
        names = next((choice for choice in choices if {*choice} <= found.keys()), choices[0])
        matrices = {
            name: _matrix(Path(folder), name, found[name]) for name in names if name in found
        }
    for name in names:
        if matrices.get(name) is None:
            facts = found.get(name)
            what = f"got {facts['dtype']} {tuple(facts['shape'])}" if facts else "found none"
            layouts = " or ".join(", ".join(choice) for choice in choices)
            raise DataError(
                f"{path}: {name}: expected a matrix of numbers, {what}; a file of this layout has "
                f"the matrices {layouts}"
            )
    others = {*found, *told["others"]} - {*names}
    return matrices, tuple(sorted(others))


def _facts(path: Path, folder: str, names: tuple[str, ...]) -> dict[str, Any]:
    command = [sys.executable, "-P", child.__file__, str(path), folder, *names]
    seconds = SECONDS + path.stat().st_size / BYTES_PER_SECOND
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(
            command, capture_output=True, timeout=seconds, env=os.environ | threads, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"not read within {seconds:.0f} seconds") from None
    if ended.returncode < 0:
        raise ValueError(f"its reader crashed ({signal.Signals(-ended.returncode).name})")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _matrix(folder: Path, name: str, facts: dict[str, Any]) -> Any:
    """A dense or sparse matrix; None if it is none of numbers."""
    if facts["kind"] == "dense":
        return np.load(folder / f"{name}.npy", allow_pickle=False)
    if facts["kind"] != "sparse":
        return None
    row, col, data = (
        np.load(folder / f"{name}.{part}.npy", allow_pickle=False)
        for part in ("row", "col", "data")
    )
    return sparse.coo_array((data, (row, col)), shape=tuple(facts["shape"]))
