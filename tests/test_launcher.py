"""Who has started this process, by the environment alone."""

import pytest

from gaancore.errors import SettingsError
from gaancore.launcher import LAUNCHERS, Launch, expect_alone, launch, local_rank, speaks


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"}, Launch("mpiexec", 1, 4, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, Launch("mpiexec", 0, 1, None)),
        (
            {
                "OMPI_COMM_WORLD_RANK": "3",
                "OMPI_COMM_WORLD_SIZE": "8",
                "OMPI_COMM_WORLD_LOCAL_RANK": "0",
                "PMIX_RANK": "3",
            },
            Launch("Open MPI", 3, 8, 0),
        ),
        ({"PMIX_RANK": "2"}, Launch("PMIx", 2, None, None)),
        (
            {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "1"},
            Launch("Slurm", 1, 2, 1),
        ),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),  # an interactive shell
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),  # a batch script before srun
        ({"PMI_RANK": "mine"}, None),
    ],
)
def test_a_launcher_is_known_by_its_variables(environment, expected):
    assert launch(environment) == expected


@pytest.fixture
def launched(monkeypatch):
    """Sets what a launcher sets, and nothing of another one."""

    def given(**environment):
        for names in LAUNCHERS.values():
            for name in names:
                monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    return given


def test_what_runs_in_one_process_is_refused_in_several(launched):
    launched(PMI_RANK="1", PMI_SIZE="3", MPI_LOCALRANKID="1")
    assert not speaks()
    assert local_rank() == 1
    with pytest.raises(SettingsError, match="predict runs in one process, but mpiexec has started"):
        expect_alone("predict")
    launched(PMIX_RANK="0")  # which does not say how many
    assert speaks()
    with pytest.raises(SettingsError, match="has started several"):
        expect_alone("predict")


def test_one_process_may_do_everything(launched):
    for environment in ({}, {"PMI_RANK": "0", "PMI_SIZE": "1"}):
        launched(**environment)
        assert speaks()
        assert local_rank() == 0
        expect_alone("predict")
