"""Runs every kernel on a device, on a small block with every kind of row, against plain loops."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaancore.array import on_device_of, to_device, to_numpy
from gaancore.doctor.checks import CHECKS, Given, Results, make_arrays
from gaancore.kernels import kernels_for

TOLERANCE = 1e-5  # of the largest element, float32 against float64


@dataclass(frozen=True)
class Outcome:
    """How a kernel did: `error`, relative to the largest element, or the `reason` for none."""

    device: str
    kernel: str
    error: float
    seconds: float
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason and self.error <= TOLERANCE


def self_test(device: str) -> Iterator[Outcome]:
    """One outcome for each kernel of the contract; a kernel that fails does not stop the rest."""
    arrays = make_arrays()
    there = Given(**{name: to_device(x, device) for name, x in arrays.items()})
    wide = {n: x.astype(np.float64) if x.dtype == np.float32 else x for n, x in arrays.items()}
    kernels = kernels_for(there.scores)
    for name, (run, expected) in CHECKS.items():
        clock, error, reason = time.perf_counter(), float("nan"), ""
        try:
            with on_device_of(there.scores):
                results = [np.asarray(to_numpy(x)) for x in run(kernels, there)]
            error = _largest_error(results, expected(Given(**wide)))
        except Exception as problem:  # of any kind: the outcome reports it
            reason = f"{type(problem).__name__}: {str(problem).partition(chr(10))[0]}"
        yield Outcome(device, name, error, time.perf_counter() - clock, reason)


def _largest_error(results: list[np.ndarray], expected: Results) -> float:
    pairs = zip(results, expected, strict=True)
    return max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in pairs)
