"""Settings: what is valid, how layers come together, and what a wrong one is told."""

import math
from dataclasses import asdict

import pytest

from gaancore.errors import SettingsError
from gaancore.training.choices import differences, read_config, shipped_recipes, with_changes
from gaancore.training.nodes.settings import NodeSettings, task_settings


def test_the_defaults_are_the_papers_for_ppi():
    s = NodeSettings()
    assert (s.embed_dim, s.out_dim, s.num_heads, s.key_dim, s.gate_dim) == (64, 128, 8, 24, 64)
    assert (s.value_dims, s.batch_size, s.fanouts, s.dropout) == ([32, 32], 512, (-1, -1), 0.1)
    assert (s.lr, s.lr_floor, s.lr_factor) == (0.01, 0.001, 0.5)
    assert (s.decay_patience, s.stop_patience, s.clip_norm) == (15, 30, 0)
    assert (s.model, s.variant, s.attention_dropout, s.normalize) == ("gaan", "released", 0, "none")


def test_reddits_defaults_are_the_papers():
    s = task_settings("reddit")
    assert (s.normalize, s.embed_dim, s.out_dim, s.key_dim, s.gate_dim) == (
        "standard",
        256,
        128,
        32,
        64,
    )
    assert (s.heads, s.value_dims) == ([1, 4], [512, 128])
    assert (s.batch_size, s.fanouts, s.eval_fanouts) == (512, (25, 10), (25, 10))
    assert (s.dropout, s.attention_dropout, s.clip_norm) == (0.1, 0.5, 1.0)
    assert (s.lr, s.lr_floor, s.lr_factor) == (0.001, 0.0001, 0.5)
    assert (s.decay_patience, s.stop_patience, s.unflagged) == (4, 10, "error")
    assert s.steps_between_validations(153_431, 300) == 100
    assert task_settings("ppi") == NodeSettings()


def test_on_reddit_what_the_text_and_the_counts_say_differs():
    asked = ("--set", {"variant": "paper", "model": "pairwise-tanh"})
    as_printed = task_settings("reddit", asked)
    assert (as_printed.heads, as_printed.value_dims) == ([8, 8], [256, 256])
    assert task_settings("reddit", ("--variant", {"variant": "paper"})).attention_dropout == 0
    assert task_settings("reddit", ("--model", {"model": "avg-pool"})).attention_dropout == 0
    assert task_settings("reddit", ("--heads", {"num_heads": 2})).heads == [1, 2]


