"""Two processes that begin at the same moment, without a folder: each gets one of its own."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest
from small_run import WIDTHS, small_dataset

from gaancore.errors import SettingsError
from gaancore.tasks.begin import begin
from gaancore.training.run_folder import RunFolder


def begin_often(folder, rounds, mine, barrier, queue):
    """One of the two processes: in each round both ask for a run of the same name."""
    os.chdir(folder)
    data = small_dataset()
    for number in range(rounds):
        layers = [("test", WIDTHS | {"epochs": 1, "seed": number, "split_seed": mine})]
        barrier.wait()
        begun = begin(data, task="labels", device="cpu", layers=layers)
        queue.put((number, mine, str(begun.run.folder.path)))


@pytest.mark.parametrize("rounds", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_two_processes_get_a_folder_each_and_their_settings_are_not_mixed(tmp_path, rounds):
    spawn = multiprocessing.get_context("spawn")
    barrier, queue = spawn.Barrier(2), spawn.Queue()
    processes = [
        spawn.Process(target=begin_often, args=(tmp_path, rounds, mine, barrier, queue))
        for mine in (1, 2)
    ]
    for process in processes:
        process.start()
    found = [queue.get(timeout=300) for _ in range(2 * rounds)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    for number in range(rounds):
        name = f"runs/labels-gaan-released-seed{number}"
        pair = {path: mine for n, mine, path in found if n == number}
        assert set(pair) == {name, f"{name}-2"}
        for path, mine in pair.items():
            settings = json.loads(Path(tmp_path, path, "settings.json").read_text())["settings"]
            assert (settings["split_seed"], settings["seed"]) == (mine, number)
    assert len(list(Path(tmp_path, "runs").iterdir())) == 2 * rounds


def test_a_folder_that_is_there_is_not_taken_for_a_run_without_one(tmp_path):
    """It may be that of a process which has not yet written its settings, or an unlocked one."""
    (tmp_path / "run").mkdir()
    with pytest.raises(SettingsError, match="run: it is there already; choose another"):
        RunFolder(tmp_path / "run").create(_Settings(), {}, alone=True)
    assert not list((tmp_path / "run").iterdir())


def test_a_run_beside_an_empty_folder_of_its_name_takes_the_next_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "labels-gaan-released-seed0").mkdir(parents=True)
    begun = begin(small_dataset(), task="labels", layers=[("test", WIDTHS | {"epochs": 1})])
    assert begun.run.folder.path == Path("runs/labels-gaan-released-seed0-2")
    assert not list((tmp_path / "runs" / "labels-gaan-released-seed0").iterdir())


class _Settings:
    """Never written."""
