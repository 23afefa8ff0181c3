"""What a run writes down, and the folder it writes to."""

import json
import re
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from small_run import (
    contents,
    resumed_run,
    small_arrays,
    small_dataset,
    small_run,
    small_settings,
)

from gaancore.data import TEST, TRAIN, VALIDATION
from gaancore.errors import DataError, DeviceError, SettingsError
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.progress import Watcher
from gaancore.training.run_folder import RunFolder


def test_a_run_stops_early_at_the_floor_and_says_so(tmp_path):
    changes = {"epochs": 0, "decay_patience": 1, "stop_patience": 2, "lr_floor": 0.004}
    record = small_run(tmp_path, **changes).train()
    log = RunFolder(tmp_path).read_log()
    assert record["stopped_early"]
    assert log[-1]["lr"] == 0.004
    assert [line["best"] for line in log[-3:]] == [False] * 3
    assert len(log) == record["epochs"]
    assert record["epochs"] >= record["best_epoch"] + 3  # patience 2: the third in a row stops it


def test_the_record_is_of_the_best_weights_and_a_tie_keeps_the_earlier(tmp_path):
    run = small_run(tmp_path, epochs=30, lr=0.05)
    record = run.train()
    log = RunFolder(tmp_path).read_log()
    scores = [line["validation"]["micro_f1"] for line in log]
    best = scores.index(max(scores))
    assert record["best_step"] == log[best]["step"]
    assert record["validation"] == log[best]["validation"]
    flags = [line["best"] for line in log]
    assert flags == [i == 0 or score > max(scores[:i]) for i, score in enumerate(scores)]
    again = resumed_run(tmp_path, epochs=30, lr=0.05)
    again.load_best()
    assert asdict(again.scorer.score(again.model, VALIDATION)) == record["validation"]
    assert asdict(again.scorer.score(again.model, TEST)) == record["test"]


def test_a_first_score_of_0_is_the_best_so_far(tmp_path, monkeypatch):
    run = small_run(tmp_path, epochs=2)
    run.model.head.bias.data[:] = -100.0
    record = run.train()
    assert record["validation"]["micro_f1"] == 0
    assert record["best_epoch"] == 1
    assert [line["best"] for line in RunFolder(tmp_path).read_log()] == [True, False]


def test_the_record_holds_what_a_reader_needs(tmp_path):
    record = small_run(tmp_path, seed=3, variant="paper", model="attention").train()
    on_disk = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert on_disk == json.loads(json.dumps(record))
    assert (record["task"], record["model"], record["variant"]) == ("ppi", "attention", "paper")
    assert (record["seed"], record["device"], record["epochs"]) == (3, "cpu", 3)
    data = small_dataset()
    assert record["data"]["kind"] == "real"
    assert record["data"]["path"] == "small.npz"
    assert record["data"]["num_nodes"] == data.num_nodes
    assert record["data"]["num_edges"] == data.num_edges
    assert record["data"]["nodes_per_split"] == [72, 24, 24]
    # 6*4+4 embed; output (4+2*4)*6+6 | (6+8)*6+6; query and key d*6+6; value d*8+8; head 6*5+5
    first, second = 78 + 2 * 30 + 40, 90 + 2 * 42 + 56
    assert record["num_parameters"] == 28 + first + second + 35
    assert 1 <= record["best_epoch"] <= 3
    assert record["seconds"] > 0
    assert record["peak_rss_mb"] > 10
    assert set(record["versions"]) >= {"gaancore", "python", "numpy", "scipy", "numba"}
    assert record["settings"]["variant"] == "paper"


def test_each_validation_is_a_line_with_the_mean_loss_of_the_nodes_since_the_last(tmp_path):
    run, losses = small_run(tmp_path, validate_every=2, epochs=2), []
    run.watcher = Watcher(on_step=lambda facts: losses.append(facts["loss"]))
    run.train()
    log = RunFolder(tmp_path).read_log()
    assert [line["step"] for line in log] == [2, 4, 6, 8, 10]
    assert [line["epoch"] for line in log] == [0.4, 0.8, 1.2, 1.6, 2.0]
    sizes = [16, 16, 16, 16, 8] * 2  # 72 training nodes
    pairs = [
        (losses[i] * sizes[i] + losses[i + 1] * sizes[i + 1]) / (sizes[i] + sizes[i + 1])
        for i in range(0, 10, 2)
    ]
    assert [line["loss"] for line in log] == pytest.approx(pairs, rel=1e-12)


def test_the_end_is_validated_even_between_two_validations(tmp_path):
    small_run(tmp_path, validate_every=4, epochs=2).train()
    assert [line["step"] for line in RunFolder(tmp_path).read_log()] == [4, 8, 10]


@pytest.mark.parametrize(("split", "name"), [(TRAIN, "training"), (VALIDATION, "validation")])
def test_data_without_nodes_to_learn_from_or_to_choose_by_are_refused(tmp_path, split, name):
    data = small_dataset()
    data = replace(data, split=np.where(data.split == split, TEST, data.split))
    with pytest.raises(DataError, match=rf"^small\.npz: no {name} nodes; mark some"):
        small_run(tmp_path, data)


