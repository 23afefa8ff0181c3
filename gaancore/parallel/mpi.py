"""MPI, by way of mpi4py: the only file that imports it."""

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from gaancore.array import Array, device_of, to_device, to_numpy
from gaancore.errors import DeviceError
from gaancore.launcher import Launch

INSTALL = "pip install 'gaancore[mpi]', or build mpi4py with the MPI of this cluster"


class Mpi:
    """All ranks of MPI's world. Raises DeviceError, with the remedy, where MPI cannot be used or
    is another than that of the launcher.
    """

    def __init__(self, launch: Launch) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:  # no mpi4py, or no MPI library that it could load
            reason = str(error).partition("\n")[0]
            raise DeviceError(
                f"{launch.name} has started this program, but mpi4py cannot be imported "
                f"({reason}); {INSTALL}; for one process, start it without a launcher"
            ) from None
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise DeviceError(f"MPI cannot be loaded ({reason}); {INSTALL}") from None
        self._world = MPI.COMM_WORLD
        self.rank, self.size = self._world.rank, self._world.size
        if launch.size is not None and launch.size != self.size:
            library = MPI.Get_library_version().partition("\n")[0].strip(" \0")
            raise DeviceError(
                f"{launch.name} has started {launch.size} processes, but mpi4py sees {self.size}: "
                f"it uses another MPI ({library[:60]}); start it by the mpiexec of that MPI, or "
                "build mpi4py with the MPI of this launcher"
            )
        self._wait = MPI.Request.Waitall

    def gather(self, content: np.ndarray) -> list[np.ndarray]:
        counts = np.empty(self.size, np.int64)
        self._world.Allgather(np.array([content.size]), counts)
        found = np.empty(counts.sum(), np.uint8)
        self._world.Allgatherv(content, [found, counts])
        return np.split(found, np.cumsum(counts)[:-1])

    def trade(self, contents: Sequence[np.ndarray], counts: Sequence[int]) -> list[np.ndarray]:
        # Alltoallv would need all contents in one array: two more copies of each
        found = [np.empty(count, np.uint8) for count in counts]
        under_way = [self._world.Irecv(x, rank) for rank, x in enumerate(found) if x.size]
        under_way += [self._world.Isend(x, rank) for rank, x in enumerate(contents) if x.size]
        self._wait(under_way)
        return found

    def exchange(self, rows: Array, counts: Sequence[int]) -> Array:
        width = rows.shape[2]
        found = np.empty((sum(counts), width), rows.dtype)
        sent = [rows.shape[1] * width] * self.size
        self._world.Alltoallv([to_numpy(rows), sent], [found, [count * width for count in counts]])
        return to_device(found, device_of(rows))

    def collect(self, part: Array) -> Array:
        found = np.empty(self.size * part.size, part.dtype)
        self._world.Allgather(to_numpy(part), found)
        return to_device(found, device_of(part))

    def abort(self, code: int) -> NoReturn:
        self._world.Abort(code)
        raise SystemExit(code)
