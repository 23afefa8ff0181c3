"""Training in one call is what the command line does, from memory too."""

import signal
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from small_run import contents, small_dataset, write_small_npz

import gaancore
from gaancore.errors import DataError, SettingsError

SIZES = {
    "embed_dim": 4,
    "out_dim": 6,
    "num_heads": 2,
    "key_dim": 3,
    "value_dim": 4,
    "gate_dim": 3,
    "epochs": 4,
    "validate_every": 0,
}


def trained(data, out, **more):
    return gaancore.train(data, out=out, verbose=False, device="cpu", **(SIZES | more))


def test_a_path_and_the_same_data_from_memory_train_to_the_same_bits(tmp_path):
    path = write_small_npz(tmp_path / "small.npz")
    trained(path, tmp_path / "by-path")
    trained(gaancore.load(path), tmp_path / "from-memory")
    by_path, from_memory = (contents(tmp_path / name) for name in ("by-path", "from-memory"))
    assert by_path["best.safetensors"] == from_memory["best.safetensors"]
    assert by_path["log.jsonl"] == from_memory["log.jsonl"]


def test_the_run_that_comes_back_answers_at_once(tmp_path):
    run = trained(small_dataset(), tmp_path / "run")
    assert isinstance(run, gaancore.NodeRun)
    assert run.predict().shape == (120, 5)
    assert run.evaluate()["test"]["micro_f1"] == pytest.approx(run.record["test"]["micro_f1"])


def test_a_run_on_data_from_memory_is_opened_with_the_data_again(tmp_path):
    data = replace(small_dataset(), path=None)
    run = trained(data, tmp_path / "run")
    again = gaancore.open_run(tmp_path / "run", data=data)
    assert again.predict_proba().tolist() == run.predict_proba().tolist()
    with pytest.raises(DataError, match="came from memory"):
        gaancore.open_run(tmp_path / "run").predict()
    other = small_dataset(x=np.ones((120, 6)))
    with pytest.raises(SettingsError, match="the data has changed"):
        gaancore.open_run(tmp_path / "run", data=other)


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path):
    data = small_dataset()
    trained(data, tmp_path / "whole")
    asked = []

    def interrupt(line):
        asked.append(line)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"resume_from='.*stopped'"):
        trained(data, tmp_path / "stopped", on_validation=interrupt)
    assert len(asked) == 1
    gaancore.train(data, resume_from=tmp_path / "stopped", verbose=False)
    assert contents(tmp_path / "whole") == contents(tmp_path / "stopped")


def test_a_thread_that_cannot_handle_signals_can_train(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(trained(small_dataset(), tmp_path / "r")))
    thread.start()
    thread.join()
    assert found[0].predict().shape == (120, 5)


def test_the_program_around_it_is_left_as_it_was(tmp_path):
    import gc

    before = gc.get_threshold(), list(warnings.filters), signal.getsignal(signal.SIGINT)
    trained(small_dataset(), tmp_path / "run")
    assert (gc.get_threshold(), list(warnings.filters), signal.getsignal(signal.SIGINT)) == before


def test_it_says_what_was_chosen_and_what_came_out_unless_told_not_to(tmp_path, capsys):
    gaancore.train(small_dataset(), out=tmp_path / "a", **SIZES)
    said = capsys.readouterr().out
    for words in ("data: ", "task: labels", "settings for a small graph", "model: gaan", "test mi"):
        assert words in said
    trained(small_dataset(), tmp_path / "b")
    assert capsys.readouterr().out == ""


def test_a_recipe_is_weaker_than_what_is_named(tmp_path):
    run = trained(small_dataset(), tmp_path / "run", config="small-graph")
    assert run.settings.batch == "graphs"
    assert run.settings.epochs == 4


def test_the_default_folder_is_named_by_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("labels-gaan-released-seed3", "labels-gaan-released-seed3-2"):
        assert trained(small_dataset(), None, seed=3).path.name == name


def test_data_without_test_nodes_are_trained_on_and_scored_by_validation(tmp_path, capsys):
    split = np.where(small_dataset().split == 2, 0, small_dataset().split)
    run = gaancore.train(small_dataset(split=split), out=tmp_path / "run", **SIZES)
    assert "test" not in run.record
    assert "validation micro-F1" in capsys.readouterr().out
    found = run.evaluate(["validation"])
    guesses = {f"{name} on validation": scores for name, scores in run.record["baselines"].items()}
    assert found == {"validation": run.record["validation"]} | guesses
    with pytest.raises(SettingsError, match="splits: the run's data have no test nodes"):
        run.evaluate()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epoch": 3}, r"^train: epoch: no such setting; known: task, model"),
        ({"num_heads": "many"}, r"^train: num_heads: expected a whole number, got 'many'"),
        ({"self_loops": "add"}, r"^train: self_loops: these data are read already"),
        ({"task": "classes"}, "task classes: expected one class per node"),
        ({"task": "cats"}, "task: expected one of ppi, "),
    ],
)
def test_a_refusal_names_the_argument(tmp_path, settings, message):
    with pytest.raises(SettingsError, match=message) as caught:
        gaancore.train(small_dataset(), out=tmp_path / "run", **settings)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_graph_without_labels_is_refused(tmp_path):
    graph = gaancore.from_scipy(np.ones((3, 3)), np.eye(3))
    with pytest.raises(DataError, match="train: data: no labels"):
        gaancore.train(graph, out=tmp_path / "run")


def test_a_run_predicts_a_graph_from_memory_that_has_no_labels(tmp_path):
    run = trained(small_dataset(), tmp_path / "run")
    graph = gaancore.from_scipy(np.ones((3, 3)), np.eye(3, 6))
    assert run.predict_proba(graph).shape == (3, 5)


def test_load_takes_the_options_of_reading(tmp_path):
    path = write_small_npz(tmp_path / "small.npz")
    loops = gaancore.load(path, self_loops="add")
    assert loops.num_edges == gaancore.load(path).num_edges + 120
    with pytest.raises(SettingsError, match="load: graph_kind: no such setting"):
        gaancore.load(path, graph_kind="directed")
