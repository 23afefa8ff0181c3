"""What the pages say can be done: programs run, commands parse, files are there."""

import re
import shlex
from collections.abc import Iterator
from doctest import DocTestParser, DocTestRunner

import click
import pytest
from gaancore.cli.main import gaancore as program
from pages import CHECKOUT, NAMES, TEXTS, commands_in, fenced, prose
from scipy.stats import norm

FOLDERS = ("gaancore", "cuda", "bench", "cli", "tests", "docs", ".ci")
CONTEXT = click.Context(program, **program.context_settings)
# What follows these words does not parse: they stand for something else.
STAND_FOR = {"TABLE": "main"}


def commands_of(page: str) -> Iterator[list[str]]:
    """In fenced lines, and whole ones in backquotes; capital words stand for the reader's own."""
    for text in fenced(page, ""):
        yield from commands_in(text)
    for text in re.findall(r"`(gaancore [^`]+)`", prose(page)):
        yield shlex.split(text)[1:]


@pytest.mark.parametrize("page", NAMES)
def test_every_command_is_one_that_the_program_takes(page):
    for name, *arguments in commands_of(page):
        command = program.get_command(CONTEXT, name)
        assert command is not None, name
        if not arguments or arguments == ["--help"]:
            continue  # it is only spoken of
        arguments = [STAND_FOR.get(argument, argument) for argument in arguments]
        try:
            command.make_context(name, arguments, parent=CONTEXT)
        except click.ClickException as error:
            pytest.fail(f"{page}: gaancore {name} {shlex.join(arguments)}: {error.message}")


def test_commands_are_found_on_the_pages_that_are_about_them():
    for page in ("README", "docs/own-data", "docs/sensors", "docs/use-a-run", "docs/paper"):
        assert len(list(commands_of(f"{page}.md"))) >= 4, page


def test_every_option_that_is_spoken_of_is_one_of_a_command():
    commands = {name: program.get_command(CONTEXT, name) for name in program.list_commands(CONTEXT)}
    known = {
        option
        for command in [program, *commands.values(), *commands["synth"].commands.values()]
        for parameter in command.params
        for option in parameter.opts
    } | {"--help", "--version"}
    for page in NAMES:
        if page == "CONTRIBUTING.md":
            continue  # it speaks of other programs
        quoted = " ".join(re.findall(r"`[^`]+`", prose(page)))
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", quoted)) <= known, page


@pytest.mark.parametrize("page", NAMES)
def test_every_file_that_is_named_is_there(page):
    words = re.findall(r"`([\w./-]+/[\w./-]*)`", TEXTS[page])
    files = [word for word in words if word.split("/")[0] in FOLDERS and "TASK" not in word]
    missing = [file for file in files if not (CHECKOUT / file).exists()]
    assert not missing


def test_the_course_says_what_python_says():
    course = "\n".join(fenced("docs/course.md", "pycon"))
    examples = DocTestParser().get_doctest(course, {}, "course", "docs/course.md", 0)
    assert len(examples.examples) > 50
    assert DocTestRunner().run(examples).failed == 0


@pytest.mark.parametrize("page", [name for name in NAMES if fenced(name, "python")])
def test_every_program_of_a_page_compiles(page):
    for text in fenced(page, "python"):
        compile(text, page, "exec")


def test_the_network_of_ones_own_is_about_as_good_as_the_page_says(capsys):
    page = TEXTS["docs/python.md"]
    (text,) = [text for text in fenced("docs/python.md", "python") if "class Net" in text]
    exec(compile(text, "docs/python.md", "exec"), {"__name__": "__main__"})
    accuracy = float(capsys.readouterr().out.removeprefix("test accuracy "))
    printed = re.search(r"It prints (0\.\d+)", page)
    guess = re.search(r"is right in (\d+) % of cases", page)
    assert printed is not None
    assert abs(accuracy - float(printed[1])) <= 0.01
    # Four numbers of each group, 1 apart, with deviation 2: the groups are 1 deviation apart
    assert guess is not None
    assert int(guess[1]) == round(100 * norm.cdf(1 / 2))


def test_the_other_programs_of_the_page_on_python_run(gaancore):
    names: dict[str, object] = {}
    for text in fenced("docs/python.md", "python"):
        if "class Net" not in text:
            exec(compile(text, "docs/python.md", "exec"), names)
