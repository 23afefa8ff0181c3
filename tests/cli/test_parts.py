"""Stores in parts on the command line, and in several processes of a real MPI."""

import json
import re
import shutil

import numpy as np
import pytest
from mpi_runs import NEEDS_MPI, ended, start_ranks
from small_parts import write_both
from small_run import contents, small_arrays, small_options, write_small_npz

from gaancore.data.nodes.store.writer import StoreWriter

OPTIONS = ["--task=ppi", *small_options(epochs=2, shares=3, normalize="standard")]


@pytest.fixture
def parts(gaancore, data):
    """The small graph as a store, and cut."""
    assert gaancore("convert", data, "whole").code == 0
    assert gaancore("convert", "whole", "parts", "--parts", "3").code == 0
    return data.parent / "parts"


def weights(folder):
    return contents(folder)["best.safetensors"]


def test_files_are_cut_as_their_store_is(gaancore, data, parts, tmp_path):
    outcome = gaancore("convert", data, "again", "--parts", "3")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[1].startswith("3 parts of 40 to 40 nodes; ")
    assert outcome.lines[1].endswith("% of the arcs lead from one part to another")
    files = sorted(path.relative_to(parts) for path in parts.rglob("*.npy"))
    assert len(files) == 3 + 3 * 5
    for name in files:
        assert (tmp_path / "again" / name).read_bytes() == (parts / name).read_bytes()
    assert not [*tmp_path.glob("*.part")]
    assert not (tmp_path / "again" / "whole").exists()


def test_info_and_check_know_parts(gaancore, parts):
    whole = json.loads(gaancore("info", "whole", "--json").out)
    found = json.loads(gaancore("info", "parts", "--json").out)
    assert [nodes for nodes, _ in found["parts"]] == [40, 40, 40]
    assert 0 < found["crossing"] < 1
    for name, value in whole.items():
        assert found[name] == value or name == "data"
    table = gaancore("info", "parts").out
    assert "│ parts " in table
    assert f"{found['crossing']:.1%}" in table
    outcome = gaancore("check", "parts")
    assert outcome.code == 0
    assert outcome.lines[0].startswith("parts: 120 nodes, ")


def test_check_names_a_part_that_has_changed(refused, parts):
    features = np.load(parts / "part-002" / "features.npy")
    StoreWriter(parts / "part-002").save("features", features + 1)
    assert "part-002/features.npy: its checksum is " in refused("check", "parts")


def test_a_run_on_parts_is_that_on_the_whole_and_can_be_asked_there(
    gaancore, refused, parts, tmp_path
):
    outcome = gaancore("train", *OPTIONS, "--data=parts", "--out=a")
    assert (outcome.code, outcome.err) == (0, "")
    assert "120 nodes in 3 parts, " in outcome.out
    assert "% of the arcs lead from one part to another" in outcome.out
    assert "the guesses beside the score are left out" in outcome.out
    assert gaancore("train", *OPTIONS, "--data=whole", "--out=b").code == 0
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    for command in (["explain", "a"], ["report", "a"], ["explain", "b", "--data", "parts"]):
        assert "a store in parts, which train, predict, embed, evaluate, " in refused(*command)


ASKED = (
    ["predict", "RUN", "--out", "OUT.csv"],
    ["predict", "RUN", "--top-k", "2", "--out", "OUT.npz"],
    ["embed", "RUN", "--layer", "1", "--out", "OUT-first.csv"],
    ["embed", "RUN", "--out", "OUT-last.csv"],
)


@pytest.mark.parametrize("model", [[], ["--model=fnn"]], ids=["gaan", "fnn"])
def test_what_is_asked_on_parts_is_what_the_whole_says_under_the_files_own_ids(
    gaancore, parts, tmp_path, model
):
    options = [option for option in OPTIONS if not (model and option.startswith("--model"))]
    assert gaancore("train", *options, *model, "--data=parts", "--out=run").code == 0
    for command in ASKED:
        for out, data in (("x", []), ("y", ["--data", "whole"]), ("z", ["--data", "parts"])):
            words = [word.replace("RUN", "run").replace("OUT", out) for word in command]
            assert gaancore(*words, *data).code == 0
    for name in (".csv", ".npz", "-first.csv", "-last.csv"):
        here, whole, named = ((tmp_path / f"{out}{name}").read_bytes() for out in "xyz")
        assert here == whole == named, name
    ids = [line.split(",")[0] for line in (tmp_path / "x.csv").read_text("utf-8").splitlines()[1:]]
    assert sorted(map(int, ids)) == [*range(120)]
    assert ids != sorted(ids, key=int)  # the store has an order of its own


