"""How long runs will be: what is measured, what is said, and in which order they are done."""

import time
from dataclasses import replace
from pathlib import Path

import numba
import pytest
from small_run import small_dataset, small_settings, write_small_npz

from gaancore.reproduce import estimate
from gaancore.reproduce.estimate import announce, duration, expected_steps, measured, paces
from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.tables import rows_of
from gaancore.system.jit import COMPILED
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.run_folder import RunFolder

PACE = {"step": 0.5, "validation": 3.0, "steps_per_epoch": 20, "between": 10}  # 0.8 s a step in all


def planned(folder: Path, seeds: int = 2, **changes: object) -> list[TableRun]:
    """Runs of gaan and fnn, none of them begun."""
    return [
        TableRun(
            row,
            seed,
            replace(small_settings(), model=row.name, seed=seed, **changes),
            RunFolder(folder / f"{row.name}{seed}"),
        )
        for seed in range(seeds)
        for row in rows_of("main", "ppi", ["gaan", "fnn"])
    ]


def said(runs, monkeypatch, found: list[dict], budget: float | None = None) -> list[str]:
    """The lines about runs whose rows have these paces, in the order of rows."""
    monkeypatch.setattr(estimate, "paces", lambda *asked: iter(found))
    lines: list[str] = []
    announce(runs, None, "cpu", 0, budget, lines.append)
    return lines


def test_what_is_said_before_the_runs_begin(tmp_path, monkeypatch):
    runs = planned(tmp_path, epochs=30)  # 600 steps, 60 validations: 480 s, and 720 s with step 0.9
    lines = said(runs, monkeypatch, [PACE, PACE | {"step": 0.9}], budget=1000)
    assert lines == [
        "4 runs, 4 of them to do; measured by a few steps of each row on this machine:",
        "  gaan: 0.5 s a step, 3 s a validation, at most 8 min a run",
        "  fnn: 0.9 s a step, 3 s a validation, at most 12 min a run",
        "in all at most 40 min; runs at the same time share the threads",
        "17 min are enough for about 1 of 4 runs",
    ]


def test_a_budget_that_is_enough_is_not_spoken_of(tmp_path, monkeypatch):
    runs = planned(tmp_path, epochs=30)
    assert len(said(runs, monkeypatch, [PACE, PACE], budget=4 * 480)) == 4
    assert len(said(runs, monkeypatch, [PACE, PACE], budget=4 * 480 - 1)) == 5


def test_a_row_that_cannot_be_measured_does_not_silence_the_others(tmp_path, monkeypatch):
    lost = PACE | {"error": "out of memory"}
    lines = said(planned(tmp_path, epochs=30), monkeypatch, [lost, PACE])
    assert lines[1] == "  gaan: could not be measured (out of memory)"
    assert lines[3].startswith("in all at most 16 min")
    assert len(said(planned(tmp_path, epochs=30), monkeypatch, [lost, lost])) == 3


def test_with_nothing_to_do_nothing_is_said(tmp_path, monkeypatch):
    runs = planned(tmp_path)
    for run in runs:
        run.folder.path.mkdir()
        run.folder.record_file.write_text("{}")
    assert said(runs, monkeypatch, []) == []


def test_a_run_takes_as_many_steps_as_others_of_its_row_took():
    assert expected_steps(NodeSettings(epochs=9), PACE, [100, 200]) == (150, "about")
    assert expected_steps(NodeSettings(epochs=9), PACE, []) == (180, "at most")


def test_the_fewest_steps_to_an_early_stop_by_hand():
    """0.01, 0.005, 0.0025, 0.00125, 0.001: four times 16 validations without improvement until the
    rate falls, 31 more to stop, after the first, which improves."""
    assert expected_steps(NodeSettings(), PACE, []) == ((1 + 4 * 16 + 31) * 10, "at least")


def test_times_are_in_one_unit():
    assert [duration(s) for s in (0.004, 9.6, 89, 91, 5399, 5401, 169_999, 170_001)] == [
        "0.004 s", "9.6 s", "89 s", "2 min", "90 min", "1.5 h", "47.2 h", "2.0 days",
    ]  # fmt: skip


def test_a_few_steps_of_a_run_are_measured_and_a_validation(tmp_path):
    settings = small_settings(epochs=100)
    run = ClassifierRun(settings, small_dataset(), RunFolder(tmp_path / "run"), prefetch=0)
    pace = measured(run)
    assert run.progress.step > 1  # the first is left out
    assert 0 < pace["step"] < 60
    assert 0 < pace["validation"] < 60
    assert pace["steps_per_epoch"] == run.steps_per_epoch
    assert pace["between"] == run.steps_between_validations()


class Compiling(ClassifierRun):
    """Its first steps and its first validation compile something and are slow."""

    SLOW = 0.5
    steps_that_compile = 2
    validations = 0

    def _step(self, batches):
        if self.progress.step < self.steps_that_compile:
            self.compile()
        return super()._step(batches)

    def validate(self):
        self.validations += 1
        if self.validations == 1:
            self.compile()
        return super().validate()

    def compile(self):
        numba.njit(lambda x: x + 1)(1.0)
        time.sleep(self.SLOW)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("late", [False, True])
def test_steps_and_a_validation_that_compile_are_not_the_pace(tmp_path, monkeypatch, late):
    """However long they take: a whole table was said to last days where nothing was compiled."""
    if late:
        monkeypatch.setattr(estimate, "ENOUGH", 0.0)
    settings = small_settings(epochs=100)
    measured(ClassifierRun(settings, small_dataset(), RunFolder(tmp_path / "first"), prefetch=0))
    run = Compiling(settings, small_dataset(), RunFolder(tmp_path / "run"), prefetch=0)
    pace = measured(run)
    assert run.progress.step == Compiling.steps_that_compile + (1 if late else estimate.STEPS)
    assert 0 < pace["step"] < Compiling.SLOW
    assert 0 < pace["validation"] < Compiling.SLOW


def test_a_run_that_ends_before_a_step_counts_gives_the_step_that_it_took(tmp_path):
    settings = small_settings(epochs=1, batch="graphs", batch_size=0)
    run = ClassifierRun(settings, small_dataset(), RunFolder(tmp_path / "run"), prefetch=0)
    pace = measured(run)
    assert run.progress.step == run.steps_per_epoch == 1
    assert pace["step"] > 0


def test_a_process_measures_each_row_and_leaves_nothing(tmp_path, any_threads):
    write_small_npz(tmp_path / "small.npz")
    runs = planned(tmp_path, seeds=1)
    found = list(paces(runs, str(tmp_path / "small.npz"), "cpu", 0))
    assert ["error" in pace for pace in found] == [False, False]
    assert [path.name for path in tmp_path.iterdir()] == ["small.npz"]


def test_a_process_that_dies_is_a_row_that_cannot_be_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "PROGRAM", "import sys; sys.exit('killed')")
    found = list(paces(planned(tmp_path, seeds=1), None, "cpu", 0))
    assert [pace["error"] for pace in found] == ["killed", "killed"]
