"""The bench of ranks as a reader runs it: it counts what a run does, and speaks to people."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi_runs import MPIEXEC, NEEDS_MPI
from ranks import on_ranks, results

from gaancore.data import TRAIN, open_store
from gaancore.data.parts.cut import write_parts
from gaancore.data.synthetic.reddit import write_synthetic_reddit
from gaancore.graph import sample_blocks
from gaancore.parallel import Team
from gaancore.seeding import derive_seed, generator

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import scale  # noqa: E402
import scale_model  # noqa: E402
import scale_run  # noqa: E402
from scale_model import Model, Network  # noqa: E402
from scale_work import Sampler, run_of  # noqa: E402


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A look-alike of Reddit with some 2,300 nodes."""
    folder = tmp_path_factory.mktemp("scale") / "store"
    write_synthetic_reddit(folder, 0, scale=0.01)
    return folder


def test_a_sampler_draws_what_a_run_learns_from_and_the_model_knows_its_bytes(store, monkeypatch):
    monkeypatch.setattr(scale_run, "WARM_UP", 1)
    pairs = results(on_ranks(2, lambda of: scale_run.measure(of, str(store), "reddit", 3, 1)))
    assert pairs[0] == pairs[1]
    (step,) = pairs[0]["steps"]
    (work,) = Sampler("reddit", str(store)).work(3, 1, first=1)
    assert [row["shares"] for row in step] == [1, 2]
    assert [[row["edges"], row["nodes"], 0] for row in step] == [
        work[:1].sum(axis=0).tolist(),
        work[1:].sum(axis=0).tolist(),
    ]
    for row in step:  # clocks stand inside each other
        inside = row["make"] + row["learn"] + sum(call[1] for call in row["calls"])
        assert 0 < row["sample"] < row["make"] < inside < row["step"]
    said = scale_model.talk(pairs[0]["numbers"], 3, 2)
    names = [call[0] for call in step[0]["calls"]]
    assert said.rounds == sum(scale_model.rounds(name, 2) for name in names)
    sizes = [size for _, _, size in scale_model.last_to_call(step)]
    assert said.bytes == pytest.approx(sum(sizes), abs=scale_model.GATHERED * scale_model.GATHERS)


def test_work_is_what_the_shares_draw_one_by_one(store):
    view = open_store(store).view(TRAIN)[0]
    seeds = generator(0, "order", 0).permutation(view.nodes(TRAIN))[512:1024]
    expected = []
    for share, part in enumerate((seeds[:170], seeds[170:341], seeds[341:])):
        key = derive_seed(0, "sampler", 0, 1, share)
        blocks = sample_blocks(view.graph, part, (25, 10), seed=key)
        expected.append([sum(block.num_edges for block in blocks), blocks[0].src_ids.size, 0])
    assert Sampler("reddit", str(store)).work(3, 1, first=1).tolist() == [expected]