def both(folder, **changes):
    folder.mkdir()
    write_both(folder, small_arrays(seed=1) | changes, 2)


@pytest.fixture
def others(tmp_path, parts):
    """Another graph with the same columns, as a store and in parts, where a run is too."""
    both(tmp_path / "others")
    return parts


@NEEDS_MPI
def test_another_graph_in_parts_is_asked_as_the_same_one_whole(gaancore, others, tmp_path):
    assert gaancore("train", *OPTIONS, "--data=whole", "--out=run").code == 0
    asked = ["predict", "run", "--data", "others/whole", "--out", "whole.csv"]
    assert gaancore(*asked).code == 0
    asked = ["predict", "run", "--data", "others/parts", "--out"]
    assert gaancore(*asked, "one.csv").code == 0
    code, _, errors = ended(start_ranks(tmp_path, (2, [*asked, "two.csv"])))
    assert (code, errors) == (0, [])
    whole, one, two = ((tmp_path / f"{n}.csv").read_bytes() for n in ("whole", "one", "two"))
    assert whole == one == two


def test_what_is_wrong_with_another_graph_in_parts_is_one_line(gaancore, refused, others, tmp_path):
    assert gaancore("train", *OPTIONS, "--data=whole", "--out=run").code == 0
    words = refused("predict", "run", "--data", "others/parts", "--nan", "zero")
    assert words.startswith("--nan: ")
    words = refused("evaluate", "run", "--data", "others/parts")
    assert "another graph is predicted in parts, but scored whole; give the store that was" in words
    x = small_arrays(seed=1)["x"]
    both(tmp_path / "far", x=500 + x)
    told = gaancore("predict", "run", "--data", "far/parts", "--out", "far.csv")
    assert "warning: " in told.err + told.out
    far = "(in the first part, the only one compared); do they have the same units?"
    assert far in " ".join((told.err + told.out).split())
    both(tmp_path / "few", x=x[:, 1:])
    words = refused("predict", "run", "--data", "few/parts")
    assert "features: the run was trained on 6 a node, here are 5" in words


@pytest.mark.parametrize("drawn", [[], ["--eval-fanouts", "3,2"]], ids=["whole", "drawn"])
def test_scores_on_parts_are_those_on_the_whole_without_the_guesses(gaancore, parts, drawn):
    assert gaancore("train", *OPTIONS, "--data=parts", "--out=run").code == 0
    asked = ["evaluate", "run", "--split=train", "--split=test", "--per-class", "--json", *drawn]
    here, whole = (json.loads(gaancore(*asked, *d).out) for d in ([], ["--data=whole"]))
    assert here["train"] == whole["train"]
    assert here["test"] == whole["test"]
    assert {*here} == {"run", "data", "train", "test"}
    assert "the guesses beside the score are left out" in gaancore(*asked).err


def test_parts_that_have_changed_since_are_not_asked(gaancore, refused, parts, tmp_path):
    assert gaancore("train", *OPTIONS, "--data=parts", "--out=run").code == 0
    assert refused("evaluate", "run", "--prefetch=2", "--eval-fanouts=3,2").startswith(
        "--prefetch: batches of a store in parts are made by all processes together"
    )
    shutil.rmtree(parts)
    other = write_small_npz(tmp_path / "other.npz", x=np.ones((120, 6), np.float32))
    assert gaancore("convert", other, "parts", "--parts", "2").code == 0
    for command in ("predict", "embed", "evaluate"):
        assert "the data has changed since the run began" in refused(command, "run")


def test_a_run_goes_on_from_parts_to_the_whole_and_back(gaancore, parts, tmp_path):
    assert gaancore("train", *OPTIONS, "--data=whole", "--out=straight", "--epochs=4").code == 0
    assert gaancore("train", *OPTIONS, "--data=parts", "--out=run").code == 0
    assert gaancore("train", "--resume=run", "--epochs=3", "--data=whole").code == 0
    assert gaancore("train", "--resume=run", "--epochs=4").code == 0
    assert weights(tmp_path / "run") == weights(tmp_path / "straight")


