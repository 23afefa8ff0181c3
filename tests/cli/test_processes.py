"""`gaancore train` as a process: killed, interrupted, watched for memory, without a cache."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_run import contents, small_options

import gaancore as package

CHECKOUT = Path(package.__file__).parents[1]
PROGRAM = "from gaancore.cli.main import main; main()"
LONG = small_options(epochs=150, fanouts="4,3")


def start(*arguments: object, folder: Path, **environment: str | None) -> subprocess.Popen[str]:
    """`gaancore ARGUMENTS` on the CPU in `folder`; a variable that is None is not set."""
    variables = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments), "--device=cpu"],
        cwd=folder,
        env={name: value for name, value in variables.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_lines(process: subprocess.Popen[str], log: Path, count: int) -> None:
    """Until the log has so many lines; the process must still be running."""
    deadline = time.monotonic() + 60
    while not log.exists() or log.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture
def uninterrupted(gaancore, data, tmp_path) -> dict:
    """What the long run leaves when nothing happens to it."""
    assert (
        gaancore(
            "train", "--task", "ppi", "--data", data, *LONG, "--out", "straight", "--quiet"
        ).code
        == 0
    )
    return contents(tmp_path / "straight")


def test_a_process_killed_at_three_random_moments_ends_with_the_same_bits(
    uninterrupted, data, tmp_path
):
    rng = np.random.default_rng()
    log = tmp_path / "run" / "log.jsonl"
    command = ["train", "--task", "ppi", "--data", data, *LONG, "--out", "run"]
    for lines in (1, 40, 80):
        process = start(*command, folder=tmp_path)
        wait_for_lines(process, log, lines)
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (tmp_path / "run" / "record.json").exists()
        command = ["train", "--resume", "run"]
    process = start(*command, "--quiet", folder=tmp_path)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert contents(tmp_path / "run") == uninterrupted


def test_ctrl_c_saves_the_state_and_a_resume_ends_with_the_same_bits(
    uninterrupted, gaancore, data, tmp_path
):
    process = start(
        "train", "--task", "ppi", "--data", data, *LONG, "--out", "run", folder=tmp_path
    )
    wait_for_lines(process, tmp_path / "run" / "log.jsonl", 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    (line,) = err.splitlines()
    assert line.startswith("interrupted at step ")
    assert line.endswith("the state is saved, go on with gaancore train --resume run")
    assert not (tmp_path / "run" / "record.json").exists()
    assert gaancore("train", "--resume", "run", "--quiet").code == 0
    assert contents(tmp_path / "run") == uninterrupted


def test_a_second_ctrl_c_stops_at_once_and_then_the_signal_is_as_before(
    gaancore, data, tmp_path, monkeypatch
):
    def blocks(*args):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("gaancore.training.nodes.batches.Batches.blocks", blocks)
    # batches in the main thread: signals that another raises at once may count as one
    outcome = gaancore(
        "train", "--task", "ppi", "--data", data, *LONG, "--prefetch", "0", "--out", "run"
    )
    assert (outcome.code, outcome.err.split()) == (130, ["interrupted"])
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {".lock", "settings.json"}
    assert signal.getsignal(signal.SIGINT) is before


def test_memory_does_not_grow_after_the_second_epoch(data, tmp_path):
    options = small_options(epochs=60, batch_size=16)
    process = start(
        "train", "--task", "ppi", "--data", data, *options, "--out", "run", folder=tmp_path
    )
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    log = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    held = [json.loads(line)["rss_mb"] for line in log]
    assert len(held) == 60
    assert held[-1] <= 1.02 * held[1]
    assert f"memory {held[1]:.0f} MB after the second validation, {held[-1]:.0f} MB at the" in out


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"HOME": "/dev/null", "NUMBA_CACHE_DIR": None}, id="a home that is no folder"),
        pytest.param(
            {"HOME": None, "NUMBA_CACHE_DIR": "/dev/null/cache"},
            id="no home and an unusable cache",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_read_only_installation_without_a_cache_imports_and_trains(data, tmp_path, environment):
    installed = tmp_path / "site-packages" / "gaancore"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "gaancore", installed, ignore=ignore)
    shutil.copytree(CHECKOUT / "cli", installed / "cli", ignore=ignore)
    for folder in (installed, *filter(Path.is_dir, installed.rglob("*"))):
        (folder / "__pycache__").touch()  # a file in its place keeps even root from writing there
    options = ["--data", data, *small_options(epochs=1), "--model=fnn", "--out", "run"]
    environment = {"XDG_CACHE_HOME": None, "PYTHONPATH": str(installed.parent), **environment}
    process = start("train", *options, folder=tmp_path, **environment)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert (tmp_path / "run" / "record.json").exists()
