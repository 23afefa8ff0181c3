"""What the pages say can be done: programs run, commands parse, files and links are there."""

import re
import shlex
from collections.abc import Iterator
from doctest import DocTestParser, DocTestRunner
from pathlib import Path

import click
import pytest
from gaancore.cli.main import gaancore as program

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in CHECKOUT.glob("docs/*.md"))]
TEXTS = {page: (CHECKOUT / page).read_text(encoding="utf-8") for page in PAGES}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FOLDERS = ("gaancore", "cuda", "bench", "cli", "tests", "docs", ".ci")


def fenced(page: str, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(TEXTS[page]) if found == language]


def commands_in(text: str) -> Iterator[list[str]]:
    """The words after `gaancore` of each command that begins a line."""
    for line in text.splitlines():
        if line.startswith("gaancore "):
            yield shlex.split(line, comments=True)[1:]


def commands_of(page: str) -> Iterator[list[str]]:
    """In fenced lines, and whole ones in backquotes; capital words stand for the reader's own."""
    for text in fenced(page, ""):
        yield from commands_in(text)
    for text in re.findall(r"`(gaancore [^`]+)`", FENCE.sub("", TEXTS[page])):
        yield shlex.split(text)[1:]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_one_that_the_program_takes(page):
    found = list(commands_of(page))
    for name, *arguments in found:
        command = program.commands[name]
        if not arguments or arguments == ["--help"]:
            continue  # it is only spoken of
        if "TABLE" in arguments:
            arguments[arguments.index("TABLE")] = "main"
        try:
            command.make_context(name, arguments)
        except click.ClickException as error:
            pytest.fail(f"{page}: gaancore {name} {shlex.join(arguments)}: {error.message}")
    assert found or page == "docs/kernels.md"


def test_every_option_that_is_spoken_of_is_one_of_a_command():
    known = {
        option
        for command in [
            program,
            *program.commands.values(),
            *program.commands["synth"].commands.values(),
        ]
        for parameter in command.params
        for option in parameter.opts
    } | {"--help", "--version"}
    for page, text in TEXTS.items():
        prose = FENCE.sub("", text)
        spoken_of = re.findall(r"(?<![\w-])--[a-z][a-z-]*", " ".join(re.findall(r"`[^`]+`", prose)))
        assert set(spoken_of) <= known, page


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page):
    words = re.findall(r"`([\w./-]+/[\w./-]*)`", TEXTS[page])
    files = [word for word in words if word.split("/")[0] in FOLDERS and "TASK" not in word]
    missing = [file for file in files if not (CHECKOUT / file).exists()]
    assert not missing
    for target in re.findall(r"\]\(([^)#]+)\)", TEXTS[page]):
        assert (CHECKOUT / page).parent.joinpath(target).is_file(), target


def test_the_course_says_what_python_says():
    course = "\n".join(fenced("docs/course.md", "pycon"))
    examples = DocTestParser().get_doctest(course, {}, "course", "docs/course.md", 0)
    assert len(examples.examples) > 50
    assert DocTestRunner().run(examples).failed == 0


@pytest.mark.parametrize(
    "shortened", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["short", "whole"]
)
def test_the_page_on_own_data_can_be_followed_from_top_to_bottom(gaancore, tmp_path, shortened):
    """Its programs and commands on the graph it makes; shortened, few epochs and two models."""
    names: dict[str, object] = {}
    for language, text in FENCE.findall(TEXTS["docs/own-data.md"]):
        if language == "python":
            exec(compile(text, "docs/own-data.md", "exec"), names)
        for name, *arguments in commands_in(text):
            if not any("people" in argument for argument in arguments):
                continue  # of data that are the reader's own
            if shortened and name == "train":
                arguments += ["--epochs", "5"]
            if shortened and name == "reproduce":
                arguments += ["--seeds", "1", "--rows", "fnn,gaan", "--set", "epochs=1"]
            outcome = gaancore(name, *arguments)
            assert outcome.code == 0, outcome
    assert names["probabilities"].shape == (900, 3)
    assert (tmp_path / "people.csv").read_text("utf-8").startswith("node_id,predicted,p:")
