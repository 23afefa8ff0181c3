"""Runs that ranks ask together: the same answers, bit for bit, on any number of them.

The ranks are threads here; tests/cli/test_mpiexec_asking.py has processes.
"""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from ranks import on_ranks, results
from small_reddit import small_reddit, small_reddit_run
from small_run import small_dataset, small_run
from small_traffic_run import small_roads, started

from gaancore import NodeRun, TrafficRun, open_run
from gaancore.data.nodes.inputs import inputs_of
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph
from gaancore.parallel import ALONE, Team, dealt
from gaancore.reproduce.sampling import sampled_sizes
from gaancore.training.nodes import inference

SIZES = pytest.mark.parametrize("size", [2, 3])


@pytest.fixture(scope="module")
def labels(tmp_path_factory) -> Path:
    """A run of one share."""
    folder = tmp_path_factory.mktemp("labels") / "run"
    small_run(folder, epochs=1).train()
    return folder


@pytest.fixture(scope="module")
def classes(tmp_path_factory) -> Path:
    """A run of three shares, whose validations draw neighbours."""
    folder = tmp_path_factory.mktemp("classes") / "run"
    small_reddit_run(folder, epochs=1, shares=3, eval_fanouts=(3, 2)).train()
    return folder


@pytest.fixture(scope="module")
def roads(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("roads") / "run"
    started(folder, epochs=1, batch_size=40).train()
    return folder


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of few rows and edges, of which a small graph has many."""
    monkeypatch.setattr(inference, "EDGES_AT_A_TIME", 60)
    monkeypatch.setattr(inference, "ROWS_AT_A_TIME", 17)


def nodes(folder: Path, team: Team) -> NodeRun:
    return open_run(folder, "cpu", data=small_dataset(), team=team)


def drawing(folder: Path, team: Team) -> NodeRun:
    return open_run(folder, "cpu", data=small_reddit(), team=team)


def forecasting(folder: Path, team: Team) -> TrafficRun:
    return open_run(folder, "cpu", data=small_roads(), team=team)


def expect_alike(size, ask) -> None:
    """Each rank gets what one process gets."""
    expected = ask(ALONE)
    for found in results(on_ranks(size, ask)):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert_array_equal(found[name], value, err_msg=name)


@SIZES
def test_predictions_and_embeddings_have_the_bits_of_one_process(labels, small_chunks, size):
    graph = small_dataset().induced(np.arange(3, 90))  # one that the run has not seen

    def ask(team):
        run = nodes(labels, team)
        return {
            "own": run.predictions(threshold=0.4).logits,
            "new": run.predictions(inputs_of(graph)).logits,
            "last layer": run.embed(),
            "first layer": run.embed(graph, layer=1),
        }

    expect_alike(size, ask)


@SIZES
def test_scores_of_nodes_have_the_bits_of_one_process(labels, classes, small_chunks, size):
    other = replace(small_dataset(), split=np.roll(small_dataset().split, 7))

    def ask(team):
        drawn = drawing(classes, team)
        return {
            "own": nodes(labels, team).evaluate(["train"], per_class=True),
            "new": nodes(labels, team).evaluate(data=other),
            "drawn": drawn.evaluate(["train"]),
            "whole": drawn.evaluate(["train"], eval_fanouts=(-1,)),
        }

    expect_alike(size, ask)


@SIZES
def test_forecasts_and_their_errors_have_the_bits_of_one_process(roads, size):
    later = small_roads(seed=1)

    def ask(team):
        run = forecasting(roads, team)
        every = run.forecast_all(interval=0.8)
        latest = run.forecast(interval=0.8)
        return {
            "errors": run.evaluate(["test"]),
            "errors on others": run.evaluate(data=later),
            "every window": every.speeds,
            "ends": every.low,
            "latest": latest.speeds,
            "ends of the latest": latest.high,
        }

    expect_alike(size, ask)


@SIZES
def test_sampled_sizes_are_those_of_one_process(size):
    graph = small_dataset().graph

    def ask(team):
        found = sampled_sizes(graph, (3, 2), num_seeds=9, repeats=4, seed=5, merge=True, team=team)
        return {"nodes": found.nodes, "edges": found.edges}

    expect_alike(size, ask)


def test_each_rank_computes_rows_of_its_own_and_all_of_them_once(labels, small_chunks, monkeypatch):
    """Of both layers."""
    met: list[tuple[int, np.ndarray]] = []
    original = CSRGraph.block_of

    def block_of(self, dst_ids):
        met.append((threading.get_ident(), np.asarray(dst_ids)))
        return original(self, dst_ids)

    monkeypatch.setattr(CSRGraph, "block_of", block_of)
    results(on_ranks(3, lambda team: nodes(labels, team).predictions().logits))
    of_ranks = [
        np.concatenate([rows for rank, rows in met if rank == thread])
        for thread in {rank for rank, _ in met}
    ]
    assert len(of_ranks) == 3
    assert_array_equal(np.sort(np.concatenate(of_ranks)), np.repeat(np.arange(120), 2))
    for rows in of_ranks:
        assert 0 < len(rows) < 0.6 * 240


def test_each_rank_forecasts_from_windows_of_its_own(roads, monkeypatch):
    met: list[tuple[int, int]] = []

    def work(team):
        run = forecasting(roads, team)
        predict = run.forecaster.predict

        def counted(starts):
            met.append((team.rank, len(starts)))
            return predict(starts)

        run.forecaster.predict = counted
        run.forecast_all()
        return run.forecast_all().speeds.shape[1]

    count, *_ = results(on_ranks(3, work))
    each = [sum(windows for rank, windows in met if rank == r) / 2 for r in range(3)]
    assert sum(each) == count
    assert min(each) > count / 6


def test_items_are_dealt_in_runs_and_to_some_ranks_none():
    assert results(on_ranks(3, lambda team: list(dealt(range(7), team)))) == [
        [0, 1],
        [2, 3],
        [4, 5, 6],
    ]
    assert results(on_ranks(3, lambda team: dealt("a", team))) == ["", "", "a"]


def test_a_rank_with_other_weights_or_other_data_is_named(labels, tmp_path):
    small_run(tmp_path / "other", epochs=1, seed=1).train()
    changed = small_dataset().induced(np.arange(100))

    def weights(team):
        nodes(tmp_path / "other" if team.rank == 1 else labels, team).embed()

    def data(team):
        nodes(labels, team).predictions(changed if team.rank == 1 else small_dataset())

    for ask, what in ((weights, "weights"), (data, "data")):
        for error in on_ranks(2, ask):
            assert isinstance(error, SettingsError)
            assert str(error).startswith(f"{what}: rank 1 has ")


def test_a_rank_that_lacks_the_run_or_its_data_ends_all(labels, roads, tmp_path):
    def run_is_there(team):
        with team.together():
            nodes(tmp_path / "nowhere" if team.rank == 2 else labels, team).embed()

    for error in on_ranks(3, run_is_there):
        assert isinstance(error, DataError)
        assert str(error).endswith("no run here (no settings.json) (rank 2)")

    def own_data_are_there(team):
        run = open_run(roads, "cpu", data=small_roads() if team.first else None, team=team)
        run.evaluate(data=small_roads(seed=1))

    for error in on_ranks(2, own_data_are_there):
        assert isinstance(error, SettingsError)
        assert "the run's own data: rank 1 has nothing, but rank 0 has them" in str(error)
