"""`gaancore train --task reddit`, `evaluate --eval-fanouts` and `sample` at the command line."""

import json

import numpy as np
import pytest
from small_reddit import small_classes
from small_run import small_options

FANOUTS = ("--fanouts", "4,3")


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "classes.npz"
    np.savez(path, **small_classes())
    return path


def test_a_run_on_reddit_trains_scores_and_can_be_scored_otherwise(gaancore, classes, tmp_path):
    train = ("train", "--task", "reddit", "--data", classes, *small_options(), *FANOUTS)
    outcome = gaancore(*train, "--out", "run", "--prefetch", 1)
    assert outcome.code == 0, outcome.err
    record = json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))
    assert (record["task"], record["settings"]["eval_fanouts"]) == ("reddit", [4, 3])
    again = json.loads(gaancore("evaluate", "run", "--json", "--prefetch", 0).out)
    assert again["test"] == record["test"]
    whole = json.loads(gaancore("evaluate", "run", "--json", "--eval-fanouts", "-1").out)
    assert set(whole["test"]) == {"micro_f1", "macro_f1"}


def test_evaluate_refuses_fanouts_that_do_not_fit(gaancore, refused, classes):
    gaancore("train", "--task", "reddit", "--data", classes, *small_options(), "--out", "run")
    line = refused("evaluate", "run", "--eval-fanouts", "1,2,3")
    assert line.startswith("--eval-fanouts: eval_fanouts: expected one number, or as many as")


def test_labels_of_the_other_task_are_refused(refused, data, classes):
    assert "one class per node" in refused("train", "--task", "ppi", "--data", classes)
    refused("train", "--task", "reddit", "--data", data)


def test_sample_prints_both_rows_of_table_one_beside_the_papers(gaancore, classes):
    outcome = gaancore("sample", classes, "--task", "reddit", "--repeats", 2)
    assert outcome.code == 0, outcome.err
    assert "not merged" in outcome.out
    assert "merged" in outcome.out
    assert outcome.out.count("paper, Reddit") == 2
    assert "1.9M" in outcome.out
    assert "70.7K" in outcome.out


def test_sample_counts_what_is_drawn(gaancore, classes):
    arrays = small_classes()
    src, dst = arrays["edge_index"]
    both = {tuple(edge) for edge in np.concatenate([[src, dst], [dst, src]], axis=1).T.tolist()}
    num_nodes = len(arrays["x"])
    command = ("sample", classes, "--fanouts", "-1", "--seeds", 1000, "--repeats", 3, "--json")
    found = json.loads(gaancore(*command).out)
    assert (found["num_nodes"], found["num_edges"]) == (num_nodes, len(both))
    apart, merged = found["rows"]
    assert apart["nodes"] == [num_nodes, num_nodes + len(both)]
    assert merged["nodes"] == [num_nodes, num_nodes]
    assert apart["edges"] == merged["edges"] == len(both)
    assert apart["paper"] is merged["paper"] is None


def test_sample_within_the_training_nodes_sees_no_others(gaancore, classes):
    command = ("sample", classes, "--fanouts", "-1,-1", "--nodes", "train", "--json")
    found = json.loads(gaancore(*command).out)
    assert found["num_nodes"] == np.count_nonzero(small_classes()["split"] == 0)


def test_sample_says_so_when_it_draws_from_the_built_in_data(gaancore):
    outcome = gaancore("sample", "--repeats", 1, "--seeds", 10, "--fanouts", "2")
    assert outcome.lines[0].startswith("SYNTHETIC data: no data was given")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fanouts", "a"), "--fanouts: fanouts: expected numbers such as 25,10, got 'a'"),
        (("--fanouts", "-2"), "--fanouts: fanouts: expected -1 (all) or 0 and more"),
    ],
)
def test_sample_refuses_wrong_fanouts(refused, classes, options, message):
    assert refused("sample", classes, *options).startswith(message)
