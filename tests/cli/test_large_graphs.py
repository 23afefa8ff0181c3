"""Graphs larger than memory: what each command may hold of its own, by RLIMIT_DATA.

What is mapped of a file is not counted: the system takes it back when it wants to. What a process
allocates is, to the last page and at every moment (see tests/data/nodes/test_large_store.py).
"""

import multiprocessing
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from gaancore.data import open_store
from gaancore.data.files import arrays as files
from gaancore.data.nodes import checks, missing
from gaancore.data.nodes.inputs import inputs_of
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store import convert, features
from gaancore.data.summary import summarize_nodes
from gaancore.data.synthetic.large import write_synthetic_graph
from gaancore.errors import DataError
from gaancore.graph import arcs, csr, sample_blocks
from gaancore.graph.stream import rows
from gaancore.system import mapped
from gaancore.training.nodes import inference, predict
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.scorer import Scorer
from gaancore.training.nodes.settings import task_settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: RLIMIT_DATA")

SMALL = {"num_heads": 1, "first_heads": 1, "embed_dim": 64, "out_dim": 64, "key_dim": 4}
SMALL |= {"value_dim": 8, "gate_dim": 8}
POOL = {"model": "avg-pool", "fanouts": (5,), "eval_fanouts": (-1,), "embed_dim": 64}
POOL |= {"value_dim": 4, "out_dim": 64}
ROOM = 18_000_000  # bytes, where the graph has 24, the features 41, a layer's outputs 20 million


def as_arrays(store: Path, folder: Path) -> None:
    """The data of a store as a folder of .npy files: each edge once, by one of its ends."""
    folder.mkdir()
    for name, other in {"x": "features", "y": "labels", "split": "split"}.items():
        shutil.copy(store / f"{other}.npy", folder / f"{name}.npy")
    data = open_store(store)
    parts = [(src[src < dst], dst[src < dst]) for src, dst in data.graph.edge_chunks()]
    for number, name in enumerate(("src", "dst")):
        np.save(folder / f"{name}.npy", np.concatenate([part[number] for part in parts]))


def work(folder: Path) -> None:
    """Everything that commands do with a graph, once."""
    raw = read_layout(folder / "arrays")
    convert.write_store(raw, folder / "again", name="again", unflagged="context")
    data = open_store(folder / "again")
    assert data.features.dtype == np.float16
    summarize_nodes(data)
    data.facts()
    sample_blocks(data.graph, np.arange(64), [5, 5], seed=0)
    settings = task_settings("classes", ("", POOL))
    model = build_model(settings, data.num_features, data.num_classes)
    ones = np.zeros(data.num_features), np.ones(data.num_features)
    scorer = Scorer(data, ones, settings)
    assert 0 <= scorer.score(model, 1).micro_f1 <= 1
    where = (folder, settings, model, *ones, None, None)
    classifier = predict.Classifier(*where)
    classifier.probabilities(classifier.logits(inputs_of(data)))
    shutil.rmtree(folder / "again")


def work_in_little_room(folder: Path) -> None:
    """The same in pieces that are small beside the graph, and in ROOM."""
    for module, name, value in (
        (mapped, "LARGE", 1 << 20),
        (files, "MAPPED_FROM", 1 << 20),
        (csr, "EDGES_AT_A_TIME", 50_000),
        (arcs, "EDGES_AT_A_TIME", 50_000),
        (checks, "VALUES_AT_A_TIME", 400_000),
        (missing, "VALUES_AT_A_TIME", 400_000),
        (features, "VALUES_AT_A_TIME", 400_000),
        (sys.modules[summarize_nodes.__module__], "VALUES_AT_A_TIME", 400_000),
        (inference, "ROWS_AT_A_TIME", 2_000),
        (predict, "ROWS_AT_A_TIME", 2_000),
        (inference, "NUMBERS_AT_A_TIME", 1_000_000),
    ):
        assert hasattr(module, name)
        setattr(module, name, value)
    defaults = rows.write_undirected.__kwdefaults__
    assert defaults is not None
    defaults["entries_at_a_time"] = 500_000
    mapped.tempfile.tempdir = str(folder)
    work(folder / "warm")  # compiles
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    held = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (held + ROOM, held + ROOM))
    work(folder / "large")
    try:
        bytearray(2 * ROOM)
    except MemoryError:
        return
    raise AssertionError("the bound is none")


def test_no_command_holds_the_arcs_the_features_or_the_outputs_of_a_layer(tmp_path: Path) -> None:
    for name, nodes, num_arcs in (("warm", 2_000, 20_000), ("large", 80_000, 6_000_000)):
        (tmp_path / name).mkdir()
        store = tmp_path / name / "store"
        write_synthetic_graph(store, num_nodes=nodes, num_arcs=num_arcs, num_features=256)
        as_arrays(store, tmp_path / name / "arrays")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        process.submit(work_in_little_room, tmp_path).result()


def test_a_disk_without_room_for_a_temporary_file_is_an_error_and_not_the_end(
    tmp_path: Path,
) -> None:
    with (
        mapped.scratch_in(tmp_path) as scratch,
        pytest.raises(DataError, match=r"no room for a temporary file of .* GB .*TMPDIR"),
    ):
        mapped.in_a_file((1 << 52,), np.int64)
    assert scratch.bytes == 0
    assert list(tmp_path.iterdir()) == []


# A tenth of 4 GB, and 900 MB for what is held whatever the size: a process without data has 220,
# the rows that are put in order at a time 400, a step of training 400
LIMIT = 1_300_000_000


@pytest.mark.slow
def test_a_hundred_million_arcs_go_through_every_command_in_1300_mb(tmp_path: Path) -> None:
    """A tenth of a thousand million arcs: the graph and the features have 400 MB each, what a layer
    puts out has 770, and so have the logits and probabilities 490 each.
    """
    if shutil.disk_usage(tmp_path).free < 8e9:
        pytest.skip("needs 8 GB of disk")
    choices = [f"--set={name}={value}" for name, value in SMALL.items()]
    commands: list[list[str]] = [
        ["synth", "graph", "store", "--nodes", "3e6", "--arcs", "1e8"],
        ["convert", "arrays", "again", "--unflagged", "context"],
        ["info", "again"],
        ["sample", "again"],
        ["train", "--data", "again", "--out", "run", "--epochs", "1", *choices],
        ["predict", "run", "--out", "predictions.npz"],
    ]
    for command in commands:
        if command[0] == "convert":
            as_arrays(tmp_path / "store", tmp_path / "arrays")
            shutil.rmtree(tmp_path / "store")
        found = subprocess.run(
            [sys.executable, "-c", "from gaancore.cli.main import main; main()", *command],
            cwd=tmp_path,
            env={"PATH": "", "HOME": str(Path.home()), "TMPDIR": str(tmp_path)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT)),
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, f"{command}: {found.stdout}{found.stderr}"
