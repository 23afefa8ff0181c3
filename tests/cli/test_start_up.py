"""What is imported before there is something to do: help comes at once.

Modules are counted, not seconds: a busy machine is slow, but imports no more.
"""

import json
import os
import subprocess
import sys

import pytest
from gaancore.cli.main import COMMANDS

# each takes from a tenth of a second to a whole one
SLOW = {"cupy", "h5py", "matplotlib", "mpi4py", "numba", "plotly", "pooch", "safetensors", "scipy"}
RUN = """
import json, sys
from gaancore.cli.main import main
sys.argv[0] = "gaancore"
try:
    main()
finally:
    print("\\n" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def started(*arguments: str, **variables: str) -> tuple[int, str, set[str]]:
    """The exit code of a command, what it printed, and the libraries that it imported."""
    command = [sys.executable, "-c", RUN, *arguments]
    environment = os.environ | variables
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    said, _, imported = done.stdout.rstrip("\n").rpartition("\n")
    return done.returncode, said + done.stderr, set(json.loads(imported))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--help"], 0, "Show this message and exit"),
        (["--version"], 0, "gaancore, version"),
        ([], 2, "Usage: gaancore"),
        (["--hlep"], 2, "No such option"),
        (["trian"], 2, "No such command"),
    ],
)
def test_help_version_and_mistakes_import_none_of_the_slow_libraries(arguments, code, words):
    found, said, imported = started(*arguments)
    assert (found, words in said) == (code, True), said
    assert imported & (SLOW | {"rich"}) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_imports_none_either(command):
    code, said, imported = started(command, "--help")
    assert code == 0
    assert "Usage: " in said
    assert imported & SLOW == set()


def test_completion_of_commands_imports_none_of_them():
    words = {"_GAANCORE_COMPLETE": "bash_complete", "COMP_WORDS": "gaancore e", "COMP_CWORD": "1"}
    code, said, imported = started(**words)
    assert code == 0
    names = [line.partition(",")[2] for line in said.splitlines()]
    assert names == sorted(name for name in COMMANDS if name.startswith("e"))
    assert imported & (SLOW | {"rich"}) == set()


def test_a_step_of_training_imports_no_module_of_scipy_for_guesses_alone():
    code = "import sys, gaancore.tasks.begin; print([n for n in sys.modules if n.count('.') == 1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "numba.core" in done.stdout
    for name in ("scipy.linalg", "scipy.optimize", "scipy.spatial", "scipy.stats", "scipy.io"):
        assert f"'{name}'" not in done.stdout
