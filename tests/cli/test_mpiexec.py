"""`mpiexec -n 2 gaancore train`: two processes of a real MPI, started as a user starts them."""

import os
import re
import signal
import sys
import time
from dataclasses import astuple

import numpy as np
import pytest
from mpi_runs import NEEDS_MPI, PROGRAM, ended, processes_of, start_ranks, wait_for_lines
from small_run import contents, small_options, write_small_npz
from small_traffic_run import small_traffic_options

from gaancore.launcher import LAUNCHERS
from gaancore.parallel import start

# three shares, which two ranks cannot have alike
LONG = small_options(fanouts="4,3", shares=3)


def train(data, out="run", epochs=40):
    given = ["--task=ppi", f"--data={data}", f"--out={out}", f"--set=epochs={epochs}"]
    return ["train", *LONG, *given, "--quiet"]


@pytest.fixture
def alone(gaancore, data, tmp_path):
    """What the run leaves in one process."""
    assert gaancore(*train(data, out="alone"), "--device=cpu").code == 0
    return contents(tmp_path / "alone")


@NEEDS_MPI
def test_a_rank_that_is_killed_ends_all_with_one_line_and_the_run_goes_on(alone, data, tmp_path):
    process = start_ranks(tmp_path, (3, train(data, epochs=4000)))
    wait_for_lines(process, tmp_path / "run" / "log.jsonl", 3)
    *_, last = processes_of(process)
    os.kill(last, signal.SIGKILL)
    clock = time.monotonic()
    code, _, errors = ended(process, seconds=60)
    assert time.monotonic() - clock < 10
    assert code != 0
    (line,) = [line for line in errors if "rank" in line]  # of three that notice, one speaks
    assert re.match(r"error: rank [012] on \S+ was killed", line)
    assert line.endswith("go on with mpiexec -n 3 gaancore train --resume run")
    code, out, errors = ended(start_ranks(tmp_path, (2, ["train", "--resume=run", "--epochs=40"])))
    assert (code, errors) == (0, [])
    assert out.count("data: ") == 1  # rank 0 alone speaks
    assert "ranks: 2 processes train 3 shares of each step" in out
    assert contents(tmp_path / "run") == alone


@NEEDS_MPI
def test_ctrl_c_saves_the_state_and_one_process_goes_on(alone, gaancore, data, tmp_path):
    process = start_ranks(tmp_path, (2, train(data)))
    wait_for_lines(process, tmp_path / "run" / "log.jsonl", 2)
    process.send_signal(signal.SIGINT)
    code, _, errors = ended(process)
    assert code == 130
    (line,) = errors
    assert line.startswith("interrupted at step ")
    assert line.endswith("go on with mpiexec -n 2 gaancore train --resume run")
    assert not (tmp_path / "run" / "record.json").exists()
    assert gaancore("train", "--resume", "run", "--quiet").code == 0
    assert contents(tmp_path / "run") == alone


@NEEDS_MPI
def test_forecasts_are_trained_by_two_processes_too(gaancore, tmp_path):
    options = ["train", "--task=metr-la", *small_traffic_options(epochs=1, shares=3), "--quiet"]
    assert gaancore(*options, "--out=alone").code == 0
    code, _, errors = ended(start_ranks(tmp_path, (2, [*options, "--out=run"])))
    assert (code, errors) == (0, [])
    assert contents(tmp_path / "run") == contents(tmp_path / "alone")


@NEEDS_MPI
def test_a_rank_with_other_data_is_refused_once_and_leaves_nothing(data, tmp_path):
    other = write_small_npz(tmp_path / "other.npz", x=np.ones((120, 6), np.float32))
    code, out, errors = ended(start_ranks(tmp_path, (1, train(data)), (1, train(other))))
    assert (code, out) == (2, "")
    (line,) = errors
    assert line.startswith("error: --data: rank 1 on ")
    assert not (tmp_path / "run").exists()


