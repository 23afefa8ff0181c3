"""Reads a MATLAB file in a process of its own: SciPy's reader may crash on a damaged one.

    python child.py FILE FOLDER NAME...

Each matrix of numbers is written to FOLDER as `.npy` files: NAME.npy, or NAME.row.npy,
NAME.col.npy and NAME.data.npy of a sparse one. One JSON object on standard output says what there
is, and what the file has besides. Nothing of this package is imported here, so that the process
starts quickly.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # whose modules are imported at their first use

MARGIN = 512 << 20  # bytes for any file
INFLATED = 1000  # zlib makes at most so many bytes of one


def limit_memory(size: int) -> None:
    """From here on at most what a file of `size` bytes can hold; the system may know no limits."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    held = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    limit = held + MARGIN + INFLATED * size
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def write(folder: Path, name: str, found: Any) -> dict[str, Any]:
    """What `found` is, and its content in files if it is a matrix of numbers."""
    facts = {"dtype": str(found.dtype), "shape": list(found.shape), "kind": "other"}
    if found.ndim != 2 or found.dtype.kind not in "biuf":
        return facts
    if not scipy.sparse.issparse(found):
        np.save(folder / f"{name}.npy", found, allow_pickle=False)
        return facts | {"kind": "dense"}
    matrix = scipy.sparse.csc_array(found)
    matrix.check_format(full_check=True)
    entries = matrix.tocoo()
    for part, array in (("row", entries.row), ("col", entries.col), ("data", entries.data)):
        np.save(folder / f"{name}.{part}.npy", array, allow_pickle=False)
    return facts | {"kind": "sparse"}


def main(path: str, folder: str, *names: str) -> None:
    found: dict[str, Any]
    try:
        limit_memory(os.stat(path).st_size)
        others = sorted({name for name, *_ in scipy.io.whosmat(path)} - {*names})
        variables = scipy.io.loadmat(path, variable_names=names)
        matrices = {
            name: write(Path(folder), name, variables[name]) for name in names if name in variables
        }
        found = {"matrices": matrices, "others": others}
    except NotImplementedError:  # what SciPy raises for files of MATLAB 7.3
        found = {"error": "MATLAB 7.3's format; save it with the option -v7"}
    except Exception as error:  # a damaged file makes SciPy raise nearly anything
        found = {"error": str(error).partition("\n")[0] or type(error).__name__}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
