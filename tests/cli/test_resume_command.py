"""`gaancore train --resume`: what it goes on from, and what it refuses."""

from pathlib import Path

import pytest
from small_run import contents, small_arrays, small_options, write_small_npz

from gaancore.training.run_folder import RunFolder

OPTIONS = small_options()
TINY = small_options(epochs=1, batch_size=600)


def test_a_finished_run_is_resumed_by_writing_its_record_again(gaancore, data, tmp_path):
    gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run")
    before = contents(tmp_path / "run")
    (tmp_path / "run" / "record.json").unlink()
    outcome = gaancore("train", "--resume", "run")
    assert outcome.code == 0
    assert contents(tmp_path / "run") == before


def test_a_resumed_run_keeps_its_settings_and_says_which_differ(gaancore, refused, data, tmp_path):
    gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run")
    before = contents(tmp_path / "run")
    line = refused("train", "--resume", "run", "--lr", "0.02", "--seed=0", "--set=num_heads=3")
    assert line == (
        "run: a resumed run keeps its settings, but these differ: num_heads: 2 -> 3; "
        "lr: 0.01 -> 0.02"
    )
    assert gaancore("train", "--resume", "run", "--seed=0", "--heads=2", "--quiet").code == 0
    assert contents(tmp_path / "run") == before


def test_a_run_given_more_epochs_ends_as_if_it_had_had_them_from_the_start(
    gaancore, data, tmp_path
):
    for name, epochs in (("long", 4), ("short", 2)):
        options = small_options(epochs=epochs)
        gaancore("train", "--task", "ppi", "--data", data, *options, "--out", name, "--quiet")
    outcome = gaancore("train", "--resume", "short", "--epochs", 4)
    assert outcome.code == 0
    assert contents(tmp_path / "short") == contents(tmp_path / "long")


def test_a_run_cannot_end_before_what_it_has_done(gaancore, refused, data, tmp_path):
    gaancore(
        "train",
        "--task",
        "ppi",
        "--data",
        data,
        *small_options(epochs=3),
        "--out",
        "run",
        "--quiet",
    )
    before = contents(tmp_path / "run")
    line = refused("train", "--resume", "run", "--epochs", 2)
    assert line == "run: epochs: 3 are done, so it cannot end after 2"
    assert contents(tmp_path / "run") == before


def test_a_refused_command_leaves_the_length_and_the_record_as_they_were(
    gaancore, refused, data, tmp_path
):
    gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run", "--quiet")
    before = contents(tmp_path / "run")
    data.rename(tmp_path / "moved.npz")
    refused("train", "--resume", "run", "--epochs", 9)
    assert contents(tmp_path / "run") == before


def test_until_a_longer_run_has_ended_it_has_no_record(gaancore, data, tmp_path):
    """A record of its earlier end would pass for one of the run that its settings describe."""
    gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run", "--quiet")
    assert (tmp_path / "run" / "record.json").exists()
    RunFolder(tmp_path / "run").set_epochs(5)
    assert not (tmp_path / "run" / "record.json").exists()
    assert RunFolder(tmp_path / "run").read_settings()["settings"]["epochs"] == 5


def test_the_length_of_a_run_with_a_cooldown_stays(gaancore, refused, data, tmp_path):
    options = small_options(epochs=2, lr_cooldown=0.5)
    gaancore("train", "--task", "ppi", "--data", data, *options, "--out", "run", "--quiet")
    before = contents(tmp_path / "run")
    assert refused("train", "--resume", "run", "--epochs", 4) == (
        "run: epochs: its learning rate falls towards the end it was given, 2; train a new run to "
        "that length"
    )
    assert contents(tmp_path / "run") == before


def test_changed_data_is_refused_and_moved_data_is_found_with_data(
    gaancore, refused, data, tmp_path
):
    gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run")
    data.rename(tmp_path / "moved.npz")
    for command in (["train", "--resume", "run"], ["evaluate", "run"]):
        assert refused(*command) == (
            f"run: its data is no longer at {data}; say where it is (--data)"
        )  # fmt: skip
        assert gaancore(*command, "--data", "moved.npz").code == 0
    write_small_npz(data, x=small_arrays()["x"] + 1)
    for command in (["train", "--resume", "run"], ["evaluate", "run"]):
        assert refused(*command).startswith("run: the data has changed since the run began (check")


