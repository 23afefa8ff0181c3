"""`mpiexec -n N gaancore predict` and the other commands that ask: processes of a real MPI.

tests/parallel/test_asking_on_ranks.py has more cases, of ranks that are threads.
"""

import shlex
from pathlib import Path

import pytest
from mpi_runs import NEEDS_MPI, ended, start_ranks
from small_run import small_options
from small_traffic_run import small_traffic_options

from gaancore.data import check_store

# Several commands one after the other, to start Python and MPI once. Each prints its exit code.
SEVERAL = """
import shlex, sys
from gaancore.cli.main import main
from gaancore.launcher import speaks
for line in sys.argv[1:]:
    sys.argv = ["gaancore", *shlex.split(line)]
    try:
        main()
    except SystemExit as end:
        if speaks():
            print("exit code", end.code, flush=True)
"""
COMMANDS = (
    "predict run --out {0}.csv",
    "predict run --data {data} --top-k 2 --out {0}.npz",
    "embed run --out {0}-embeddings.csv",
    "evaluate run --split train --per-class --json",
    "evaluate roads --split test --json",
    "forecast roads --all --interval 80 --out {0}-all.csv",
    "forecast roads --missing keep --out {0}-next.csv",
    "sample {data} --repeats 3 --seeds 20 --fanouts 3,2 --json",
)


@pytest.fixture
def run(gaancore, data):
    """A run of three shares."""
    options = small_options(epochs=1, shares=3)
    given = ["train", "--task=ppi", f"--data={data}", "--out=run", "--quiet", *options]
    assert gaancore(*given, "--device=cpu").code == 0


@pytest.fixture
def roads(gaancore):
    """A run that forecasts."""
    given = ["train", "--task=metr-la", "--out=roads", "--quiet", *small_traffic_options(epochs=1)]
    assert gaancore(*given, "--device=cpu").code == 0


def lines_of(data: Path, name: str) -> list[str]:
    return [line.format(name, data=data) for line in COMMANDS]


def said(out: str, name: str) -> list[str]:
    """What was printed, without the names of files and what a clock has measured."""
    kept = [line for line in out.replace(f"{name}", "NAME").splitlines() if "seconds" not in line]
    return [line for line in kept if not line.startswith("exit code")]


@NEEDS_MPI
def test_every_command_that_asks_gives_the_same_bits_in_two_and_three_processes(
    gaancore, run, roads, data, tmp_path
):
    alone = []
    for line in lines_of(data, "alone"):
        outcome = gaancore(*shlex.split(line))
        assert outcome.code == 0, outcome.err
        alone += said(outcome.out, "alone")
    for size, name in ((2, "pair"), (3, "three")):
        process = start_ranks(tmp_path, (size, lines_of(data, name)), program=SEVERAL)
        code, out, errors = ended(process, seconds=240)
        assert code == 0, errors
        assert out.count("exit code 0") == len(COMMANDS), (out, errors)
        assert said(out, name) == alone  # rank 0 alone has spoken, and said the same
        for file in tmp_path.glob("alone*"):
            other = file.with_name(file.name.replace("alone", name))
            assert other.read_bytes() == file.read_bytes(), other.name
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".part"]


@NEEDS_MPI
def test_one_process_converts_and_the_others_end(gaancore, data, tmp_path):
    assert gaancore("convert", data, "alone").code == 0
    code, out, errors = ended(start_ranks(tmp_path, (3, ["convert", str(data), "store"])))
    assert code == 0
    assert out.startswith("store: 120 nodes, ")
    assert out.count("120 nodes") == 1
    assert errors == [
        "note: gaancore convert runs in one process; of the 3 that mpiexec has started the first "
        "does it, and the others end"
    ]
    check_store(tmp_path / "store")
    for file in (tmp_path / "alone").iterdir():
        assert (tmp_path / "store" / file.name).read_bytes() == file.read_bytes()


RANK_1 = "import mpi4py.MPI as MPI, sys\nif MPI.COMM_WORLD.rank == 1:\n"
RANK_0 = RANK_1.replace("== 1", "== 0")
PROGRAM = "\nfrom gaancore.cli.main import main\nmain()"
FAILURES = {
    "a damaged file on one rank": (
        RANK_1 + "    sys.argv[sys.argv.index('--data') + 1] = 'damaged.npz'\n",
        "error: damaged.npz: ",
        " (rank 1 on ",
        2,
    ),
    "a full disk": (
        RANK_0 + "    import errno, os\n"
        "    def full(file): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "    os.fsync = full\n",
        "error: out.csv: cannot be written (No space left on device); what was there before",
        "is untouched",
        2,
    ),
    "too little memory on one rank": (
        RANK_1 + "    import gaancore.training.nodes.predict as predict\n"
        "    def infer(*given): raise MemoryError('Unable to allocate 9 GiB')\n"
        "    predict.infer = infer\n",
        "error: out of memory (",
        "(rank 1 on ",
        3,
    ),
    "a rank that is killed": (
        RANK_1 + "    import os, signal\n"
        "    import gaancore.training.nodes.predict as predict\n"
        "    def infer(*given): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    predict.infer = infer\n",
        "error: rank ",
        "start the command again",
        9,  # of the launcher, which the signal has told it
    ),
}


@NEEDS_MPI
@pytest.mark.parametrize("what", FAILURES)
def test_what_goes_wrong_for_one_process_ends_all_with_one_line(run, data, tmp_path, what):
    broken, begins, holds, expected = FAILURES[what]
    (tmp_path / "damaged.npz").write_bytes(data.read_bytes()[:500])
    (tmp_path / "out.csv").write_text("before")
    asked = ["predict", "run", "--data", str(data), "--out", "out.csv"]
    process = start_ranks(tmp_path, (2, asked), program=broken + PROGRAM)
    code, out, errors = ended(process, seconds=60)
    (line,) = errors
    assert line.startswith(begins)
    assert holds in line
    assert "written" not in out
    assert code == expected
    assert (tmp_path / "out.csv").read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {
        "small.npz", "damaged.npz", "out.csv", "run",
    }  # fmt: skip
