"""Settings that suit data of one's own: by nodes, edges, features and rows."""

from dataclasses import replace

import numpy as np
import pytest
from small_run import small_dataset
from small_traffic_run import small_roads

from gaancore.graph import CSRGraph
from gaancore.tasks import TASKS
from gaancore.training.nodes import suit as nodes
from gaancore.training.traffic import suit as traffic


def settled(dataset, task="labels", **asked):
    layers = [("asked", asked)] if asked else []
    return TASKS[task].settled(dataset, *layers, named=frozenset(asked))


def test_a_small_graph_is_one_step_with_all_neighbours_and_the_line_says_so():
    settings, words = settled(replace(small_dataset(), graph_ids=None))
    assert (settings.batch, settings.batch_size) == ("graphs", 0)
    assert (settings.fanouts, settings.eval_fanouts) == ((-1, -1), (-1,))
    assert "a small graph (120 nodes, " in words
    assert "the whole graph in a step, all neighbours, at most 300 epochs" in words


def test_several_graphs_are_put_together_up_to_the_papers_batch():
    settings, words = settled(small_dataset())
    assert (settings.batch, settings.batch_size) == ("graphs", 512)
    assert "whole graphs in a step" in words


@pytest.mark.parametrize("most", ["MOST_NODES", "MOST_EDGES"])
def test_a_graph_with_too_many_nodes_or_edges_is_sampled(monkeypatch, most):
    monkeypatch.setattr(nodes, most, 100)
    settings, words = settled(small_dataset())
    assert (settings.batch, settings.batch_size, settings.fanouts) == ("seeds", 512, (25, 10))
    assert "a large graph (120 nodes, " in words


def test_what_the_user_asks_for_wins():
    settings, words = settled(small_dataset(), epochs=7, normalize="none", fanouts="3,2", seed=5)
    assert (settings.epochs, settings.normalize) == (7, "none")
    assert "at most 300 epochs" in words  # what would suit
    assert words.endswith("; asked for instead: fanouts 3,2, epochs 7, normalize none")
    _, as_suited = settled(small_dataset(), epochs=300)
    assert "instead" not in as_suited


@pytest.mark.parametrize(("zeros", "expected"), [(0.79, "standard"), (0.81, "none")])
def test_features_that_are_mostly_zero_stay_as_they_are(zeros, expected):
    count = 100
    features = np.ones((count, 100), np.float32)
    features[:, : round(100 * zeros)] = 0
    empty = CSRGraph.from_edges([], [], count, duplicates="keep")
    small = small_dataset()
    data = replace(small, graph=empty, features=features, graph_ids=None)
    changes, words = nodes.suited(data)
    assert changes["normalize"] == expected
    assert ("standardised" in words) == (expected == "standard")


def test_a_short_series_has_small_batches_and_no_scheduled_sampling():
    roads = small_roads()
    changes, words = traffic.suited(roads)
    assert roads.num_steps == 576
    assert changes["batch_size"] == traffic.SMALLEST_BATCH  # 403 rows to learn from, 200 steps
    assert changes["teacher_decay"] == 0
    assert words.startswith("settings for a short series (6 sensors, 576 steps)")


def test_a_long_series_has_the_papers_settings(monkeypatch):
    monkeypatch.setattr(traffic, "SHORT", 100)
    changes, words = traffic.suited(small_roads())
    assert set(changes) == {"batch_size"}
    assert "a long series" in words