@pytest.fixture(scope="module")
def parts(store: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same, cut in four."""
    folder = tmp_path_factory.mktemp("scale parts") / "parts"
    write_parts(folder, 4, lambda whole: open_store(store))
    return str(folder)


def test_what_ranks_read_of_a_store_in_parts_is_what_they_are_sent(parts, tmp_path):
    def sent(of: Team) -> list[Any]:
        transport = scale_run.Counted(of.transport)
        folder = tmp_path / str(of.rank)
        batches = run_of("reddit", parts, 3, folder, team=Team(transport, of.host)).batches
        transport.calls = []
        batches.step(1)
        return [call for call in transport.calls if call[0] == "trade"]

    found = results(on_ranks(2, sent))
    sampler = Sampler("reddit", parts)
    (work,) = sampler.work(3, 1, first=1, ranks=2)
    assert 0 < sampler.hits < 1
    assert sampler.most == 4
    # two layers, features and labels, each asked for and answered
    assert [len(trades) for trades in found] == [8, 8]
    received = sum(call[3] for trades in found for call in trades)
    assert received == pytest.approx(work[:, 2].sum(), rel=0.01)  # labels, and names of fields


def test_a_store_in_parts_has_no_more_machines_than_parts_and_talks_more(parts, store):
    model = Model(0.0, 0.0, 0.0, 0.0, Network(0.0, 0.0), numbers=1000, trades=8)
    cut = list(scale.predictions(model, Sampler("reddit", parts), 1, 0.0))
    whole = list(scale.predictions(model, Sampler("reddit", str(store)), 1, 0.0))
    assert [row["machines"] for row in cut if row["scaling"] == "strong"] == [1, 2, 4]
    for of_parts, of_whole in zip(cut[:3], whole, strict=False):
        assert of_parts["edges"] == of_whole["edges"]  # the same bits are drawn
        assert (of_parts["hits"] is None) == (of_parts["machines"] == 1)
        if of_parts["machines"] > 1:
            assert of_parts["bytes"] > 10 * of_whole["bytes"]


def test_predictions_cut_a_batch_into_shares_or_give_each_machine_one(store):
    sampler = Sampler("reddit", str(store))  # of 1,534 training nodes
    model = Model(0.0, 1e-6, 0.0, 0.0, Network(0.0, 0.0), numbers=1000)
    rows = list(scale.predictions(model, sampler, 2, 0.0))
    weak = [row for row in rows if row["scaling"] == "weak"]
    strong = [row for row in rows if row["scaling"] == "strong"]
    assert [row["machines"] for row in strong] == scale.MACHINES
    assert [(row["machines"], row["seeds"]) for row in weak] == [(1, 512), (2, 1024)]
    alone = strong[0]["seconds_per_epoch"]
    assert alone[10] == pytest.approx(strong[0]["edges"] * 1e-6 * 1534 / 512)
    assert weak[0]["seconds_per_epoch"] == alone
    for row in rows[1:]:
        seconds = row["seconds_per_epoch"]
        if row["machines"] > 1:  # repeats, and uneven shares
            assert alone[10] / row["machines"] < seconds[400] < seconds[100] < seconds[10]


def test_a_step_has_no_more_seeds_than_there_are_training_nodes(store):
    sampler = Sampler("reddit", str(store))
    sampler.batch_size = 2000  # of 1,534
    rows = list(scale.predictions(Model(1.0, 0.0, 0.0, 0.0, Network(0.0, 0.0), 8), sampler, 1, 0.0))
    assert {row["seeds"] for row in rows} == {1534}
    assert [row["machines"] for row in rows] == [*scale.MACHINES, 1]
    assert rows[0]["seconds_per_epoch"] == rows[-1]["seconds_per_epoch"] == {10: 1, 100: 1, 400: 1}


def test_a_machine_with_fewer_cpus_than_its_ranks_need_is_named():
    def crowded(threads: int) -> list[str]:
        hosts = ["one", "two", "two"]
        return results(on_ranks(3, lambda of: scale_run.crowded(of, threads), hosts=hosts))

    assert crowded(10**6)[0].startswith("one has ")
    assert len(set(crowded(10**6))) == 1  # all ranks know, so none goes on alone


def test_one_rank_of_one_thread_is_never_crowded():
    assert results(on_ranks(1, lambda of: scale_run.crowded(of, 1))) == [""]


def test_what_was_counted_is_what_other_ranks_had():
    def talk(of: Team) -> list[Any]:
        counted = scale_run.Counted(of.transport)
        counted.gather(np.zeros(3 if of.rank else 1, np.uint8))
        rows = np.zeros((2, 3 - of.rank, 5), np.float32)
        counted.exchange(rows, [3, 2])
        counted.collect(np.zeros(7))
        return [(name, sent, received) for name, _, sent, received in counted.calls]

    first, second = results(on_ranks(2, talk))
    assert first == [("gather", 1, 3), ("exchange", 60, 40), ("collect", 56, 56)]
    assert second == [("gather", 3, 1), ("exchange", 40, 60), ("collect", 56, 56)]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Exit code, output and errors of the script with some arguments, in this process."""

    def of(*options: object) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["scale.py", *map(str, options)])
        code: Any = 0
        try:
            scale.main()
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return of


