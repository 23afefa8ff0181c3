"""Who may know whom: the imports of every module, read from its source and held to the house.

Each room may import the rooms before it; rooms on one line are siblings and do not meet.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# A name is a module or a folder below `gaancore`; the longest one that fits is a module's room.
ROOMS = [
    ["errors", "seeding"],
    ["launcher"],
    ["display", "progress"],
    ["system"],
    ["array"],
    ["parallel"],
    ["kernels", "graph"],
    ["kernels.cpu.vector"],
    ["kernels.cpu", "kernels.cuda"],
    ["sparse"],
    ["tape"],
    ["tensor"],
    ["ops"],
    ["nn"],
    ["models"],
    ["optim"],
    ["data.files", "data.paper"],
    ["data.nodes", "data.traffic"],
    ["data.synthetic"],
    ["data"],
    ["recipes"],
    ["training"],
    ["training.nodes", "training.traffic"],
    ["plots", "report"],
    ["trained"],
    ["tasks"],
    ["reproduce", "door"],
    ["doctor"],
    ["cli"],
]
RANK = {room: rank for rank, line in enumerate(ROOMS) for room in line}
# The contract alone chooses a backend, when an array asks for one.
INSIDE = {("kernels", "kernels.cpu"), ("kernels", "kernels.cuda")}
APART = {"kernels", "graph"}  # siblings, whatever their inner order
# libraries that only the named rooms may import
KEEPERS = {
    "cupy": {"array"},
    "click": {"cli"},
    "numba": {"kernels", "system"},
    "llvmlite": {"kernels", "system"},
    "mpi4py": {"parallel"},
}
NEVER = {"bench", "tests"}
NETWORK = {"pooch", "requests", "urllib", "http", "socket", "ftplib"}
IN_CLI = re.compile(r"\bgaancore\.cli\b")
NOT_IN_LAYERS = re.compile(r"\b(xp|cupy|indptr)\b")
LINES = {"tensor.py": 200}
MOST_LINES = 300
MOST_FILES = 12


def room_of(name: list[str]) -> str | None:
    """The room of a dotted name below gaancore: the longest beginning that is one."""
    beginnings = [".".join(name[:count]) for count in range(len(name), 0, -1)]
    return next((beginning for beginning in beginnings if beginning in RANK), None)


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """(room, file) of every module; what lies in cli/ is installed as gaancore.cli."""
    for folder in (root / "gaancore", root / "cli"):
        for path in sorted(folder.rglob("*.py")):
            parts = list(path.relative_to(root).with_suffix("").parts)
            name = parts[1:] if parts[0] == "gaancore" else parts
            if name != ["__init__"]:
                yield room_of(name) or name[0], path


def imported(path: Path, root: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, absolute dotted name as a list) of every import, also inside functions."""
    package = list(path.relative_to(root).parent.parts)
    if package[0] == "cli":
        package.insert(0, "gaancore")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = [*above, *(node.module.split(".") if node.module else [])]
            yield from ((node.lineno, [*module, alias.name]) for alias in node.names)


def complaint(room: str, name: list[str]) -> str | None:
    """What is wrong with an import of `name` in `room`, if anything."""
    library, top = name[0], room.partition(".")[0]
    if library in NEVER:
        return f"imports {library}, which nothing may use"
    if top not in KEEPERS.get(library, {top}):
        return f"imports {library}, which only {', '.join(sorted(KEEPERS[library]))} may"
    if library != "gaancore" or name[1:] in ([], ["__version__"]):
        return None
    other = room_of(name[1:])
    if other is None:
        return f"imports gaancore.{name[1]}, a room that the house does not have"
    if other == room or (room, other) in INSIDE:
        return None
    tops = {top, name[1]}
    if RANK[other] >= RANK[room] or tops == APART:
        return f"imports gaancore.{other}, which does not come before {room}"
    return None


def violations(root: Path) -> list[str]:
    """One line for each broken rule."""
    found = []
    for room, path in modules(root):
        where = path.relative_to(root)
        if room not in RANK:
            found.append(f"{where}: no such room in the house")
            continue
        for line, name in imported(path, root):
            if wrong := complaint(room, name):
                found.append(f"{where}:{line}: {wrong}")
        text = path.read_text(encoding="utf-8")
        if room != "cli" and (said := IN_CLI.search(text)):
            found.append(f"{where}: says {said.group()}, below the command line")
        if room == "nn" and (word := NOT_IN_LAYERS.search(text)):
            found.append(f"{where}: says {word.group()}; layers leave that to ops")
        if (lines := text.count("\n")) > (most := LINES.get(path.name, MOST_LINES)):
            found.append(f"{where}: {lines} lines, at most {most}")
    if (root / "cuda" / "__init__.py").exists():
        found.append("cuda/__init__.py: would take the place of cuda-python's namespace")
    return found


