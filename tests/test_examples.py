"""Every public name of the Python API shows in its docstring how it is used, and that runs."""

from doctest import DocTestParser, DocTestRunner
from inspect import isclass, isfunction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gaancore import nn, ops, optim, sparse, tensor
from gaancore.graph import Block, CSRGraph
from gaancore.graph.copies import GraphCopies
from gaancore.models import node_classifier, traffic_forecaster
from gaancore.ops import lift


def defined_in(module: ModuleType) -> dict[str, Any]:
    """Its public functions and classes, without those that it imports."""
    return {
        name: value
        for name, value in vars(module).items()
        if (isclass(value) or isfunction(value)) and value.__module__ == module.__name__
        if not name.startswith("_")
    }


def listed_in(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__}


MODELS = defined_in(node_classifier) | defined_in(traffic_forecaster)
ENGINE = {"Tensor": tensor.Tensor, "no_grad": tensor.no_grad}  # Node and c_order are for ops
PUBLIC = listed_in(ops) | listed_in(nn) | MODELS | listed_in(optim) | ENGINE | defined_in(lift)
PUBLIC |= defined_in(sparse)
KNOWN = {"np": np, "Block": Block, "CSRGraph": CSRGraph, "GraphCopies": GraphCopies} | PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example_that_runs(name):
    text = PUBLIC[name].__doc__ or ""
    example = DocTestParser().get_doctest(text, dict(KNOWN), name, None, 0)
    assert example.examples, f"{name}: its docstring has no example"
    assert any(one.want for one in example.examples), f"{name}: its example shows no result"
    said: list[str] = []
    assert DocTestRunner().run(example, out=said.append).failed == 0, "".join(said)


def test_the_names_that_are_looked_at_are_those_of_the_api():
    assert {"segment_attention", "AggregatorSpec", "NodeClassifier", "Adam", "Tensor"} < set(PUBLIC)