def test_the_table_of_shares_is_printed_without_an_mpi(said, store):
    code, out, errors = said(store, "--work", "1,4", "--steps", "2", "--launcher", "", "--markdown")
    assert (code, errors) == (0, "")
    header, ruler, *rows = out.splitlines()
    assert header == "| shares | edges | nodes whose features it reads |"
    assert ruler == "| --- | --- | --- |"
    work = {shares: Sampler("reddit", str(store)).work(shares, 2) for shares in (1, 4)}
    for row, (shares, of_steps) in zip(rows, work.items(), strict=True):
        cells = [int(cell.replace(",", "")) for cell in row.strip("| ").split("|")]
        assert cells[0] == shares
        assert cells[1:] == pytest.approx(
            of_steps.sum(axis=(0, 1))[:2] / 2, rel=5e-3
        )  # three digits


def test_a_step_that_is_cut_short_by_the_end_of_an_epoch_is_not_in_the_table(said, store):
    few = said(store, "--work", "2", "--steps", "2")  # of 1,534 training nodes, 512 in a step
    assert said(store, "--work", "2", "--steps", "20") == few


@pytest.mark.parametrize("launcher", ["", "no-such-launcher -f hosts"])
def test_without_an_mpi_nothing_is_measured_and_one_line_says_what_to_do(said, store, launcher):
    code, out, errors = said(store, "--launcher", launcher)
    assert (code, out) == (2, "")
    assert errors.startswith("no MPI here: pip install 'gaancore[mpi]', or name the launcher of")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--runs", "3:2"], "3:2: every rank needs a share"),
        (["--runs", "1:1,2:8"], "--held-out: is one of --runs, so it would be fitted"),
    ],
)
def test_runs_that_would_say_nothing_are_refused(said, store, options, words):
    code, _, errors = said(store, *options)
    assert code == 2
    assert words in errors.splitlines()[-1]


def test_data_that_are_not_there_are_refused_in_one_line(said, tmp_path):
    code, _, errors = said(tmp_path / "nowhere", "--work")
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.startswith(f"error: {tmp_path / 'nowhere'}: no such file or folder")


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="no mpi4py")
def test_a_launcher_that_fails_is_named_with_its_last_words(said, store):
    fails = f"{sys.executable} -c 'raise SystemExit(\"no ssh\")'"
    code, _, errors = said(store, "--launcher", fails)
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.startswith(f"error: {sys.executable} -c ")
    assert errors.endswith("exit code 1: no ssh\n")


def run(*options: object) -> subprocess.CompletedProcess[str]:
    """The script as a reader runs it."""
    command = [sys.executable, BENCH / "scale.py", *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


@pytest.mark.slow
@NEEDS_MPI
def test_ranks_are_measured_and_machines_predicted(store, tmp_path):
    options = ["--steps", "1", "--runs", "1:1,1:4", "--held-out", "1:2", "--launcher", MPIEXEC]
    files = ["--json", tmp_path / "scale.json", "--picture", tmp_path / "scale.svg"]
    done = run(store, *options, *files)
    assert done.returncode == 0, done.stderr
    assert "Check: 1 rank, 2 shares, which it was not fitted to: measured " in done.stdout
    assert "Predicted, not measured" in done.stdout
    assert b"<svg" in (tmp_path / "scale.svg").read_bytes()
    found = json.loads((tmp_path / "scale.json").read_text(encoding="utf-8"))
    assert found["machine"]["cores"] >= 1
    rows = found["rows"]
    assert [(row["ranks"], row["shares"], row["fitted"]) for row in rows] == [
        (1, 1, True),
        (1, 4, True),
        (1, 2, False),
    ]
    for row in rows:
        assert row["sent"] == row["received"] == row["waiting"] == row["talk"] == 0
        parts = ("sample", "gather", "learn", "rest")
        assert row["step"] == pytest.approx(sum(row[name] for name in parts))
        assert row["error"] == pytest.approx(row["predicted"] / row["step"] - 1)
    assert rows[0]["edges"] < rows[2]["edges"] < rows[1]["edges"]
    assert found["predicted"][-1]["scaling"] == "weak"


@pytest.mark.slow
@NEEDS_MPI
def test_too_many_ranks_for_a_machine_are_left_out_and_said_so(store):
    options = ["--steps", "1", "--threads", "1000000", "--launcher", MPIEXEC]
    done = run(store, "--runs", "1:1", "--held-out", "2:2", *options)
    assert done.returncode == 2
    assert done.stderr.startswith("error: nothing was measured: 1 rank, 1 share: left out, ")
