"""The command in this process, in an empty folder where no data can be found."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from gaancore.cli.main import main
from small_run import write_small_npz

from gaancore.system import driver


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Command = Callable[..., Outcome]


@pytest.fixture
def gaancore(monkeypatch, capsys, any_threads, tmp_path) -> Command:
    """Runs `gaancore ARGUMENTS`, as on a machine without a GPU; a traceback is a failed test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(driver, "driver_version", lambda: None)
    monkeypatch.setenv("GAANCORE_DATA", str(tmp_path / "no data"))
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gaancore", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Outcome(int(end.value.code or 0), *capsys.readouterr())

    return command


@pytest.fixture
def data(tmp_path) -> Path:
    """A small graph in one file."""
    return write_small_npz(tmp_path / "small.npz")


@pytest.fixture
def refused(gaancore) -> Command:
    """Runs a command that must end with exit code 2 and one line; gives that line."""

    def command(*arguments: object) -> str:
        outcome = gaancore(*arguments)
        assert outcome.code == 2
        (line,) = outcome.err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return command
