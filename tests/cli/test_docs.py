"""What the pages say can be done: programs run, commands parse, files are there."""

import re
import shlex
import shutil
from collections.abc import Iterator
from doctest import DocTestParser, DocTestRunner

import click
import numpy as np
import pytest
from gaancore.cli.main import gaancore as program
from pages import CHECKOUT, FENCE, NAMES, TEXTS, fenced, prose
from scipy.stats import norm
from small_traffic_run import small_traffic_options

FOLDERS = ("gaancore", "cuda", "bench", "cli", "tests", "docs", ".ci")
CONTEXT = click.Context(program, **program.context_settings)
# What follows these words does not parse: they stand for something else.
STAND_FOR = {"TABLE": "main"}


def commands_in(text: str) -> Iterator[list[str]]:
    """The words after `gaancore` of each command that begins a line."""
    for line in text.splitlines():
        command = re.sub(r"^(\.venv/bin/|(mpiexec|srun)( -\S+ \S+)* )", "", line)
        if command.startswith("gaancore "):
            yield shlex.split(command, comments=True)[1:]


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
    for page in ("README", "docs/own-data", "docs/sensors", "docs/training", "docs/paper"):
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


def test_the_page_on_layouts_writes_an_archive_that_can_be_read(gaancore, tmp_path):
    names: dict[str, object] = {}
    for text in fenced("docs/layouts.md", "python"):
        exec(compile(text, "docs/layouts.md", "exec"), names)
    outcome = gaancore("info", tmp_path / "small.npz", "--task", "reddit")
    assert outcome.code == 0, outcome
    assert "90" in outcome.out
    for name in ("save_pyg", "save_dgl", "save_networkx"):
        assert callable(names[name])


def test_a_graph_of_networkx_is_written_as_the_page_on_layouts_says(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(["a", "b", "c"])
    for i, node in enumerate(graph):
        graph.nodes[node].update(x=[float(i), 1.0], y=i % 2, split=i)
    names: dict[str, object] = {"np": np}
    for text in fenced("docs/layouts.md", "python"):
        if "def save_networkx" in text:
            exec(compile(text, "docs/layouts.md", "exec"), names)
    names["save_networkx"](graph, tmp_path / "three.npz")
    with np.load(tmp_path / "three.npz") as arrays:
        assert arrays["src"].tolist() == [0, 1]
        assert arrays["dst"].tolist() == [1, 2]
        assert arrays["x"].tolist() == [[0, 1], [1, 1], [2, 1]]


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


@pytest.mark.parametrize(
    "shortened", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["short", "whole"]
)
def test_the_page_on_own_data_can_be_followed_from_top_to_bottom(gaancore, tmp_path, shortened):
    """Its programs and commands on the graph it makes; shortened, few epochs and two models."""
    names: dict[str, object] = {}
    for language, text in FENCE.findall(TEXTS["docs/own-data.md"]):
        if language == "python":
            exec(compile(text, "docs/own-data.md", "exec"), names)
            without_labels(tmp_path / "people", tmp_path / "newpeople")
        for name, *arguments in commands_in(text):
            if shortened and name == "train":
                arguments += ["--epochs", "5"]
            if shortened and name == "reproduce":
                arguments += ["--seeds", "1", "--rows", "fnn,gaan", "--set", "epochs=1"]
            outcome = gaancore(name, *arguments)
            assert outcome.code == 0, outcome
    assert names["probabilities"].shape == (900, 3)
    for file in ("people.csv", "newpeople.csv"):
        lines = (tmp_path / file).read_text("utf-8").splitlines()
        assert lines[0].startswith("node_id,predicted,p:")
        assert len(lines) == 901


def test_the_page_on_sensors_can_be_followed_from_top_to_bottom(gaancore, tmp_path):
    """Its commands on three sensors such as it shows, with a small network."""
    write_sensors(tmp_path / "mysensors", "2026-05-01T00:00", 400)
    write_sensors(tmp_path / "nextmonth", "2026-06-01T00:00", 60)
    for text in fenced("docs/sensors.md", ""):
        for name, *arguments in commands_in(text):
            if name == "train":
                arguments += small_traffic_options(epochs=1, history=24, horizon=6)
            if name == "plot":
                continue  # which takes seconds, and is drawn in other tests
            outcome = gaancore(name, *arguments)
            assert outcome.code == 0, outcome
    assert {"next.csv", "test.npz"} <= {path.name for path in tmp_path.iterdir()}
    assert gaancore("info", "mysensors").code == 0


def write_sensors(folder, start: str, num_steps: int) -> None:
    folder.mkdir()
    speeds = np.random.default_rng(0).uniform(40, 60, (num_steps, 3)).round(1)
    times = np.datetime64(start) + np.arange(num_steps) * np.timedelta64(5, "m")
    rows = (f"{time},{a},{b},{c}" for time, (a, b, c) in zip(times, speeds, strict=True))
    (folder / "speeds.csv").write_text("\n".join(["time,north,bridge,south", *rows]))
    (folder / "edges.csv").write_text("from,to\nnorth,bridge\nbridge,south\n")


def without_labels(people, folder) -> None:
    """The new graph of the page: the same people and what they know of each other, no labels."""
    if folder.exists():
        return
    shutil.copytree(people, folder)
    lines = (people / "nodes.csv").read_text("utf-8").splitlines()
    (folder / "nodes.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in lines), "utf-8")