def test_reddit_is_scored_with_the_fanouts_of_training_unless_others_are_asked_for():
    wider = ("--fanouts", {"fanouts": "50,20"})
    assert task_settings("reddit", wider).eval_fanouts == (50, 20)
    assert task_settings("reddit", wider, ("a", {"eval_fanouts": "-1"})).eval_fanouts == (-1,)
    assert task_settings("ppi", wider).eval_fanouts == (-1,)
    assert task_settings("reddit", ("a", {"fanouts": (5, 5, 5)})).eval_fanouts == (5, 5, 5)


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_the_width_of_attention_values_is_256_over_all_heads(heads):
    for model in ("gaan", "attention"):
        assert NodeSettings(num_heads=heads, model=model).value_dims == [256 // heads] * 2


def test_the_other_models_have_the_widths_that_the_parameter_counts_pin():
    assert NodeSettings(model="max-pool").value_dims == [512, 512]
    assert NodeSettings(model="pairwise-tanh").value_dims == [64, 64]
    assert NodeSettings(model="pairwise-tanh", value_dim=7).value_dims == [7, 7]


def test_patience_counts_hundreds_of_steps_of_512_nodes_as_released_and_epochs_as_printed():
    ppi = (44_906, 88)  # training nodes and steps of 512 in an epoch
    assert NodeSettings().steps_between_validations(*ppi) == 100
    assert NodeSettings(variant="paper").steps_between_validations(*ppi) == 88
    assert (
        NodeSettings(batch="graphs").steps_between_validations(44_906, 20) == 23
    )  # 2,245 nodes each
    assert NodeSettings(validate_every=7).steps_between_validations(*ppi) == 7
    assert NodeSettings(validate_every=0).steps_between_validations(*ppi) == 88
    assert NodeSettings().steps_between_validations(num_nodes=10**9, steps_per_epoch=1) == 1


def test_a_later_layer_wins_and_text_becomes_the_settings_type():
    first = ("config.toml", {"lr": 0.02, "num_heads": 4, "model": "attention"})
    second = ("--set", {"num_heads": "2", "fanouts": "25, 10", "lr": "2e-2"})
    s = with_changes(NodeSettings(), first, second)
    assert (s.lr, s.num_heads, s.model, s.fanouts) == (0.02, 2, "attention", (25, 10))
    assert with_changes(NodeSettings(), ("a", {"fanouts": [5, -1]})).fanouts == (5, -1)


def test_only_what_comes_out_at_the_end_has_to_be_valid():
    low = with_changes(NodeSettings(), ("--lr", {"lr": 0.0005}), ("--set", {"lr_floor": "0.0001"}))
    assert (low.lr, low.lr_floor) == (0.0005, 0.0001)
    assert with_changes(NodeSettings(), ("a", {"seed": -1}), ("b", {"seed": 1})).seed == 1


def test_settings_come_back_from_the_json_of_a_run():
    s = NodeSettings(fanouts=(3, 2), lr=0.1 + 0.2, clip_norm=1.0)
    as_in_json = asdict(s) | {"fanouts": [3, 2]}
    assert with_changes(NodeSettings(), ("settings.json", as_in_json)) == s


REFUSED = {
    "an unknown name": ({"learning_rate": 1}, "learning_rate: no such setting; known: task, model"),
    "text for a number": ({"num_heads": "x"}, "num_heads: expected a whole number, got 'x'"),
    "a fraction": ({"num_heads": 1.5}, "num_heads: expected a whole number, got 1.5"),
    "a truth value": ({"seed": True}, "seed: expected a whole number, got True"),
    "text for a rate": ({"lr": "fast"}, "lr: expected a number, got 'fast'"),
    "a number for text": ({"model": 3}, "model: expected one of gaan, attention, "),
    "a truth value for text": ({"model": True}, "model: expected text, got True"),
    "a table": ({"lr": {"a": 1}}, "lr: expected a number, got {'a': 1}"),
    "garbage fan-outs": ({"fanouts": "a,b"}, "fanouts: expected numbers such as 25,10, got 'a,b'"),
    "fractions as fan-outs": ({"fanouts": [2.5]}, "fanouts: expected numbers such as 25,10, got"),
    "one fan-out": ({"fanouts": 5}, "fanouts: expected numbers such as 25,10, got 5"),
    "no fan-outs": ({"fanouts": []}, "fanouts: expected one number per aggregator, such as -1,-1"),
    "a low fan-out": ({"fanouts": "-2,1"}, "fanouts: expected -1 (all) or 0 and more, got (-2, 1)"),
    "eval fan-outs": ({"eval_fanouts": "-3"}, "eval_fanouts: expected -1 (all) or 0 and more, got"),
    "three for two": (
        {"eval_fanouts": "1,2,3"},
        "eval_fanouts: expected one number, or as many as",
    ),
    "another task": (
        {"task": "cora"},
        "task: expected one of ppi, reddit, labels, classes, got 'cora'",
    ),
    "negative heads": ({"first_heads": -1}, "first_heads: expected 0 or more, got -1"),
    "a model": ({"model": "gat"}, "model: expected one of gaan, attention, avg-pool,"),
    "a variant": ({"variant": "x"}, "variant: expected one of paper, released, got 'x'"),
    "no heads": ({"num_heads": 0}, "num_heads: expected 1 or more, got 0"),
    "a low batch": ({"batch_size": -1}, "batch_size: expected 0 or more, got -1"),
    "a low seed": ({"seed": -1}, "seed: expected 0 or more, got -1"),
    "negative epochs": ({"epochs": -1}, "epochs: expected 0 or more, got -1"),
    "a NaN norm": ({"clip_norm": "nan"}, "clip_norm: expected a number, got 'nan'"),
    "all dropped": ({"dropout": 1}, "dropout: expected 0 <= value < 1, got 1"),
    "a NaN dropout": ({"dropout": math.nan}, "dropout: expected a number, got nan"),
    "a NaN share": ({"split_shares": "60,nan,20"}, "split_shares: expected numbers such as"),
    "a low rate": ({"lr": 1e-4}, "lr: expected 0 < lr_floor <= lr and 0 < lr_factor < 1, got lr"),
    "an infinite rate": ({"lr": "inf"}, "lr: expected 0 < lr_floor <= lr"),
    "a NaN rate": ({"lr": "nan"}, "lr: expected a number, got 'nan'"),
    "validations": ({"validate_every": -2}, "validate_every: expected -1, 0 or more, got -2"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_value_is_refused_with_its_place_its_name_and_what_is_expected(changes, message):
    with pytest.raises(SettingsError) as refusal:
        with_changes(NodeSettings(), ("defaults", {"seed": 3}), ("my.toml", changes))
    assert str(refusal.value).startswith(f"my.toml: {message}")
    assert "\n" not in str(refusal.value)


def test_a_config_file_is_toml(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('model = "max-pool"\nlr = 0.002\nfanouts = [5, 3]  # few\n', encoding="utf-8")
    assert read_config(str(path)) == {"model": "max-pool", "lr": 0.002, "fanouts": [5, 3]}


@pytest.mark.parametrize("content", [b"lr 0.1", b"lr = ", b"\xff\xfe", b"{}", b"lr = 1\nlr = 2"])
def test_a_config_that_is_not_toml_is_refused_by_name(tmp_path, content):
    path = tmp_path / "my.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"my.toml: not a TOML file: ") as refusal:
        read_config(str(path))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["missing.toml", ".", "x" * 300])
def test_a_config_that_cannot_be_read_is_refused_with_the_recipes_there_are(name):
    with pytest.raises(SettingsError, match=r"cannot be read .*no shipped recipe has this name"):
        read_config(name)


def test_every_shipped_recipe_is_valid():
    for name in shipped_recipes():
        task_settings("classes", (name, read_config(name)))


def test_a_shipped_recipe_is_found_by_name_and_a_file_of_that_name_wins(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "ppi-small.toml").write_text("epochs = 1\n", encoding="utf-8")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)
    assert shipped_recipes() == ["ppi-small"]
    assert read_config("ppi-small") == {"epochs": 1}
    (tmp_path / "ppi-small").write_text("epochs = 2\n", encoding="utf-8")
    assert read_config("ppi-small") == {"epochs": 2}


def test_differences_name_each_setting_with_both_values():
    assert differences(NodeSettings(), NodeSettings()) == []
    assert differences(NodeSettings(), NodeSettings(lr=0.02, seed=3)) == [
        "seed: 0 -> 3",
        "lr: 0.01 -> 0.02",
    ]


@pytest.mark.parametrize("given", ["all,10", " all , 10", ["all", 10], (-1, 10)])
def test_all_is_a_word_for_every_neighbour(given):
    settings = task_settings("reddit", ("--fanouts", {"fanouts": given, "eval_fanouts": "all"}))
    assert (settings.fanouts, settings.eval_fanouts) == ((-1, 10), (-1,))


def test_other_settings_do_not_know_the_word_all():
    with pytest.raises(SettingsError, match=r"x: num_heads: expected a whole number, got 'all'"):
        task_settings("ppi", ("x", {"num_heads": "all"}))
