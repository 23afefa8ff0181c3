"""A whole run: what it may see, what decides its bits, how it goes on, what it refuses."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_run import contents, small_arrays, small_dataset, small_run, small_settings
from threadpoolctl import threadpool_limits

from gaancore import threads
from gaancore.data import TEST, TRAIN, VALIDATION
from gaancore.errors import DataError, DeviceError, SettingsError, TrainingError
from gaancore.models.node_classifier import MODELS
from gaancore.train.classify import ClassifierRun, RunInterrupt, Watcher
from gaancore.train.record import RunFolder


def interrupted(run: ClassifierRun, step: int) -> None:
    """Train until the end of `step`."""
    run.watcher = Watcher(stop_requested=lambda: run.progress.step >= step)
    with pytest.raises(RunInterrupt):
        run.train()


def resumed(folder, dataset=None, **changes) -> ClassifierRun:
    run = ClassifierRun(small_settings(**changes), dataset or small_dataset(), RunFolder(folder))
    run.resume()
    return run


def weights(run: ClassifierRun) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in run.model.state().items()}


def last_weights(folder, dataset=None, **changes) -> dict[str, bytes]:
    small_run(folder, dataset, **changes).train()
    return contents(folder)["last.safetensors"]


def test_training_lowers_the_loss_and_beats_the_majority(tmp_path):
    record = small_run(tmp_path, epochs=60, lr=0.02, dropout=0.0).train()
    losses = [line["loss"] for line in RunFolder(tmp_path).read_log()]
    assert losses[-1] < 0.7 * losses[0]
    assert record["validation"]["micro_f1"] > record["majority"]["micro_f1"] + 0.1


@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_in_both_kinds_of_batch(tmp_path, model):
    for batch in ("seeds", "graphs"):
        record = small_run(tmp_path / batch, model=model, batch=batch, epochs=2).train()
        assert 0 <= record["test"]["micro_f1"] <= 1
        assert record["epochs"] == 2


def changed_outside_training() -> dict[str, dict[str, np.ndarray]]:
    """Other features, labels and edges for nodes that are not in training."""
    arrays = small_arrays()
    hidden = arrays["split"] != TRAIN
    rng = np.random.default_rng(1)
    features, labels = arrays["x"].copy(), arrays["y"].copy()
    features[hidden] = 1e3 * rng.standard_normal(features[hidden].shape)
    labels[hidden] = 1 - labels[hidden]
    src, dst = arrays["edge_index"]
    kept = ~hidden[src] & ~hidden[dst]
    new = rng.choice(np.flatnonzero(hidden), (2, 100))
    new[1, ::2] = rng.choice(np.flatnonzero(~hidden), 50)
    edges = np.concatenate([arrays["edge_index"][:, kept], new], axis=1)
    return {"x": {"x": features}, "y": {"y": labels}, "edges": {"edge_index": edges}}


@pytest.mark.parametrize("what", ["x", "y", "edges"])
@pytest.mark.parametrize("model", ["gaan", "fnn"])
def test_nothing_outside_training_changes_a_bit_of_the_weights(tmp_path, what, model):
    other = small_dataset(**changed_outside_training()[what])
    settings = {"model": model, "normalize": "standard", "epochs": 2, "fanouts": (3, 3)}
    before = last_weights(tmp_path / "a", **settings)
    assert last_weights(tmp_path / "b", other, **settings) == before


def test_a_training_node_does_change_the_weights(tmp_path):
    features = small_arrays()["x"]
    features[small_arrays()["split"] == TRAIN] += 0.1
    before = last_weights(tmp_path / "a", epochs=1)
    assert last_weights(tmp_path / "b", small_dataset(x=features), epochs=1) != before


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        small_run(tmp_path / name, seed=seed, attention_dropout=0.3, fanouts=(4, 3)).train()
    a, b, c = (contents(tmp_path / name) for name in "abc")
    assert a == b
    assert a["last.safetensors"] != c["last.safetensors"]


@pytest.mark.parametrize("model", ["gaan", "max-pool", "fnn"])
def test_any_number_of_threads_gives_the_same_bits(tmp_path, model, monkeypatch, any_threads):
    """As in a process prepared for training: BLAS has one thread, products are cut in pieces."""
    monkeypatch.setattr(threads, "blas_is_single_threaded", lambda: True)
    found = []
    wide = {"batch_size": 72, "embed_dim": 64, "out_dim": 64, "hidden_dim": 300, "value_dim": 32}
    with threadpool_limits(1, user_api="blas"):
        for count in (1, 2, 4):
            threads.set_num_threads(count)
            small_run(tmp_path / str(count), model=model, epochs=2, **wide).train()
            found.append(contents(tmp_path / str(count)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("changes", [
    {"epochs": 10, "decay_patience": 1, "stop_patience": 2, "lr_floor": 0.004},
    {"epochs": 10, "validate_every": 3, "batch": "graphs", "batch_size": 15},
    {"epochs": 10, "model": "max-pool", "fanouts": (3, 2), "clip_norm": 0.5},
])  # fmt: skip
@pytest.mark.parametrize("stops", [[25], [1, 2, 7, 24]])
def test_a_run_that_is_interrupted_and_resumed_ends_with_the_same_bits(tmp_path, changes, stops):
    record = small_run(tmp_path / "straight", **changes).train()
    assert record["steps"] > max(stops)
    interrupted(small_run(tmp_path / "parts", **changes), stops[0])
    for step in stops[1:]:
        interrupted(resumed(tmp_path / "parts", **changes), step)
    resumed(tmp_path / "parts", **changes).train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "straight")


def test_a_resumed_run_goes_on_with_the_lowered_rate_and_the_moments(tmp_path):
    changes = {"epochs": 0, "decay_patience": 0, "stop_patience": 3, "lr_floor": 0.001, "seed": 5}
    run = small_run(tmp_path, **changes)
    interrupted(run, 20)
    assert run.schedule.lr < 0.01
    again = resumed(tmp_path, **changes)
    assert asdict(again.schedule) == asdict(run.schedule)
    assert asdict(again.progress) == asdict(run.progress)
    assert again.optimizer.steps == 20
    for name, moment in run.optimizer.state().items():
        assert_array_equal(again.optimizer.state()[name], moment)
    assert moment.any()


def test_a_run_stops_early_at_the_floor_and_says_so(tmp_path):
    changes = {"epochs": 0, "decay_patience": 1, "stop_patience": 2, "lr_floor": 0.004}
    record = small_run(tmp_path, **changes).train()
    log = RunFolder(tmp_path).read_log()
    assert record["stopped_early"]
    assert log[-1]["lr"] == 0.004
    assert [line["best"] for line in log[-3:]] == [False] * 3
    assert len(log) == record["epochs"]


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
    again = resumed(tmp_path, epochs=30, lr=0.05)
    again.load_best()
    assert asdict(again.score(VALIDATION)) == record["validation"]
    assert asdict(again.score(TEST)) == record["test"]


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
    assert set(record["versions"]) == {"gaancore", "python", "numpy", "scipy", "numba"}
    assert record["settings"]["variant"] == "paper"


def test_each_validation_is_a_line_with_the_mean_loss_of_the_steps_since_the_last(tmp_path):
    run, losses = small_run(tmp_path, validate_every=2, epochs=2), []
    run.watcher = Watcher(on_step=lambda facts: losses.append(facts["loss"]))
    run.train()
    log = RunFolder(tmp_path).read_log()
    assert [line["step"] for line in log] == [2, 4, 6, 8, 10]
    assert [line["epoch"] for line in log] == [0.4, 0.8, 1.2, 1.6, 2.0]
    pairs = [(losses[i] + losses[i + 1]) / 2 for i in range(0, 10, 2)]
    assert [line["loss"] for line in log] == pytest.approx(pairs, rel=1e-12)


def test_the_end_is_validated_even_between_two_validations(tmp_path):
    small_run(tmp_path, validate_every=4, epochs=2).train()
    assert [line["step"] for line in RunFolder(tmp_path).read_log()] == [4, 8, 10]


def test_a_run_that_was_killed_before_it_saved_starts_over(tmp_path):
    small_run(tmp_path / "straight").train()
    run = small_run(tmp_path / "killed")
    run.folder.append_log({"step": 5, "from": "a validation whose state was not saved any more"})
    (tmp_path / "killed" / "last.safetensors.123.part").write_bytes(b"half")
    resumed(tmp_path / "killed").train()
    assert contents(tmp_path / "killed") == contents(tmp_path / "straight")


def test_a_log_that_is_ahead_of_the_state_is_cut_back(tmp_path):
    small_run(tmp_path / "straight").train()
    run = small_run(tmp_path / "killed")
    interrupted(run, 7)
    run.folder.append_log({"step": 10, "from": "the killed process"})
    with run.folder.log_file.open("a", encoding="utf-8") as file:
        file.write('{"step": 1')
    resumed(tmp_path / "killed").train()
    assert contents(tmp_path / "killed") == contents(tmp_path / "straight")


def test_resuming_a_finished_run_writes_the_record_again(tmp_path):
    small_run(tmp_path).train()
    before = contents(tmp_path)
    (tmp_path / "record.json").unlink()
    run = resumed(tmp_path)
    run.watcher = Watcher(on_step=lambda facts: pytest.fail("a step was done again"))
    run.train()
    assert contents(tmp_path) == before


def test_a_checkpoint_of_another_model_is_refused_by_name(tmp_path):
    interrupted(small_run(tmp_path), 2)
    for changes in ({"model": "attention"}, {"out_dim": 7}):
        with pytest.raises(DataError, match=r"last.safetensors: not a checkpoint of this run") as e:
            resumed(tmp_path, **changes)
        assert "\n" not in str(e.value)


def test_a_gradient_that_is_not_finite_stops_the_run_and_leaves_the_last_good_state(tmp_path):
    run = small_run(tmp_path, epochs=3)
    interrupted(run, 7)
    saved = contents(tmp_path)
    run = resumed(tmp_path, epochs=3)
    before, broken = weights(run), run.model.layers[1].gate.output.bias
    run.view.features[:] = np.float32(1e30)
    with np.errstate(all="ignore"), pytest.raises(TrainingError) as error:
        run.train()
    assert str(error.value).startswith("epoch 2, step 3 of 5: the gradient of embed.weight is not")
    assert "\n" not in str(error.value)
    assert weights(run) == before
    assert contents(tmp_path) == saved
    assert np.isfinite(broken.data).all()


def test_a_model_that_diverges_at_validation_names_the_step(tmp_path, monkeypatch):
    run = small_run(tmp_path)
    monkeypatch.setattr("gaancore.train.classify.infer", lambda *_: np.full((24, 5), np.nan))
    with pytest.raises(TrainingError, match=r"^validation after step 5: output 0 of node 0"):
        run.train()
    assert not run.folder.best.exists()


def test_weights_that_are_not_finite_are_never_saved(tmp_path):
    run = small_run(tmp_path)
    interrupted(run, 5)
    saved = contents(tmp_path)
    run = resumed(tmp_path)
    run.watcher = Watcher(stop_requested=lambda: True)
    run.optimizer.moment2["head.bias"][0] = np.inf
    with pytest.raises(TrainingError, match=r"last.safetensors: adam.moment2.head.bias is not fi"):
        run.train()
    assert contents(tmp_path) == saved


@pytest.mark.parametrize(("split", "name"), [(VALIDATION, "validation"), (TEST, "test")])
def test_data_without_nodes_to_choose_or_score_by_is_refused(tmp_path, split, name):
    labels = small_arrays()["split"]
    labels[labels == split] = TRAIN
    with pytest.raises(DataError, match=f"^small.npz: no {name} nodes; mark some"):
        small_run(tmp_path, small_dataset(split=labels))


def test_another_device_is_refused_before_anything_is_written(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(DeviceError, match="^device cuda: "):
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
    with pytest.raises(DataError, match=r"settings.json: damaged") as error:
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
