"""A run in a process of its own: how it ends, and what it leaves."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from small_run import contents, small_settings, write_small_npz

import gaancore
from gaancore.reproduce.jobs import WORKER, Job, Jobs, Means
from gaancore.reproduce.worker import Work
from gaancore.system.process import prepare_process
from gaancore.tasks.begin import begin

CHECKOUT = Path(gaancore.__file__).parents[1]


def start(folder: Path, **changes: object) -> subprocess.Popen[bytes]:
    """A worker that trains on a small graph."""
    work: Work = {
        "task": "ppi",
        "data": str(write_small_npz(folder / "small.npz")),
        "folder": str(folder / "run"),
        "settings": asdict(small_settings(epochs=2)),
        "device": "cpu",
        "prefetch": 0,
        "threads": 1,
    }
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, json.dumps(work | changes)],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    """Exit code, output, errors; its standard input stays open."""
    with process as worker:
        assert worker.stdout is not None
        assert worker.stderr is not None
        code = worker.wait(timeout=240)
        return code, worker.stdout.read(), worker.stderr.read()


def test_a_worker_trains_as_this_process_does(any_threads, tmp_path):
    process = start(tmp_path)
    prepare_process(1)
    here = begin(
        tmp_path / "small.npz",
        task="ppi",
        out=tmp_path / "here",
        device="cpu",
        prefetch=0,
        layers=[("settings", asdict(small_settings(epochs=2)))],
    )
    here.run.train()
    assert ended(process) == (0, b"", b"")
    assert contents(tmp_path / "run") == contents(tmp_path / "here")


def test_it_saves_and_ends_when_its_input_closes_and_goes_on_later(tmp_path):
    endless = asdict(small_settings(epochs=100_000, stop_patience=100_000))
    process = start(tmp_path, settings=endless)
    deadline = time.monotonic() + 240
    while not (tmp_path / "run" / "log.jsonl").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.stdin is not None
    process.stdin.close()
    assert ended(process) == (130, b"", b"")
    assert (tmp_path / "run" / "last.safetensors").exists()
    assert not (tmp_path / "run" / "record.json").exists()

    path = tmp_path / "run" / "settings.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    done = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").count("\n")
    content["settings"]["epochs"] = done + 2
    path.write_text(json.dumps(content), encoding="utf-8")
    assert ended(start(tmp_path, settings=None)) == (0, b"", b"")
    record = json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))
    assert record["epochs"] == done + 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": "nowhere.npz"}, b"nowhere.npz: "),
        ({"settings": {"lr": -1.0}}, b"settings: lr: expected"),
        ({"settings": None}, b"no run here"),
    ],
)
def test_what_it_cannot_do_is_one_line_and_exit_code_2(tmp_path, changes, words):
    code, out, err = ended(start(tmp_path, **changes))
    assert (code, out, err.count(b"\n")) == (2, b"", 1)
    assert words in err


def test_a_run_that_memory_cannot_hold_ends_with_exit_code_3(tmp_path):
    settings = asdict(small_settings(epochs=1, out_dim=10**12))
    code, out, err = ended(start(tmp_path, settings=settings))
    assert (code, out, err.count(b"\n")) == (3, b"", 1)
    assert err.startswith(b"out of memory (")


@pytest.mark.parametrize(("codes", "end"), [([0], "done"), ([3, 0], "out of memory"),
                                            ([3, 2], "failed"), ([2, 3], "failed")])  # fmt: skip
def test_jobs_end_as_their_worst_worker(codes, end, tmp_path):
    class Silent:
        def watch(self, runs): ...
        def ended(self, run, outcome): ...

    class Run:
        finished = False

    jobs = Jobs(None, Means(), Silent())
    for code in codes:
        process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; print('why', file=sys.stderr); sys.exit({code})"],
            stdin=subprocess.PIPE,
            stderr=(errors := (tmp_path / "errors").open("w+b")),
        )
        run = Run()
        run.finished = code == 0
        jobs.running.append(Job(run, process, errors))
        while jobs.running:
            jobs._collect()
    assert jobs.end == end
