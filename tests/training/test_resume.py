"""Runs that are interrupted, killed or go wrong, and go on."""

import errno
import fcntl
import os
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_run import contents, resumed_run, run_until, small_run

from gaancore.data import TRAIN
from gaancore.errors import DataError, SettingsError, TrainingError
from gaancore.training.checkpoint import load_checkpoint, save_checkpoint
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.progress import Watcher


def weights(run: ClassifierRun) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in run.model.state().items()}


@pytest.mark.parametrize("changes", [
    {"epochs": 10, "decay_patience": 1, "stop_patience": 2, "lr_floor": 0.004},
    {"epochs": 10, "validate_every": 3, "batch": "graphs", "batch_size": 15},
    {"epochs": 10, "model": "max-pool", "fanouts": (3, 2), "clip_norm": 0.5},
])  # fmt: skip
@pytest.mark.parametrize("stops", [[25], [1, 2, 7, 24]])
def test_a_run_that_is_interrupted_and_resumed_ends_with_the_same_bits(tmp_path, changes, stops):
    record = small_run(tmp_path / "straight", **changes).train()
    assert record["steps"] > max(stops)
    run_until(small_run(tmp_path / "parts", **changes), stops[0])
    for step in stops[1:]:
        run_until(resumed_run(tmp_path / "parts", **changes), step)
    resumed_run(tmp_path / "parts", **changes).train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "straight")


def test_a_resumed_run_goes_on_with_the_lowered_rate_and_the_moments(tmp_path):
    changes = {"epochs": 0, "decay_patience": 0, "stop_patience": 3, "lr_floor": 0.001, "seed": 6}
    run = small_run(tmp_path, **changes)
    run_until(run, 20)
    assert run.schedule.lr < 0.01
    again = resumed_run(tmp_path, **changes)
    assert asdict(again.schedule) == asdict(run.schedule)
    assert asdict(again.progress) == asdict(run.progress)
    assert again.optimizer.steps == run.optimizer.steps
    assert set(again.optimizer.steps.values()) == {20}
    for name, moment in run.optimizer.state().items():
        assert_array_equal(again.optimizer.state()[name], moment)
    assert moment.any()


def test_a_checkpoint_with_one_count_of_steps_goes_on_with_the_same_bits(tmp_path):
    """As gaancore 0.1 wrote them: no count of each parameter, the loss summed by steps."""
    small_run(tmp_path / "straight").train()
    run_until(small_run(tmp_path / "old"), 7)
    last = tmp_path / "old" / "last.safetensors"
    groups, facts = load_checkpoint(last)
    del facts["adam_steps"]
    facts["progress"] |= {"loss_sum": 1.4, "loss_count": 2}
    save_checkpoint(last, groups, facts)
    resumed_run(tmp_path / "old").train()
    expected, found = contents(tmp_path / "straight"), contents(tmp_path / "old")
    assert found["last.safetensors"] == expected["last.safetensors"]
    assert found["best.safetensors"] == expected["best.safetensors"]
    assert found["last.safetensors: facts"] == expected["last.safetensors: facts"]


def test_a_parameter_that_had_no_gradient_keeps_its_own_count(tmp_path):
    run_until(small_run(tmp_path), 3)
    groups, facts = load_checkpoint(tmp_path / "last.safetensors")
    facts["adam_steps"]["head.bias"] = 1
    save_checkpoint(tmp_path / "last.safetensors", groups, facts)
    steps = resumed_run(tmp_path).optimizer.steps
    assert steps.pop("head.bias") == 1
    assert set(steps.values()) == {3}


def test_a_run_that_was_killed_before_it_saved_starts_over(tmp_path):
    small_run(tmp_path / "straight").train()
    run = small_run(tmp_path / "killed")
    run.folder.append_log({"step": 5, "from": "a validation whose state was not saved any more"})
    (tmp_path / "killed" / "last.safetensors.123.part").write_bytes(b"half")
    resumed_run(tmp_path / "killed").train()
    assert contents(tmp_path / "killed") == contents(tmp_path / "straight")