def test_every_import_points_to_a_room_before_its_own():
    assert violations(ROOT) == []


def test_one_module_alone_can_go_to_the_network():
    found = {
        str(path.relative_to(ROOT))
        for _, path in modules(ROOT)
        for _, name in imported(path, ROOT)
        if name[0] in NETWORK
    }
    assert found == {"gaancore/data/download.py"}


def test_every_folder_of_modules_is_in_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    there = {".".join(path.parent.relative_to(ROOT).parts)
             for path in (ROOT / "gaancore").rglob("__init__.py")}  # fmt: skip
    assert {*settings["tool"]["setuptools"]["packages"]} == {
        *there,
        "gaancore.cli",
        "gaancore.cuda",
    }


def test_no_folder_holds_more_files_than_one_can_take_in():
    files = [path for path in (ROOT / "gaancore").rglob("*.*") if path.suffix != ".pyc"]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in files if path.is_file())
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_the_walk_sees_the_house():
    rooms = {room for room, _ in modules(ROOT)}
    assert {"errors", "kernels", "graph", "tensor", "ops", "nn", "models", "data"} <= rooms
    names = [
        name for room, path in modules(ROOT) if room == "ops" for _, name in imported(path, ROOT)
    ]
    assert ["gaancore", "graph", "block", "Block"] in names


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("gaancore/kernels/a.py", "from gaancore.graph import Block", "gaancore.graph, which does"),
        ("gaancore/graph/a.py", "import gaancore.kernels.cpu", "gaancore.kernels.cpu, which"),
        ("gaancore/optim/adam.py", "from gaancore import data", "gaancore.data, which does not"),
        ("gaancore/ops/a.py", "def f():\n    from gaancore.nn import x", ":2: imports gaancore.nn"),
        ("gaancore/array.py", "from gaancore.tensor import Tensor", "gaancore.tensor, which does"),
        ("gaancore/ops/a.py", "import cupy as cp", "imports cupy, which only array may"),
        ("gaancore/training/a.py", "import click", "imports click, which only cli may"),
        (
            "gaancore/ops/a.py",
            "from numba import njit",
            "imports numba, which only kernels, system",
        ),
        ("gaancore/data/a.py", "from llvmlite import ir", "imports llvmlite, which only kernels"),
        ("cli/main.py", "from bench.timing import median", "imports bench, which nothing"),
        ("gaancore/ops/a.py", "import tests.gradcheck", "imports tests, which nothing"),
        ("gaancore/ops/a.py", "from ..nn import linear", "gaancore.nn, which does not"),
        ("gaancore/array.py", "from .tensor import Tensor", "gaancore.tensor, which does not"),
        ("gaancore/ops/a.py", "from gaancore.misc import f", "gaancore.misc, a room that the"),
        ("gaancore/misc.py", "", "gaancore/misc.py: no such room"),
        (
            "gaancore/data/files/a.py",
            "from gaancore.data.nodes import make",
            "gaancore.data.nodes, which",
        ),
        (
            "gaancore/data/nodes/a.py",
            "from gaancore.data.traffic import make",
            "gaancore.data.traffic",
        ),
        ("gaancore/kernels/cpu/a.py", "import gaancore.kernels.cuda", "gaancore.kernels.cuda"),
        ("gaancore/kernels/cpu/a.py", "import gaancore.graph", "gaancore.graph, which does"),
        ("gaancore/reproduce/a.py", "run = 'gaancore.cli.main'", "says gaancore.cli, below"),
        ("gaancore/nn/a.py", "def f(xp): ...", "says xp"),
        ("gaancore/nn/a.py", "block.indptr", "says indptr"),
        ("gaancore/tensor.py", "x = 1\n" * 201, "201 lines, at most 200"),
        ("gaancore/data/a.py", "x = 1\n" * 301, "301 lines, at most 300"),
        ("cuda/__init__.py", "", "cuda/__init__.py: would"),
    ],
)
def test_a_planted_violation_is_reported(tmp_path, file, source, expected):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source)
    found = violations(tmp_path)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "cli/main.py",
            "import click\nfrom .options import device\nfrom gaancore.training import settings",
        ),
        ("gaancore/kernels/a.py", "import numba\nfrom gaancore.system.jit import jit"),
        ("gaancore/array.py", "def f():\n    import cupy"),
        ("gaancore/nn/a.py", "from gaancore.nn.module import Module\nexpires = 'xpath'"),
        ("gaancore/training/a.py", "import gaancore\nfrom gaancore import __version__, data"),
        ("gaancore/__init__.py", "import gaancore.training"),
        ("gaancore/ops/a.py", "from . import checks\nfrom ..tensor import Tensor"),
    ],
)
def test_what_the_house_allows_is_not_reported(tmp_path, file, source):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source)
    assert violations(tmp_path) == []
