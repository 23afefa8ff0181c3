"""Which versions produced a number."""

import platform
from importlib.metadata import PackageNotFoundError, version

import gaancore

LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "threadpoolctl", "safetensors", "click", "rich")
CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy")
NUMERIC = ("numpy", "scipy", "numba", "cupy-cuda12x", "cupy-cuda13x")


def versions(names: tuple[str, ...] = NUMERIC) -> dict[str, str]:
    """gaancore, Python, and those of `names` that are installed.

    By default the libraries whose versions can change a number.
    """
    found = {"gaancore": gaancore.__version__, "python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # not installed, or vendored without metadata
            continue
    return found
