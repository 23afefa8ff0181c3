"""Runs that ranks train together: the same folder, bit for bit, on any number of them.

The ranks are threads here; tests/cli/test_mpiexec.py has processes.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from ranks import on_ranks, results
from scipy import sparse
from small_reddit import small_reddit, small_reddit_settings
from small_run import contents, small_dataset, small_settings
from small_traffic_run import SMALL, small_roads

from gaancore.data import TRAIN
from gaancore.errors import DataError, SettingsError, TrainingError
from gaancore.parallel import ALONE, Shares, Team
from gaancore.tasks.begin import begin, resume
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.progress import RunInterrupt, Watcher
from gaancore.training.run import Run
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic.run import ForecastRun
from gaancore.training.traffic.settings import ForecastSettings

Make = Callable[[Path, Team], Run]


def nodes(folder: Path, team: Team, **changes: Any) -> ClassifierRun:
    settings = small_settings(**({"shares": 4, "dropout": 0.3, "epochs": 2} | changes))
    return ClassifierRun(settings, small_dataset(), RunFolder(folder), team=team)


def classes(folder: Path, team: Team, **changes: Any) -> ClassifierRun:
    settings = small_reddit_settings(
        **({"shares": 3, "eval_fanouts": (3, 2), "epochs": 2} | changes)
    )
    return ClassifierRun(settings, small_reddit(), RunFolder(folder), team=team)


def words(folder: Path, team: Team, **changes: Any) -> ClassifierRun:
    """On sparse features."""
    settings = small_settings(shares=4, input_dropout=0.3, epochs=2, **changes)
    dense = small_dataset()
    few = sparse.csr_array(np.where(dense.features > 1, dense.features, 0).astype(np.float32))
    return ClassifierRun(settings, replace(dense, features=few), RunFolder(folder), team=team)


def roads(folder: Path, team: Team, **changes: Any) -> ForecastRun:
    settings = ForecastSettings(**(SMALL | {"shares": 3, "batch_size": 200} | changes))
    return ForecastRun(settings, small_roads(), RunFolder(folder), team=team)


RUNS: dict[str, Make] = {
    "whole neighbourhoods": nodes,
    "everything in a step": partial(nodes, batch="graphs", batch_size=0, edge_dropout=0.2),
    "sampled": classes,
    "forecast": roads,
}
MORE_RUNS: dict[str, Make] = {
    "whole graphs": partial(nodes, batch="graphs", batch_size=15),
    "more shares than seeds": partial(nodes, shares=30),
    "weights of classes": partial(nodes, class_weight="balanced", label_smoothing=0.1),
    "features alone": partial(nodes, model="fnn"),
    "consistent": partial(
        classes, batch="graphs", batch_size=0, fanouts=(-1, -1), transductive=True, consistency=0.5
    ),
    "one share": partial(nodes, shares=1),
    "sparse features": words,
    "sampled, scored on whole neighbourhoods": partial(classes, eval_fanouts=(-1,)),
    "forecast, clipped": partial(roads, clip_norm=0.01, batch_size=37, shares=8),
    "forecast without a graph": partial(roads, model="fnn"),
}


def train(make: Make, folder: Path, size: int, stop_at: int = 0, resumed: bool = False) -> None:
    """Train on ranks, to the end or until some step; the last rank is the one that asks to stop."""

    def work(team: Team) -> None:
        run = make(folder, team)
        if resumed:
            run.resume()
        else:
            team.from_first(run.start)
        if stop_at:
            asks = team.rank == size - 1
            run.watcher = Watcher(stop_requested=lambda: asks and run.progress.step >= stop_at)
            with pytest.raises(RunInterrupt):
                run.train()
        else:
            run.train()

    results(on_ranks(size, work))


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_a_run_has_the_same_bits_on_three_ranks_as_on_one(make, tmp_path):
    train(make, tmp_path / "1", 1)
    train(make, tmp_path / "3", 3)
    assert contents(tmp_path / "3") == contents(tmp_path / "1")


@pytest.mark.slow
@pytest.mark.parametrize("make", (RUNS | MORE_RUNS).values(), ids=RUNS | MORE_RUNS)
def test_a_run_has_the_same_bits_on_any_number_of_ranks(make, tmp_path):
    train(make, tmp_path / "1", 1)
    expected = contents(tmp_path / "1")
    for size in (2, 3, 4):
        train(make, tmp_path / str(size), size)
        assert contents(tmp_path / str(size)) == expected, f"{size} ranks"


@pytest.mark.slow
@pytest.mark.parametrize("make", [nodes, words])
def test_more_ranks_than_shares_change_nothing(make, tmp_path):
    train(make, tmp_path / "1", 1)
    train(make, tmp_path / "6", 6)
    assert contents(tmp_path / "6") == contents(tmp_path / "1")


@pytest.mark.parametrize("make", [classes, roads])
def test_a_run_goes_on_with_the_same_bits_on_another_number_of_ranks(make, tmp_path):
    train(make, tmp_path / "straight", 1)
    train(make, tmp_path / "parts", 3, stop_at=1)
    train(make, tmp_path / "parts", 1, stop_at=3, resumed=True)
    train(make, tmp_path / "parts", 2, resumed=True)
    assert contents(tmp_path / "parts") == contents(tmp_path / "straight")


def test_a_state_between_validations_is_the_same_on_any_number_of_ranks(tmp_path):
    for size in (1, 3):
        train(nodes, tmp_path / str(size), size, stop_at=3)
    assert contents(tmp_path / "3") == contents(tmp_path / "1")


def gradients(run: Run) -> dict[str, np.ndarray]:
    with run.fetch() as steps:
        run._step(steps)
    return {name: parameter.grad for name, parameter in run.model.named_parameters()}


@pytest.mark.parametrize(
    "make",
    [partial(nodes, dropout=0.0), partial(nodes, model="fnn"), partial(roads, teacher_decay=0.0)],
)
def test_the_shares_of_a_step_add_up_to_the_whole_of_it(make, tmp_path):
    """Where nothing is drawn, shares are another order of the same sum."""
    whole = gradients(make(tmp_path, ALONE, shares=1))
    for name, grad in gradients(make(tmp_path, ALONE, shares=5)).items():
        assert_allclose(grad, whole[name], rtol=1e-4, atol=1e-6, err_msg=name)


def test_each_share_draws_neighbours_and_dropout_of_its_own(tmp_path):
    batches = classes(tmp_path, ALONE, batch_size=60).batches
    assert batches.shares.count == 3
    of_step = batches.step(0).batches
    assert len({batch.dropout_seed for batch in of_step}) == 3
    assert_array_equal(np.concatenate([b.seeds for b in of_step]), batches.seeds(0, 0))
    alone = classes(tmp_path, ALONE, batch_size=60, shares=1).batches.step(0).batches[0]
    assert alone.dropout_seed not in {batch.dropout_seed for batch in of_step}


def test_only_the_first_rank_writes_and_all_know_the_outcome(tmp_path):
    def work(team):
        run = nodes(tmp_path / "run" if team.first else tmp_path / "nowhere", team)
        team.from_first(run.start)
        record = run.train()
        return record["test"], run.model.state()["head.weight"].tobytes()

    first, second = results(on_ranks(2, work))
    assert first == second
    for line in RunFolder(tmp_path / "run").read_log():
        assert 0 < line["exchange_share"] < 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_goes_wrong_with_the_disk_of_the_first_rank_ends_all(tmp_path):
    def work(team):
        run = nodes(tmp_path / "run", team)
        team.from_first(run.start)
        if team.first:
            run.folder.log_file.mkdir()
        run.train()

    found = on_ranks(2, work)
    assert {type(error) for error in found} == {DataError}
    assert str(found[0]) == str(found[1])
    assert "log.jsonl: cannot be written" in str(found[0])


def test_a_gradient_that_is_not_finite_ends_all_and_names_the_step(tmp_path):
    def work(team):
        run = nodes(tmp_path / "run", team)
        team.from_first(run.start)
        if team.rank == 1:
            run.scorer.view(TRAIN).features[:] = np.float32(1e30)
        with np.errstate(all="ignore"):
            run.train()

    found = on_ranks(2, work)
    assert {type(error) for error in found} == {TrainingError}
    assert {str(error).partition("; ")[0] for error in found} == {
        "epoch 1, step 1 of 5: the gradient of embed.weight is not finite, so nothing was updated"
    }


def test_weights_that_drift_apart_end_the_run(tmp_path):
    def work(team):
        run = nodes(tmp_path / "run", team)
        team.from_first(run.start)
        if team.rank == 1:
            run.model.head.bias.data[0] += np.float32(1e-6)
        run.train()

    for error in on_ranks(2, work):
        assert isinstance(error, TrainingError)
        assert "the weights of rank 1 are no longer those of rank 0" in str(error)


def begun(team: Team, folder: Path, **changes: Any) -> Any:
    layers = [("test", {"epochs": 1, "batch_size": 16} | changes)]
    return begin(small_dataset(), task="ppi", out=folder, device="cpu", layers=layers, team=team)


def test_a_new_run_on_ranks_has_eight_shares_and_says_so(tmp_path):
    def work(team):
        started = begun(team, tmp_path / "run")
        return started.run.settings.shares, started.lines

    for shares, lines in results(on_ranks(2, work)):
        assert shares == 8
        assert lines[-1].startswith("ranks: 2 processes train 8 shares of each step")
    assert begun(ALONE, tmp_path / "alone").run.settings.shares == 1


def test_ranks_without_a_share_are_noted(tmp_path):
    lines = results(on_ranks(3, lambda team: begun(team, tmp_path / "run", shares=2).lines))[0]
    assert lines[-1].startswith("note: 1 of 3 processes have no share of a step and wait")


def test_a_rank_with_another_setting_is_refused_before_there_is_a_folder(tmp_path):
    found = on_ranks(2, lambda team: begun(team, tmp_path / "run", seed=team.rank))
    for error in found:
        assert isinstance(error, SettingsError)
        assert str(error).startswith("seed: rank 1 has 1, but rank 0 has 0")
    assert not (tmp_path / "run").exists()


def test_a_rank_with_other_data_is_refused_when_it_begins_and_when_it_goes_on(tmp_path):
    other = small_dataset(x=np.ones((120, 6), np.float32))

    def refused(team, step):
        data = other if team.rank == 1 else small_dataset()
        return step(data, team)

    def start(data, team):
        layers = [("test", {"epochs": 1, "batch_size": 16})]
        return begin(data, task="ppi", out=tmp_path / "a", device="cpu", layers=layers, team=team)

    for error in on_ranks(2, partial(refused, step=start)):
        assert isinstance(error, SettingsError)
        assert str(error).startswith("data: rank 1 has ")
    results(on_ranks(2, lambda team: begun(team, tmp_path / "b")))
    again = partial(refused, step=lambda data, team: resume(tmp_path / "b", data, team=team))
    for error in on_ranks(2, again):
        assert isinstance(error, SettingsError)
        assert "the data has changed since the run began" in str(error)
        assert str(error).endswith("(rank 1)")


def test_two_jobs_of_ranks_that_choose_a_folder_take_one_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def work(team):
        return begun(team, None).run.folder.path

    first = results(on_ranks(2, work))
    second = results(on_ranks(2, work))
    assert first == [Path("runs/ppi-gaan-released-seed0")] * 2
    assert second == [Path("runs/ppi-gaan-released-seed0-2")] * 2


def test_a_step_is_added_by_shares_and_not_by_ranks():
    """On ranks with one share each, a rank's own is not added to before the others' come."""
    rows = np.array([[1e8], [1.0], [-1e8], [1.0]], np.float32)  # whose sum depends on the order
    found = results(
        on_ranks(2, lambda team: Shares(4, team).add(rows[2 * team.rank : 2 * team.rank + 2]))
    )
    total = np.float32(0)
    for row in rows[:, 0]:
        total = np.float32(total + row)
    assert [float(row[0]) for row in found] == [float(total)] * 2
