"""Whether a launcher such as mpiexec has started this process, from what it left in the
environment: so MPI, and the room that knows it, are imported only where there is need of them.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from gaancore.errors import SettingsError


class Launch(NamedTuple):
    """What a launcher says. rank, size, local_rank: None where it does not say."""

    name: str
    rank: int | None
    size: int | None
    local_rank: int | None


# The variables of rank, size, and rank on this machine. Slurm has its own for every step, so it
# comes last: with MPI of PMIx or PMI it sets those of both.
LAUNCHERS = {
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    "MVAPICH": ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
    "mpiexec": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    "Slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    "PMIx": ("PMIX_RANK", "", ""),
}


def launch(environment: Mapping[str, str] = os.environ) -> Launch | None:
    """Who has started this process as one of several, or of one; None if nobody has.

    A Slurm step of one task is nobody: so is every shell on a cluster.
    """
    for name, variables in LAUNCHERS.items():
        rank, size, local_rank = (_number(environment, variable) for variable in variables)
        if rank is not None and (name != "Slurm" or (size or 1) > 1):
            return Launch(name, rank, size, local_rank)
    return None


def local_rank() -> int:
    """Which of the processes on this machine, from 0."""
    found = launch()
    return (found.local_rank or 0) if found else 0


def speaks() -> bool:
    """Whether this process prints what all of them have to say."""
    found = launch()
    return found is None or not found.rank


def expect_alone(what: str) -> None:
    """Raises SettingsError if a launcher has started several processes, each of which would do
    `what` by itself, and write the same files.
    """
    found = launch()
    if found is not None and found.size != 1:
        raise SettingsError(
            f"{what} runs in one process, but {found.name} has started "
            f"{found.size or 'several'}; start it without a launcher"
        )


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isdecimal() else None
