"""The NVIDIA driver: which CUDA it runs, and what to do on a machine where CuPy does not work."""

import ctypes
import sys


def driver_version() -> tuple[int, int] | None:
    """The latest CUDA, (12, 4) say, that the NVIDIA driver can run; None if there is no driver."""
    version = ctypes.c_int()
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        failed = library.cuDriverGetVersion(ctypes.byref(version))
    except (AttributeError, OSError):
        return None
    return None if failed else divmod(version.value // 10, 100)


def cuda_extra() -> str | None:
    """The extra of gaancore that the driver can run; None if it is too old, or there is none."""
    driver = driver_version() or (0, 0)
    return "cuda13" if driver >= (13, 0) else "cuda12" if driver >= (12, 0) else None


def remedy(error: Exception) -> str:
    """Why CuPy cannot compute on this machine, and what to do, from what it raised; one line."""
    driver = driver_version()
    if driver is None:
        return "this machine has no NVIDIA driver"
    if (extra := cuda_extra()) is None:
        return f"the driver is for CUDA {driver[0]}.{driver[1]}; install one for CUDA 12 or later"
    install = f"in the checkout of gaancore, pip install '.[{extra}]'"
    if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
        return f"CuPy is not installed; {install}"
    reason = f"{type(error).__name__}: {error}".partition("\n")[0]
    if "NoDevice" in reason:
        return "the driver shows no CUDA device; check nvidia-smi and CUDA_VISIBLE_DEVICES"
    return f"CuPy does not work here ({reason}); uninstall every cupy package, then {install}"
