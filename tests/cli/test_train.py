"""`gaancore train`: what it prints, what it writes, and what decides its settings."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_run import contents, small_dataset, small_options, write_small_npz

from gaancore.choices import MODELS
from gaancore.tasks import TASKS

OPTIONS = small_options()
TINY = small_options(epochs=1, batch_size=600)


def record(folder: Path) -> dict:
    return json.loads((folder / "record.json").read_text(encoding="utf-8"))


def test_without_data_the_first_and_last_line_and_the_record_say_synthetic(gaancore, tmp_path):
    outcome = gaancore("train", "--task", "ppi", *TINY)
    assert outcome.code == 0
    assert outcome.err == ""
    first, last = outcome.lines[0], outcome.lines[-1]
    notes = record(tmp_path / "runs" / "ppi-gaan-released-seed0")["data"]["notes"]
    for text in (first, last, " ".join(notes)):
        assert text.startswith("SYNTHETIC data: no data was given and no PPI was found")
        assert "its scores say nothing about PPI" in text
    for text in (last, " ".join(notes)):
        assert "into ~/.local/share/gaancore/ppi or $GAANCORE_DATA/ppi" in text
    data = record(tmp_path / "runs" / "ppi-gaan-released-seed0")["data"]
    assert (data["kind"], data["path"]) == ("synthetic", None)
    assert outcome.out.count("SYNTHETIC") == 2
    assert "ceiling on test" in outcome.out


def test_a_run_on_built_in_data_ends_by_itself(gaancore, tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "ppi", replace(TASKS["ppi"], epochs=1))
    options = [option for option in TINY if "epochs" not in option]
    assert gaancore("train", *options, "--out", "run").code == 0
    assert record(tmp_path / "run")["epochs"] == 1


def test_even_a_quiet_synthetic_run_says_so(gaancore):
    outcome = gaancore("train", *TINY, "--quiet", "--out", "run")
    assert [line.split()[0] for line in outcome.lines] == ["SYNTHETIC", "run:", "SYNTHETIC"]


def test_ppi_in_the_data_folder_is_found_and_used(gaancore, tmp_path, monkeypatch):
    monkeypatch.setenv("GAANCORE_DATA", str(tmp_path / "mine"))
    (tmp_path / "mine" / "ppi").mkdir(parents=True)
    path = write_small_npz(tmp_path / "mine" / "ppi" / "any.npz")
    outcome = gaancore("train", *OPTIONS, "--out", "run")
    assert "SYNTHETIC" not in outcome.out
    assert outcome.lines[0].startswith(f"data: {path}: 120 nodes, ")
    data = record(tmp_path / "run")["data"]
    assert (data["kind"], data["path"]) == ("real", str(path))


def test_a_run_prints_its_data_its_notes_its_model_and_its_scores(gaancore, data, tmp_path):
    outcome = gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run")
    assert (outcome.code, outcome.err) == (0, "")
    expected, dataset = record(tmp_path / "run"), small_dataset()
    counts = f"{dataset.num_nodes} nodes, {dataset.num_edges} arcs, 6 features, 5 classes"
    assert outcome.lines[0] == (
        f"data: {data}: {counts}; train 72, validation 24, test 24 nodes"
    )  # fmt: skip
    assert "note: layout: one npz file" in outcome.lines
    assert f"model: gaan, variant released, {expected['num_parameters']} param" in outcome.out
    assert f"│ test                        │ {expected['test']['micro_f1']:.4f}" in outcome.out
    assert (
        f"│ majority on test            │ {expected['baselines']['majority']['micro_f1']:.4f}"
        in outcome.out
    )
    assert f"written: {Path('run') / 'record.json'}" in outcome.lines
    files = {"settings.json", "last.safetensors", "best.safetensors", "log.jsonl", "record.json"}
    files |= {"log.csv"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == files | {".lock"}


def test_nothing_moves_and_nothing_is_coloured_where_there_is_no_terminal(
    gaancore, data, monkeypatch
):
    assert (
        "\x1b" not in gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "a").out
    )
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in gaancore("train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "b").out


def test_quiet_prints_the_result_line_only(gaancore, data, tmp_path):
    outcome = gaancore(
        "train", "--task", "ppi", "--data", data, *OPTIONS, "--out", "run", "--quiet"
    )
    assert outcome.out == f"run: test micro-F1 {record(tmp_path / 'run')['test']['micro_f1']:.4f}\n"
    assert outcome.err == ""


def test_a_model_no_better_than_the_majority_is_warned_of(gaancore, data, tmp_path):
    options = ["train", "--task", "ppi", "--data", data, *OPTIONS, "--set=epochs=1", "--model=fnn"]
    outcome = gaancore(*options, "--lr", "1e-9", "--set=lr_floor=1e-9", "--out", "run")
    worse = record(tmp_path / "run")
    assert worse["test"]["micro_f1"] <= worse["baselines"]["majority"]["micro_f1"]
    assert "warning: no better than the majority" in outcome.lines[-1]
    better = gaancore(*options, "--set=epochs=60", "--lr", "0.02", "--out", "better").out
    assert "majority on test" in better
    assert "warning: no better" not in better


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_and_variant_trains(gaancore, data, tmp_path, model, variant):
    options = [*small_options(epochs=2), "--model", model, "--variant", variant]
    assert gaancore("train", "--task", "ppi", "--data", data, *options, "--quiet").code == 0
    made = record(tmp_path / "runs" / f"ppi-{model}-{variant}-seed0")
    assert (made["model"], made["variant"], made["epochs"]) == (model, variant, 2)


def test_the_name_of_a_run_is_one_that_every_file_system_takes(gaancore, data, tmp_path):
    for _ in range(3):
        gaancore("train", "--task", "ppi", "--data", data, *TINY, "--seed", "3")
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names == [f"ppi-gaan-released-seed3{n}" for n in ("", "-2", "-3")]
    assert not set('<>:"/\\|?*') & set("".join(names))


def test_brackets_in_a_path_are_printed_as_they_are(gaancore, data, tmp_path):
    outcome = gaancore(
        "train", "--task", "ppi", "--data", data, *TINY, "--out", "[bold] :smile: [/x]"
    )
    assert outcome.code == 0
    assert "run: [bold] :smile: [/x]" in outcome.lines


def test_one_two_and_four_threads_give_the_same_bits(gaancore, tmp_path):
    for count in (1, 2, 4):
        gaancore("train", "--threads", count, "--epochs=1", "--out-dim=32", "--out", str(count))
    runs = [contents(tmp_path / name) for name in "124"]
    assert runs[0] == runs[1] == runs[2]


def test_options_win_over_the_config_and_set_wins_over_both(gaancore, data, tmp_path):
    config = tmp_path / "my.toml"
    config.write_text(
        'model = "attention"\nseed = 1\nlr = 0.002\nepochs = 1\nbatch_size = 99\n', encoding="utf-8"
    )
    options = ["--config", config, "--seed", "2", "--lr", "0.003", "--set", "lr=0.004"]
    gaancore(
        "train", "--task", "ppi", "--data", data, *options, "--set", "key_dim = 5", "--out", "run"
    )
    used = record(tmp_path / "run")["settings"]
    assert (used["model"], used["epochs"], used["batch_size"]) == ("attention", 1, 99)  # config
    assert (used["seed"], used["lr"], used["key_dim"]) == (2, 0.004, 5)  # option; --set; --set
    assert used["num_heads"] == 8  # default


def test_a_low_rate_needs_a_low_floor_beside_it_and_then_works(gaancore, refused, data):
    options = ["train", "--task", "ppi", "--data", data, *TINY, "--lr", "1e-4"]
    assert "lr: expected 0 < lr_floor <= lr" in refused(*options)
    assert gaancore(*options, "--set", "lr_floor=1e-5").code == 0


def test_the_help_of_every_option_states_its_default(gaancore):
    for command in ("train", "evaluate"):
        outcome = gaancore(command, "--help")
        assert outcome.code == 0
        options = outcome.out.split("Options:\n")[1].split("\n  -")
        for text in options:
            if "--help" not in text:
                assert "[default: " in " ".join(text.split()), text


def test_help_and_version_need_no_data(gaancore):
    assert "train" in gaancore("--help").out
    assert gaancore("--version").out.startswith("gaancore, version ")
    assert gaancore().code == 2


def test_a_run_is_written_for_tensorboard_where_it_is_asked_for(
    gaancore, refused, data, tmp_path, monkeypatch
):
    options = ["train", "--task", "ppi", "--data", data, *OPTIONS, "--tensorboard"]
    assert gaancore(*options, "--out", "run").code == 0
    assert [path.name[:20] for path in (tmp_path / "run" / "tensorboard").iterdir()] == [
        "events.out.tfevents."
    ]
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert refused(*options, "--out", "other") == (
        "--tensorboard: the package that writes for it is missing; pip install tensorboardX"
    )
    assert not (tmp_path / "other").exists()
