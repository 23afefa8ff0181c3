"""Where a result cannot be written: told before anything is read or computed, by every command."""

import tempfile
from pathlib import Path

import click
import pytest
from gaancore.cli.main import gaancore as program

NO_FILE = "no file can be made in the folder"
REMEDY = "make the folder, or choose another"


def fill(command: click.Command) -> list[str]:
    """What the command requires: names of things that are not there."""
    words = []
    for parameter in command.params:
        if parameter.required:
            named = isinstance(parameter, click.Option)
            words += [parameter.opts[0], "nowhere"] if named else ["nowhere"]
    return words


def writes_a_file(command: click.Command) -> bool:
    return any(p.name == "out" and p.metavar == "FILE" for p in command.params)


COMMANDS = {
    name: [name, *fill(command)]
    for name in program.list_commands(click.Context(program))
    if (command := program.get_command(click.Context(program), name)) and writes_a_file(command)
}


def test_these_are_the_commands_with_a_file_to_write():
    assert set(COMMANDS) == {"predict", "explain", "embed", "forecast", "report"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_not_there_is_told_at_once(refused, tmp_path, command):
    line = refused(*COMMANDS[command], "--out", "no/x.csv")
    assert line == f"--out: no/x.csv: {NO_FILE} no (No such file or directory); {REMEDY}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_in_the_place_of_the_folder_is_told_at_once(refused, tmp_path, command):
    Path("no").touch()
    line = refused(*COMMANDS[command], "--out", "no/x.csv")
    assert line == f"--out: no/x.csv: {NO_FILE} no (Not a directory); {REMEDY}"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_must_not_be_written_to_is_told_at_once(refused, monkeypatch, command):
    def forbidden(dir: Path) -> None:
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr(tempfile, "TemporaryFile", forbidden)  # root may write anywhere
    line = refused(*COMMANDS[command], "--out", "x.csv")
    assert line == f"--out: x.csv: {NO_FILE} . (Permission denied); {REMEDY}"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_that_name_is_told_at_once(refused, command):
    Path("x.csv").mkdir()
    line = refused(*COMMANDS[command], "--out", "x.csv")
    assert line == "--out: x.csv: a folder; choose another name, or one in it"


@pytest.mark.parametrize("command", COMMANDS)
def test_where_a_file_can_be_written_the_command_goes_on_and_leaves_nothing(
    refused, tmp_path, command
):
    Path("x.csv").write_text("old")
    assert refused(*COMMANDS[command], "--out", "x.csv").startswith("nowhere: no run here")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_the_page_of_results_makes_its_folder_where_it_can(gaancore, refused):
    assert gaancore("reproduce", "params", "--out", "out").code == 0
    assert gaancore("results", "out", "--to", "new/docs/results.md").code == 0
    assert refused("results", "out", "--to", "new/docs") == (
        "--to: new/docs: a folder; choose another name, or one in it"
    )
    line = refused("results", "out", "--to", "new/docs/results.md/x.md")
    assert line.startswith(f"--to: new/docs/results.md/x.md: {NO_FILE} new/docs/results.md (")
