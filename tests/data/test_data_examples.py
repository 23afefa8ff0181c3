"""Every public function and class of the graphs and the data shows one example, which runs."""

import doctest
import inspect
import typing
from types import ModuleType

import pytest

import gaancore.data
import gaancore.graph

PUBLIC = [
    pytest.param(module, name, id=f"{module.__name__}.{name}")
    for module in (gaancore.graph, gaancore.data)
    for name in module.__all__
]


def expect_example(name: str, thing: object) -> None:
    """The examples in the docstring of a function or class say what happens."""
    (found,) = doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
    assert found.examples, f"{name}: no example in its docstring"
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(found, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_a_public_name_has_an_example_that_runs(
    module: ModuleType, name: str, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)  # examples write small files
    monkeypatch.setenv("GAANCORE_DATA", "data")  # and put back, which an example changes
    thing = getattr(module, name)
    if inspect.isfunction(thing) or inspect.isclass(thing):
        expect_example(name, thing)
    else:  # choices and numbers have no docstring of their own
        assert typing.get_origin(thing) is typing.Literal or isinstance(thing, int)


def without() -> None:
    """Does nothing."""


def wrong() -> None:
    """Adds.

    >>> 1 + 1
    3
    """


@pytest.mark.parametrize("function", [without, wrong])
def test_a_missing_or_wrong_example_fails(function) -> None:
    with pytest.raises(AssertionError, match=r"no example|Expected:\n +3"):
        expect_example("a name", function)