def test_a_run_goes_on_from_any_folder(gaancore, data, tmp_path, monkeypatch):
    gaancore("train", "--task", "ppi", "--data", data.name, *OPTIONS, "--out", "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert gaancore("train", "--resume", "../run").code == 0
    assert gaancore("evaluate", "../run").code == 0


def test_a_run_that_stopped_early_is_at_its_end(gaancore, refused, data, tmp_path):
    early = {"epochs": 0, "lr": 1e-9, "lr_floor": 1e-9, "stop_patience": 2}
    gaancore("train", "--task", "ppi", "--data", data, *small_options(**early), "--out", "run")
    before = contents(tmp_path / "run")
    line = refused("train", "--resume", "run", "--epochs", 500)
    assert line.startswith("run: epochs: it stopped early, after ")
    assert line.endswith("train a new run with a larger stop_patience")
    assert contents(tmp_path / "run") == before


DAMAGE = {
    "settings.json": (b'{"settings"', "settings.json: not valid JSON"),
    "last.safetensors": (b"\x10", "last.safetensors: damaged or not written by gaancore"),
    "best.safetensors": (b"\x10", "best.safetensors: damaged or not written by gaancore"),
    "log.jsonl": (b"\xff\n\n", "log.jsonl: line 1: damaged"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_folder_is_refused_by_the_name_of_the_file(gaancore, refused, data, name):
    gaancore("train", "--task", "ppi", "--data", data, *TINY, "--out", "run")
    content, message = DAMAGE[name]
    Path("run", name).write_bytes(content)
    assert message in refused("train", "--resume", "run")


def test_a_truncated_checkpoint_is_refused(gaancore, refused, data):
    gaancore("train", "--task", "ppi", "--data", data, *TINY, "--out", "run")
    last = Path("run", "last.safetensors")
    last.write_bytes(last.read_bytes()[:-20])
    assert "last.safetensors: damaged" in refused("train", "--resume", "run")


def test_a_disk_that_fills_up_leaves_the_last_good_state_to_go_on_from(
    gaancore, refused, data, tmp_path, monkeypatch
):
    resource = pytest.importorskip("resource")
    options = ["--task", "ppi", "--data", data, *small_options(epochs=6)]
    gaancore("train", *options, "--out", "straight")
    original = RunFolder.append_log

    def append_log(self, line):
        original(self, line)
        if line["epoch"] == 3:  # from here on no file may have more than 4096 bytes
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(RunFolder, "append_log", append_log)
    try:
        line = refused("train", *options, "--out", "full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    monkeypatch.setattr(RunFolder, "append_log", original)
    assert line == (
        "full/last.safetensors: cannot be written (File too large); "
        "what was there before is untouched"
    )
    names = {path.name for path in (tmp_path / "full").iterdir()} - {".lock"}
    assert names == {
        "settings.json",
        "log.jsonl",
        "log.csv",
        "best.safetensors",
        "last.safetensors",
    }
    assert gaancore("train", "--resume", "full").code == 0
    assert contents(tmp_path / "full") == contents(tmp_path / "straight")


def test_resuming_a_finished_run_says_that_it_was_complete(gaancore, data, tmp_path):
    gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run", "--quiet")
    before = contents(tmp_path / "run")
    outcome = gaancore("train", "--resume", "run")
    assert (
        "the run is complete: its 3 epochs are done, nothing is left to train; with a larger "
        "number of epochs it goes on"
    ) in outcome.lines
    assert contents(tmp_path / "run") == before
    assert "is complete" not in gaancore("train", "--resume", "run", "--epochs", "4").out


def test_resuming_a_run_that_stopped_early_offers_no_more_epochs(gaancore, data):
    early = small_options(epochs=30, decay_patience=0, stop_patience=0, lr_floor=0.01)
    gaancore("train", "--task", "ppi", "--data", data, *early, "--out", "run", "--quiet")
    out = gaancore("train", "--resume", "run").out
    assert "the run is complete: it stopped early, after " in out
    assert "larger number" not in out


def test_a_lost_log_is_told_of_and_the_run_goes_on(gaancore, data, tmp_path):
    options = small_options(epochs=2)
    gaancore("train", "--task", "ppi", "--data", data, *options, "--out", "run", "--quiet")
    (tmp_path / "run" / "log.jsonl").unlink()
    outcome = gaancore("train", "--resume", "run", "--epochs", "4")
    assert (outcome.code, outcome.err) == (0, "")
    (note,) = [line for line in outcome.lines if line.startswith("note: run/log.jsonl: ")]
    assert note.endswith("pictures of its training lack what is gone")
    assert gaancore("plot", "run").code == 0