@NEEDS_MPI
def test_a_mistake_of_ours_on_one_rank_ends_all(data, tmp_path):
    broken = (
        "import gaancore.training.nodes.batches as batches, mpi4py.MPI as MPI\n"
        "if MPI.COMM_WORLD.rank == 1:\n"
        "    batches.Batches.blocks = None\n"
    )
    process = start_ranks(tmp_path, (2, train(data)), program=broken + PROGRAM)
    code, _, errors = ended(process, seconds=60)
    assert code == 1
    assert errors[-1].startswith("TypeError: ")
    assert not any("was killed" in line for line in errors)


# ---- what a launcher sets, in this process -------------------------------------------------------


@pytest.fixture
def launched(monkeypatch):
    """Sets what the launcher of MPICH sets."""

    def given(rank, size):
        for names in LAUNCHERS.values():
            for name in names:
                monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PMI_RANK", str(rank))
        monkeypatch.setenv("PMI_SIZE", str(size))

    start.team.cache_clear()
    yield given
    start.team.cache_clear()


def test_what_does_not_run_in_several_processes_is_refused_by_one_of_them(
    gaancore, refused, launched
):
    for command in (
        ["explain", "runs/x"],
        ["report", "runs/x"],
        ["reproduce", "main"],
    ):
        launched(0, 3)
        line = refused(*command)
        assert line == (
            f"gaancore {command[0]} runs in one process, but mpiexec has started 3; start it "
            "without a launcher"
        )
        launched(2, 3)
        assert astuple(gaancore(*command)) == (2, "", "")


def test_without_mpi4py_several_processes_are_refused_and_one_is_told_how(
    gaancore, refused, launched, monkeypatch, data, tmp_path
):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    launched(0, 2)
    line = refused(*train(data))
    assert line.startswith("mpiexec has started this program, but mpi4py cannot be imported (")
    assert "pip install 'gaancore[mpi]'" in line
    launched(1, 2)
    assert astuple(gaancore(*train(data))) == (2, "", "")
    assert not (tmp_path / "run").exists()


def test_a_program_that_nobody_launches_imports_no_mpi(gaancore, data, monkeypatch):
    for names in LAUNCHERS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "mpi4py", None)  # an import would raise
    assert gaancore(*train(data, epochs=1)).code == 0


def test_a_launcher_of_another_mpi_is_refused(refused, launched, data, monkeypatch):
    """As when Open MPI's mpiexec starts a program whose mpi4py has MPICH: each sees only itself."""
    world = type("World", (), {"rank": 0, "size": 1})
    library = type(
        "MPI", (), {"COMM_WORLD": world, "Get_library_version": lambda: "MPICH Version: 5"}
    )
    monkeypatch.setitem(sys.modules, "mpi4py", type("mpi4py", (), {"MPI": library}))
    launched(0, 2)
    line = refused(*train(data))
    assert line.startswith(
        "mpiexec has started 2 processes, but mpi4py sees 1: it uses another MPI"
    )


# ---- the paper's data, on 1 to 4 processes -------------------------------------------------------

PUBLIC = {
    "ppi": ["--data={shared}/ppi-toy", "--epochs=1", "--heads=2", "--out-dim=32"],
    "reddit": ["--data=store", "--epochs=1", "--embed-dim=32", "--out-dim=32"],
    "metr-la": ["--data={shared}/metr-la", "--epochs=1", "--horizon=3", "--set=hidden_dim=8"],
}


@pytest.mark.slow
@NEEDS_MPI
@pytest.mark.parametrize("task", PUBLIC)
def test_the_paper_s_data_give_the_same_bits_on_one_to_four_processes(
    gaancore, shared_data, tmp_path, task
):
    if task == "reddit":
        assert gaancore("synth", "reddit", "store", "--scale=0.01").code == 0
    given = [option.format(shared=shared_data) for option in PUBLIC[task]]
    options = ["train", f"--task={task}", *given, "--quiet"]
    assert gaancore(*options, "--shares=8", "--out=1").code == 0
    expected = contents(tmp_path / "1")
    for size in (1, 2, 3, 4):
        folder = f"on {size}"
        process = start_ranks(tmp_path, (size, [*options, f"--out={folder}"]))
        code, _, errors = ended(process, seconds=1200)
        assert (code, errors) == (0, [])
        assert contents(tmp_path / folder) == expected, folder