def test_another_device_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(DeviceError, match=r"^device cuda: "):
        ClassifierRun(small_settings(), small_dataset(), folder, "cuda")
    assert not folder.path.exists()


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path):
    small_run(tmp_path).train()
    before = contents(tmp_path)
    with pytest.raises(SettingsError, match=r"there is a run in this folder already; continue it"):
        small_run(tmp_path, seed=1)
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"file: cannot be made .File exists"):
        small_run(tmp_path / "file")
    with pytest.raises(DataError, match=r"run: cannot be made .Not a directory"):
        small_run(tmp_path / "file" / "run")


@pytest.mark.parametrize("content", [
    "", "{", "[]", "{}", '{"settings": [], "data": {"path": null, "checksum": "0"}}',
    '{"settings": {}, "data": {}}', '{"settings": {"lr": -1}, "data": {"path": 1, "checksum": 1}}',
    '{"settings": {"unknown": 1}, "data": {"path": null, "checksum": "0"}}',
])  # fmt: skip
def test_damaged_settings_are_refused_by_name(tmp_path, content):
    (tmp_path / "settings.json").write_text(content, encoding="utf-8")
    with pytest.raises(
        DataError, match=r"settings.json: (damaged|empty file|not valid JSON)"
    ) as error:
        RunFolder(tmp_path).read_settings()
    assert "\n" not in str(error.value)


def test_the_datas_checksum_sees_every_array(tmp_path):
    arrays = small_arrays()
    plain = small_run(tmp_path / "plain").data_facts["checksum"]
    assert small_run(tmp_path / "again").data_facts["checksum"] == plain
    flipped = arrays["y"].copy()
    flipped[0, 0] ^= 1
    moved = arrays["x"].copy()
    moved[3, 2] = np.nextafter(moved[3, 2], 1)
    swapped = np.roll(arrays["split"], 1)
    fewer = arrays["edge_index"][:, 1:]
    changes = {"y": flipped, "x": moved, "split": swapped, "edge_index": fewer,
               "graph_id": arrays["graph_id"] + 1}  # fmt: skip
    for name, array in changes.items():
        other = small_run(tmp_path / name, small_dataset(**{name: array}))
        assert other.data_facts["checksum"] != plain, name


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({}, "line 2: no step"),
        ({"step": None}, "line 2: step: got None"),
        ({"step": 2, "epoch": "2", "loss": 1}, "line 2: epoch: got '2'"),
        ({"step": 2, "epoch": 2, "loss": 1, "validation": {}}, "line 2: no best"),
    ],
)
def test_a_log_with_a_line_that_lacks_what_each_has_is_refused_by_file_and_line(
    tmp_path, line, problem
):
    small_run(tmp_path).train()
    folder = RunFolder(tmp_path)
    lines = folder.log_file.read_text(encoding="utf-8").splitlines()
    text = "\n".join([lines[0], json.dumps(line), lines[2]]) + "\n"
    folder.log_file.write_text(text, encoding="utf-8")
    message = f"^{re.escape(str(folder.log_file))}: {re.escape(problem)}; take the file from a copy"
    with pytest.raises(DataError, match=message):
        folder.read_log()
    if "step:" in problem or "no step" in problem:  # else it is ahead of the state, and cut off
        with pytest.raises(DataError, match=message):
            resumed_run(tmp_path)


@pytest.mark.parametrize("kept", ["last.safetensors", "best.safetensors"])
@pytest.mark.parametrize(("name", "value"), [("gate_dim", 2**31), ("seed", 1), ("dropout", 0.2)])
def test_settings_that_the_weights_were_not_trained_with_are_refused(tmp_path, kept, name, value):
    """Before a model is made from them: the first would take 64 GB."""
    small_run(tmp_path).train()
    for path in tmp_path.glob("*.safetensors"):
        if path.name != kept:
            path.unlink()
    folder = RunFolder(tmp_path)
    content = json.loads(folder.settings_file.read_text(encoding="utf-8"))
    then, content["settings"][name] = content["settings"][name], value
    folder.settings_file.write_text(json.dumps(content), encoding="utf-8")
    message = rf"{kept}: trained with {name} {then}, but settings\.json says {value}: one of the"
    with pytest.raises(DataError, match=message):
        folder.read_settings()


def test_a_setting_that_an_older_version_did_not_write_down_is_not_compared(tmp_path):
    small_run(tmp_path).train()
    folder = RunFolder(tmp_path)
    content = json.loads(folder.settings_file.read_text(encoding="utf-8"))
    del content["settings"]["edge_dropout"]
    folder.settings_file.write_text(json.dumps(content), encoding="utf-8")
    assert "edge_dropout" not in folder.read_settings()["settings"]


def test_what_a_run_left_that_was_killed_before_it_began_goes_with_the_next(tmp_path):
    part = tmp_path / "settings.json.123.part"
    part.write_text("{", encoding="utf-8")
    small_run(tmp_path)
    assert not part.exists()


def test_a_log_that_was_lost_is_told_of_when_the_run_goes_on(tmp_path):
    small_run(tmp_path).train()
    folder = RunFolder(tmp_path)
    best = folder.read_log()[-1]["step"]
    assert folder.lost_lines(0) is folder.lost_lines(best) is None
    folder.log_file.unlink()
    assert folder.lost_lines(0) is None
    assert f"the line of step {best}, the best so far, is gone" in str(folder.lost_lines(best))
