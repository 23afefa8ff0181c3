"""What a run may see, and what decides its bits."""

import numpy as np
import pytest
from small_run import contents, small_arrays, small_dataset, small_run
from threadpoolctl import threadpool_limits

from gaancore.choices import MODELS
from gaancore.data import TRAIN, synthetic_ppi
from gaancore.errors import SettingsError
from gaancore.system import threads
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.run_folder import RunFolder


def last_weights(folder, dataset=None, **changes) -> dict[str, bytes]:
    small_run(folder, dataset, **changes).train()
    return contents(folder)["last.safetensors"]


def test_training_lowers_the_loss_and_beats_the_majority(tmp_path):
    record = small_run(tmp_path, epochs=60, lr=0.02, dropout=0.0).train()
    losses = [line["loss"] for line in RunFolder(tmp_path).read_log()]
    assert losses[-1] < 0.7 * losses[0]
    assert record["validation"]["micro_f1"] > record["baselines"]["majority"]["micro_f1"] + 0.05


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


def test_no_two_steps_of_any_epoch_drop_the_same(tmp_path, monkeypatch):
    run, seeds = small_run(tmp_path, epochs=3), []
    original = type(run.model).layer

    def layer(self, number, h, block, seed=None):
        seeds.append(seed)
        return original(self, number, h, block, seed)

    monkeypatch.setattr(type(run.model), "layer", layer)
    run.train()
    in_training = [seed for seed in seeds[::2] if seed is not None]
    assert len(set(in_training)) == len(in_training) == 15
    assert None in seeds  # while scoring


@pytest.mark.parametrize("model", ["gaan", "max-pool", "fnn"])
def test_any_number_of_threads_gives_the_same_bits(tmp_path, model, any_threads):
    found, dataset = [], synthetic_ppi()
    wide = {"batch_size": 1800, "embed_dim": 32, "out_dim": 32, "hidden_dim": 200, "value_dim": 16}
    with threadpool_limits(1, user_api="blas"):
        for count in (1, 2, 4):
            threads.set_num_threads(count)
            small_run(tmp_path / str(count), dataset, model=model, **wide).train()
            found.append(contents(tmp_path / str(count)))
    assert found[0] == found[1] == found[2]


def test_in_the_cooldown_the_rate_falls_in_a_straight_line_to_its_floor(tmp_path):
    run = small_run(
        tmp_path, epochs=10, validate_every=1, lr_cooldown=0.5, lr_floor=0.001, decay_patience=100
    )  # no plateau in so few steps
    steps = 10 * run.batches.steps_per_epoch
    run.train()
    rates = [line["lr"] for line in run.folder.read_log()]
    assert len(rates) == steps
    half = steps // 2
    assert rates[: half + 1] == [0.01] * (half + 1)
    expected = [0.001 + 0.009 * left / half for left in range(half - 1, 0, -1)]
    np.testing.assert_allclose(rates[half + 1 :], expected, rtol=1e-12)


def test_a_cooldown_without_a_number_of_epochs_is_refused():
    with pytest.raises(SettingsError, match="lr_cooldown: needs a number of epochs"):
        NodeSettings(lr_cooldown=0.2)
