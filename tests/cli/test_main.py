"""What every command shares: what it loads, how it ends, and what it prints to any stream."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from gaancore.cli import show
from gaancore.cli.main import COMMANDS
from gaancore.cli.main import gaancore as program
from small_run import small_options, write_small_npz

import gaancore as package

CHECKOUT = Path(package.__file__).parents[1]
PROGRAM = "from gaancore.cli.main import main; main()"
HEAVY = ("numpy", "numba", "scipy", "rich", "matplotlib", "safetensors", "h5py")
CONTEXT = click.Context(program)


def python(source: str, *arguments: object, folder: Path, **environment: str):
    return subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
        capture_output=True,
        timeout=120,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["nonsense"]], ids=str)
def test_help_loads_no_library_that_takes_long(tmp_path, arguments):
    source = (
        "import sys\nfrom gaancore.cli.main import main\ntry: main()\n"
        f"finally: sys.stderr.write('LOADED ' + str([x for x in {HEAVY} if x in sys.modules]))"
    )
    done = python(source, *arguments, folder=tmp_path)
    assert done.stderr.decode().endswith("LOADED []"), done.stderr


def test_every_command_has_a_line_in_the_help_and_a_page_of_its_own(gaancore):
    assert program.list_commands(CONTEXT) == sorted(COMMANDS)
    text = " ".join(gaancore("--help").out.split())
    for name, (_, _, line) in COMMANDS.items():
        command = program.get_command(CONTEXT, name)
        assert command is not None
        assert command.name == name
        assert f" {name} {line}" in text
    assert program.get_command(CONTEXT, "nonsense") is None
    assert "No such command 'nonsense'" in gaancore("nonsense").err


def test_the_help_names_every_exit_code(gaancore):
    text = " ".join(gaancore("--help").out.split())
    for words in ("0 done", "1 a table", "2 the input", "3 out of memory", "130 interrupted"):
        assert words in text


# where each command is interrupted: before it has begun to work
WORKS = {
    "train": "gaancore.tasks.begin.choose",
    "evaluate": "gaancore.open_run",
    "predict": "gaancore.open_run",
    "explain": "gaancore.open_run",
    "embed": "gaancore.open_run",
    "forecast": "gaancore.open_run",
    "plot": "gaancore.open_run",
    "report": "gaancore.cli.report.expect_library",
    "info": "gaancore.tasks.choose",
    "download": "gaancore.data.download.download",
    "convert": "gaancore.data.nodes.layouts.find.read_layout",
    "check": "gaancore.data.check_store",
    "synth": "gaancore.data.synthetic.ppi.write_synthetic_ppi",
    "sample": "gaancore.tasks.choose",
    "reproduce": "gaancore.reproduce.make.make_table",
    "results": "gaancore.reproduce.report.collected.collected_page",
    "params": "gaancore.reproduce.parameters.model_sizes",
    "doctor": "gaancore.doctor.machine.describe_machine",
}
ARGUMENTS = {
    "train": ["--data", "x"], "evaluate": ["x"], "predict": ["x"], "explain": ["x"],
    "embed": ["x"], "forecast": ["x"], "plot": ["x"], "info": ["x"], "download": ["ppi"],
    "convert": ["x", "y"], "check": ["x"], "synth": ["ppi", "x"], "sample": ["x"],
    "report": ["x"], "reproduce": ["main"], "results": ["x"], "params": [], "doctor": [],
}  # fmt: skip


def raising(error: BaseException):
    def instead(*args: object, **options: object) -> None:
        raise error

    return instead


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_ends_every_command_with_one_line(gaancore, monkeypatch, command):
    monkeypatch.setattr(WORKS[command], raising(KeyboardInterrupt()))
    outcome = gaancore(command, *ARGUMENTS[command])
    assert (outcome.code, outcome.err) == (130, "interrupted\n")


def test_ctrl_c_while_the_libraries_load_ends_with_one_line(tmp_path):
    source = (
        "import os, signal, sys\n"
        # a job in the background inherits that Ctrl-C is ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from gaancore.cli.main import main\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numba': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stop())\nmain()"
    )
    done = python(source, "params", folder=tmp_path)
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


OUT_OF_MEMORY = {
    "NumPy": MemoryError("9.1 GiB"),
    "the system": OSError(errno.ENOMEM, "Cannot allocate memory"),
}


@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_too_little_memory_has_an_exit_code_of_its_own_and_a_remedy_that_fits(
    gaancore, data, monkeypatch, error
):
    monkeypatch.setattr("gaancore.training.nodes.batches.Batches.blocks", raising(error))
    outcome = gaancore("train", "--task", "ppi", "--data", data, *small_options(epochs=1))
    assert outcome.code == 3
    assert outcome.err == f"error: out of memory ({error}); lower --batch-size or --fanouts\n"
    monkeypatch.setattr("gaancore.tasks.choose", raising(error))
    outcome = gaancore("info", data)
    assert outcome.code == 3
    assert "--" not in outcome.err


ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(ASCII, id="LC_ALL"),
        pytest.param({"PYTHONIOENCODING": "ascii"}, id="PYTHONIOENCODING", marks=pytest.mark.slow),
    ],
)
def test_names_that_a_stream_cannot_show_do_not_stop_a_run(tmp_path, environment):
    folder = tmp_path / "Höhe"
    folder.mkdir()
    nodes = [f"{i},{i % 3},{i % 2},{'Größe' if i % 2 else 'Ärger'}" for i in range(40)]
    edges = [f"{i},{(i + 2) % 40}" for i in range(40)]
    (folder / "nodes.csv").write_text("\n".join(["id,a,b,label", *nodes]), encoding="utf-8")
    (folder / "edges.csv").write_text("\n".join(["src,dst", *edges]), encoding="utf-8")
    environment = {"PYTHONWARNINGS": "ignore", **environment}
    for command in (
        ["train", "--data", "Höhe", "--epochs", "2", "--out", "läuft", "--device=cpu"],
        ["evaluate", "läuft", "--per-class", "--device=cpu"],
        ["info", "Höhe"],
    ):
        done = python(PROGRAM, *command, folder=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        assert done.stderr == b""
    assert len(list(tmp_path.glob("l*"))) == 1
    done = python(PROGRAM, "evaluate", "wüst", folder=tmp_path, **environment)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_a_line_for_each_validation_where_there_is_no_terminal(gaancore, data):
    options = ["--task", "ppi", "--data", data, *small_options(epochs=3, validate_every=0)]
    outcome = gaancore("train", *options, "--out", "run")
    lines = [line for line in outcome.lines if line.startswith("epoch ")]
    assert [line.split()[1] for line in lines] == ["1:", "2:", "3:"]
    for line in lines:
        assert re.fullmatch(
            r"epoch \d: loss [\d.]+  val F1 0\.\d{4}  lr 0\.01  [\d.]+ M edges/s  \d+ s", line
        )
    assert len(gaancore("train", *options, "--out", "quiet", "--quiet").lines) == 1


def test_the_bar_fits_eighty_columns_with_time_and_what_is_left(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    display = show.Display(quiet=False)
    assert display.console.width == 80
    fields = {"epoch": 1000, "loss": 12345.678, "validated": "val MAE 12.345"}
    task = display.bar.add_task("", total=3000, **fields)
    display.bar.start_task(task)
    display.bar.update(task, completed=1000)
    with display.console.capture() as shown:
        display.console.print(display.bar.get_renderable())
    (line,) = re.sub(r"\x1b\[[\d;]*m", "", shown.get()).splitlines()
    assert "…" not in line
    assert len(line.rstrip()) <= 80
    for words in ("epoch 1000", "loss 1.235e+04", "val MAE 12.345", "0:00:00", "eta"):
        assert words in line


def test_a_run_whose_loss_grew_is_warned_of(gaancore, data):
    options = ["train", "--task", "ppi", "--data", data, *small_options(epochs=3), "--lr", "30"]
    outcome = gaancore(*options, "--set=validate_every=1", "--set=clip_norm=1", "--out", "run")
    assert outcome.code == 0
    assert "is above the first one" in outcome.lines[-1]
    assert "warning: the training loss at the end" in outcome.lines[-1]


def test_endings_of_files_in_capitals_are_the_same(gaancore, tmp_path):
    write_small_npz(tmp_path / "small.npz").rename(tmp_path / "SMALL.NPZ")
    options = small_options(epochs=1, batch_size=600)
    assert gaancore("info", "SMALL.NPZ").code == 0
    assert gaancore("train", "--task=ppi", "--data=SMALL.NPZ", *options, "--out=run").code == 0
    for out in ("A.CSV", "B.NPZ"):
        assert gaancore("predict", "run", "--data", "SMALL.NPZ", "--out", out).code == 0
    assert (tmp_path / "A.CSV").read_text(encoding="utf-8").startswith("node_id,predicted")
    assert (tmp_path / "B.NPZ").read_bytes().startswith(b"PK")
    (tmp_path / "folder").mkdir()
    (tmp_path / "SMALL.NPZ").rename(tmp_path / "folder" / "SMALL.NPZ")
    assert gaancore("info", "folder").code == 0
