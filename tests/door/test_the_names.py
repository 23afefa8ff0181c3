"""What `import gaancore` offers, what it costs, and the help that every name has."""

import doctest
import importlib
import inspect
import subprocess
import sys
from importlib.util import find_spec

import pytest

import gaancore

LIBRARIES = {"from_networkx": "networkx", "from_pandas": "pandas"}


def in_new_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


def test_importing_the_package_imports_no_large_library():
    code = "import sys, gaancore; print(sorted({'numpy', 'scipy', 'numba'} & set(sys.modules)))"
    assert in_new_python(code) == "[]\n"


def test_dir_lists_the_names_and_each_can_be_fetched():
    assert set(gaancore.__all__) <= set(dir(gaancore))
    for name in gaancore.__all__:
        assert getattr(gaancore, name) is not None


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gaancore.nothing  # noqa: B018


def test_a_type_checker_sees_the_names_that_python_sees():
    source = inspect.getsource(gaancore)
    seen = source[source.index("if TYPE_CHECKING") : source.index("__all__")]
    assert all(f"import {name}\n" in seen or f"{name}, " in seen or f", {name}" in seen
               for name in gaancore.__all__)  # fmt: skip


def test_the_help_of_the_package_names_everything():
    for name in gaancore.__all__:
        assert name in (gaancore.__doc__ or "")


@pytest.mark.parametrize("name", gaancore.__all__)
def test_the_example_of_every_name_runs(name, tmp_path, monkeypatch):
    if (library := LIBRARIES.get(name)) and find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    text = getattr(gaancore, name).__doc__.replace("  # doctest: +SKIP", "")
    test = doctest.DocTestParser().get_doctest(text, {"gaancore": gaancore}, name, None, None)
    assert test.examples, f"{name} has no example"
    found: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=found.append)
    assert not found, "".join(found)


@pytest.mark.parametrize("name", ["nn", "ops", "graph", "tensor", "optim", "cli"])
def test_a_room_stays_importable(name):
    assert importlib.import_module(f"gaancore.{name}") is not None