def test_without_a_task_parts_get_settings_of_a_large_graph(gaancore, parts):
    outcome = gaancore("train", "--data=parts", "--epochs=1", *small_options(epochs=1)[2:])
    assert outcome.code == 0
    assert "task: labels (the data have several labels a node)" in outcome.lines
    assert "\nsettings for a graph in parts (120 nodes, " in outcome.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--batch", "graphs"], "--batch: a store in parts is trained on by nodes"),
        (["--self-loops", "drop"], "--self-loops: those of a store in parts are kept"),
        (["--prefetch", "2"], "--prefetch: batches of a store in parts are made by all processes"),
        (["--features", "learned"], "--features: learned ones need the whole graph"),
        (["--features", "ones"], "--features: a store in parts is a store, in which this is"),
        (["--label", "y"], "--label: a store in parts is a store, in which this is settled"),
    ],
)
def test_what_parts_cannot_do_is_refused(refused, parts, tmp_path, options, words):
    assert refused("train", "--task=ppi", "--data=parts", *options).startswith(words)
    assert not (tmp_path / "runs").exists()


def test_a_cache_is_for_parts_alone(refused, gaancore, parts):
    line = refused("train", "--data=whole", "--cache=5")
    assert line.startswith("--cache: rows are kept of a store in parts alone")
    assert gaancore("train", "--data=parts", "--cache=101").code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--split", "60,20,20"],
            "--split: whole is a store, in which this is settled; ",
        ),
        (["--nan", "zero"], "--nan: whole is a store, in which this is settled; "),
        (["--label", "y"], "--label: "),
        (["--parts", "121"], "--parts: expected 1 to 120, the number of nodes, got 121"),
    ],
)
def test_what_a_store_has_settled_is_refused_when_it_is_cut(
    refused, parts, options, words, tmp_path
):
    assert refused("convert", "whole", "other", "--parts", "2", *options).startswith(words)
    assert not (tmp_path / "other").exists()


def test_parts_are_not_cut_again(refused, parts):
    assert "parts: a store in parts, which" in refused("convert", "parts", "other", "--parts", "2")


@NEEDS_MPI
def test_processes_that_have_their_own_parts_alone_train_to_the_same_bits(
    gaancore, parts, tmp_path
):
    assert gaancore("train", *OPTIONS, "--data=whole", "--out=alone", "--quiet").code == 0
    for rank, number in enumerate((0, 1, 2)):
        there = tmp_path / f"disk{rank}" / "parts"
        shutil.copytree(parts, there, ignore=lambda _, names: {n for n in names if n[:4] == "part"})
        shutil.copytree(parts / f"part-00{number}", there / f"part-00{number}")
    train = ["train", *OPTIONS, "--out=run", "--cache=10"]
    groups = [(1, [*train, f"--data=disk{rank}/parts"]) for rank in range(3)]
    code, out, errors = ended(start_ranks(tmp_path, *groups))
    assert (code, errors) == (0, [])
    assert "3 processes read 3 parts, and each keeps the rows of 10.0% of the nodes" in out
    assert re.search(r"val F1 0\.\d{4}  cache hits \d+%", out)
    assert weights(tmp_path / "run") == weights(tmp_path / "alone")
    asked = ["predict", "run", "--out=ours.csv"]
    groups = [(1, [*asked, f"--data=disk{rank}/parts"]) for rank in range(3)]
    code, _, errors = ended(start_ranks(tmp_path, *groups))
    assert (code, errors) == (0, [])
    assert gaancore("predict", "alone", "--out=theirs.csv").code == 0
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()
    for line in (tmp_path / "run" / "log.jsonl").read_text("utf-8").splitlines():
        found = json.loads(line)
        assert 0 < found["own_rows"] < 1
        assert 0 < found["cache_hits"] < 1
        assert found["rows_fetched"] > 0


@NEEDS_MPI
def test_two_processes_name_a_part_that_is_missing_and_four_have_too_few(parts, tmp_path):
    shutil.rmtree(parts / "part-002")
    code, out, errors = ended(start_ranks(tmp_path, (2, ["train", *OPTIONS, "--data=parts"])))
    assert (code, out) == (2, "")
    (line,) = errors
    assert re.match(r"error: \S+part-002: no such part, but rank 1 on \S+ trains with it", line)
    code, out, errors = ended(start_ranks(tmp_path, (4, ["train", *OPTIONS, "--data=parts"])))
    assert (code, out) == (2, "")
    (line,) = errors
    assert "3 parts for 4 processes; cut it into 4 parts or more, or start 3 at most" in line
