"""Every #Param of the paper's tables, to the last parameter, and what its printed gate would give.

The tables round to thousands; each row's layers, whose widths are below, pin the exact number.
"""

import numpy as np
import pytest

from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.nn import AggregatorSpec
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.settings import task_settings

RNG = np.random.default_rng(0)
PPI = {"in_dim": 50, "num_classes": 121, "embed_dim": 64, "key_dim": 24}
REDDIT = {"in_dim": 602, "num_classes": 41, "embed_dim": 256, "key_dim": 32}

TABLE = [
    # task, model, heads, value widths, count
    (PPI, "avg-pool", (1, 1), (512, 512), 274_105),
    (PPI, "max-pool", (1, 1), (512, 512), 274_105),
    (PPI, "pairwise-sigmoid", (8, 8), (64, 64), 348_601),
    (PPI, "pairwise-tanh", (8, 8), (64, 64), 348_601),
    (PPI, "attention", (1, 1), (256, 256), 168_217),
    (PPI, "attention", (2, 2), (128, 128), 177_529),
    (PPI, "attention", (4, 4), (64, 64), 196_153),
    (PPI, "attention", (8, 8), (32, 32), 233_401),
    (PPI, "gaan", (1, 1), (256, 256), 201_371),
    (PPI, "gaan", (2, 2), (128, 128), 210_813),
    (PPI, "gaan", (4, 4), (64, 64), 229_697),
    (PPI, "gaan", (8, 8), (32, 32), 267_465),
    (REDDIT, "avg-pool", (1, 1), (1024, 1024), 866_473),
    (REDDIT, "max-pool", (1, 1), (1024, 1024), 866_473),
    (REDDIT, "pairwise-sigmoid", (4, 4), (256, 256), 965_289),
    (REDDIT, "pairwise-tanh", (4, 4), (256, 256), 965_289),
    (REDDIT, "attention", (1, 1), (512, 512), 562_473),
    (REDDIT, "attention", (1, 2), (512, 256), 570_729),
    (REDDIT, "attention", (1, 4), (512, 128), 587_241),
    (REDDIT, "attention", (1, 8), (512, 64), 620_265),
    (REDDIT, "gaan", (1, 1), (512, 512), 620_203),
    (REDDIT, "gaan", (1, 2), (512, 256), 628_524),
    (REDDIT, "gaan", (1, 4), (512, 128), 645_166),
    (REDDIT, "gaan", (1, 8), (512, 64), 678_450),
]
FEED_FORWARD = [(50, 121, 1_225_849), (602, 41, 1_709_097)]

# equation 3 as printed, without a hidden layer and with x_i: none of these is in a table
PRINTED_GATE = [
    *zip([PPI] * 4, [(K, K) for K in (1, 2, 4, 8)], [(256 // K,) * 2 for K in (1, 2, 4, 8)],
         [181_147, 190_973, 210_625, 249_929], strict=True),
    *zip([REDDIT] * 4, [(1, K) for K in (1, 2, 4, 8)], [(512, 512 // K) for K in (1, 2, 4, 8)],
         [588_075, 596_652, 613_806, 648_114], strict=True),
]  # fmt: skip


def build(task: dict[str, int], model: str, variant: str, heads, value_dims) -> NodeClassifier:
    dims = dict(task)
    key_dim = dims.pop("key_dim")
    layers = [
        AggregatorSpec(model, variant, num_heads=K, key_dim=key_dim, value_dim=d_v, gate_dim=64)
        for K, d_v in zip(heads, value_dims, strict=True)
    ]
    return NodeClassifier(**dims, layers=layers, out_dim=128, dropout=0.1, rng=RNG)


@pytest.mark.parametrize(("task", "model", "heads", "value_dims", "count"), TABLE)
def test_a_row_of_the_papers_tables(task, model, heads, value_dims, count):
    assert build(task, model, "released", heads, value_dims).num_parameters == count


@pytest.mark.parametrize(("in_dim", "classes", "count"), FEED_FORWARD)
def test_the_rows_of_the_feed_forward_network(in_dim, classes, count):
    assert FeedForward(in_dim, classes, hidden_dim=1024, rng=RNG).num_parameters == count


def test_no_row_is_missing():
    assert len(TABLE) + len(FEED_FORWARD) == 26


@pytest.mark.parametrize(("task", "heads", "value_dims", "count"), PRINTED_GATE)
def test_the_printed_gate_has_its_own_counts(task, heads, value_dims, count):
    assert build(task, "gaan", "paper", heads, value_dims).num_parameters == count
    assert count not in {row[4] for row in TABLE}


@pytest.mark.parametrize("model", ["attention", "avg-pool", "max-pool", "pairwise-tanh"])
def test_without_a_gate_both_readings_have_the_same_count(model):
    counts = {
        build(PPI, model, variant, (4, 4), (64, 64)).num_parameters
        for variant in ("paper", "released")
    }
    assert len(counts) == 1


@pytest.mark.parametrize(("task", "model", "heads", "value_dims", "count"), TABLE)
def test_the_settings_of_a_task_build_the_row(task, model, heads, value_dims, count):
    name = "ppi" if task is PPI else "reddit"
    changes = {"model": model} | ({"num_heads": heads[1]} if "pool" not in model else {})
    settings = task_settings(name, ("test", changes))
    assert build_model(settings, task["in_dim"], task["num_classes"]).num_parameters == count


@pytest.mark.parametrize(("in_dim", "classes", "count"), FEED_FORWARD)
def test_the_settings_of_a_task_build_the_feed_forward_network(in_dim, classes, count):
    settings = task_settings("ppi" if in_dim == 50 else "reddit", ("test", {"model": "fnn"}))
    assert build_model(settings, in_dim, classes).num_parameters == count


def test_without_being_asked_for_heads_reddits_models_are_those_of_its_table():
    counts = {"gaan": 645_166, "attention": 587_241, "pairwise-sigmoid": 965_289}
    for model, count in counts.items():
        settings = task_settings("reddit", ("test", {"model": model}))
        assert build_model(settings, 602, 41).num_parameters == count


def test_the_printed_gate_gives_its_own_count_on_reddit():
    settings = task_settings("reddit", ("test", {"variant": "paper"}))
    assert build_model(settings, 602, 41).num_parameters == 613_806