def test_a_log_that_is_ahead_of_the_state_is_cut_back(tmp_path):
    small_run(tmp_path / "straight").train()
    run = small_run(tmp_path / "killed")
    run_until(run, 7)
    run.folder.append_log({"step": 10, "from": "the killed process"})
    with run.folder.log_file.open("a", encoding="utf-8") as file:
        file.write('{"step": 1')
    resumed_run(tmp_path / "killed").train()
    assert contents(tmp_path / "killed") == contents(tmp_path / "straight")


def test_where_a_run_is_under_way_a_second_one_is_refused_and_changes_nothing(tmp_path):
    small_run(tmp_path / "alone").train()
    run, refusals = small_run(tmp_path / "first"), []

    def second(line):
        with pytest.raises(SettingsError) as refusal:
            resumed_run(tmp_path / "first").train()
        refusals.append(str(refusal.value))

    run.watcher = Watcher(on_validation=second)
    run.train()
    assert refusals
    assert all(f"{tmp_path / 'first'}: another process is training" in line for line in refusals)
    assert contents(tmp_path / "first") == contents(tmp_path / "alone")


def test_resuming_a_finished_run_writes_the_record_again(tmp_path):
    small_run(tmp_path).train()
    before = contents(tmp_path)
    (tmp_path / "record.json").unlink()
    run = resumed_run(tmp_path)
    run.watcher = Watcher(on_step=lambda facts: pytest.fail("a step was done again"))
    run.train()
    assert contents(tmp_path) == before


def test_a_checkpoint_of_another_model_is_refused_by_name(tmp_path):
    run_until(small_run(tmp_path), 2)
    for changes in ({"model": "attention"}, {"out_dim": 7}):
        with pytest.raises(DataError, match=r"last.safetensors: not a checkpoint of this run") as e:
            resumed_run(tmp_path, **changes)
        assert "\n" not in str(e.value)


def test_a_gradient_that_is_not_finite_stops_the_run_and_leaves_the_last_good_state(tmp_path):
    run = small_run(tmp_path, epochs=3)
    run_until(run, 7)
    saved = contents(tmp_path)
    run = resumed_run(tmp_path, epochs=3)
    before, broken = weights(run), run.model.layers[1].gate.output.bias
    run.scorer.view(TRAIN).features[:] = np.float32(1e30)
    with np.errstate(all="ignore"), pytest.raises(TrainingError) as error:
        run.train()
    assert str(error.value).startswith("epoch 2, step 3 of 5: the gradient of embed.weight is not")
    assert "\n" not in str(error.value)
    assert weights(run) == before
    assert contents(tmp_path) == saved
    assert np.isfinite(broken.data).all()


def test_a_model_that_diverges_at_validation_names_the_step(tmp_path, monkeypatch):
    run = small_run(tmp_path)
    monkeypatch.setattr("gaancore.training.nodes.scorer.infer", lambda *_: np.full((24, 5), np.nan))
    with pytest.raises(TrainingError, match=r"^validation after step 5: output 0 of node 0"):
        run.train()
    assert not run.folder.best.exists()


def test_weights_that_are_not_finite_are_never_saved(tmp_path):
    run = small_run(tmp_path)
    run_until(run, 5)
    saved = contents(tmp_path)
    run = resumed_run(tmp_path)
    run.watcher = Watcher(stop_requested=lambda: True)
    run.optimizer.moment2["head.bias"][0] = np.inf
    with pytest.raises(TrainingError, match=r"last.safetensors: adam.moment2.head.bias is not fi"):
        run.train()
    assert contents(tmp_path) == saved


def test_a_file_system_without_locks_is_no_obstacle(tmp_path, monkeypatch):
    def flock(file, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert small_run(tmp_path).train()["epochs"] == 3


def test_the_lock_is_on_a_file_that_may_be_written(tmp_path, monkeypatch):
    """Network file systems refuse others: they lock exclusively by what may be written."""
    modes, flock = [], fcntl.flock

    def noted(file, operation):
        modes.append(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE)
        return flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", noted)
    small_run(tmp_path).train()
    assert modes
    assert os.O_RDONLY not in modes
