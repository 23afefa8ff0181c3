"""The microbenchmark: its reference is right, wrong ops are refused, figures are written."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import blocks, seeds

from gaancore.doctor import plain_loops as reference
from gaancore.kernels import cpu

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import segment_ops  # noqa: E402
import segment_peers  # noqa: E402
from scipy_segment_ops import ScipySegmentOps  # noqa: E402
from segment_cases import OPS, make_cases  # noqa: E402
from segment_profiles import EDGE_FEATURES, PROFILES  # noqa: E402
from timing import wall_seconds  # noqa: E402


@given(block=blocks(), K=st.integers(1, 3), seed=seeds())
def test_its_reference_agrees_with_plain_loops(block, K, seed):
    if block.num_edges == 0:
        return
    rng = np.random.default_rng(seed)
    N, S, E = block.num_dst, block.num_src, block.num_edges
    ops = ScipySegmentOps(block, np.float64)

    def agree(op, inputs, grad, expected, expected_grads):
        out, backward = getattr(ops, op)(*inputs)
        for got, wanted in zip((out, *backward(grad)), (expected, *expected_grads), strict=True):
            assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)

    scores, grad_edges = rng.standard_normal((2, E, K))
    queries, grad = rng.standard_normal((2, N, K, 5))
    keys, values = rng.standard_normal((2, S, K, 5))
    weights = reference.softmax(scores, block)
    agree(
        "softmax", (scores,), grad_edges,
        weights, (reference.softmax_gradient(weights, grad_edges, block),),
    )  # fmt: skip
    agree(
        "weighted_sum", (scores, values), grad,
        reference.weighted_sum(scores, values, block),
        (
            reference.edge_dot(grad, values, block),
            reference.weighted_sum_to_sources(scores, grad, block),
        ),
    )  # fmt: skip
    agree(
        "edge_dot", (queries, keys), grad_edges,
        reference.edge_dot(queries, keys, block),
        (
            reference.weighted_sum(grad_edges, keys, block),
            reference.weighted_sum_to_sources(grad_edges, queries, block),
        ),
    )  # fmt: skip
    agree(
        "attention", (queries, keys, values), grad,
        reference.attention(queries, keys, values, block, 1 / 5),
        reference.attention_gradients(grad, queries, keys, values, block, 1 / 5),
    )  # fmt: skip
    edges, to_keys, to_values = (rng.standard_normal(s) for s in ((E, 3), (3, K, 5), (3, K, 5)))
    given = (queries, keys, values, edges, to_keys, to_values)
    static = (block, 0.1, 1 / 5)
    by_nodes_and_edges = reference.edge_attention_gradients(grad, *given, *static)
    agree(
        "edge_attention", given, grad,
        reference.edge_attention(*given, *static),
        [x for n, x in enumerate(by_nodes_and_edges) if n != 3],  # not of the features
    )  # fmt: skip
    features = rng.permuted(np.tile(np.arange(S, dtype=float), (7, 1)), axis=1).T.copy()
    grad = rng.standard_normal((N, 7))
    largest, winners = reference.maximum(features, block)
    agree(
        "maximum", (features,), grad,
        largest, (reference.maximum_gradient(grad, winners, block),),
    )  # fmt: skip
    agree(
        "mean", (features,), grad,
        reference.mean(features, block), (reference.mean_gradient(grad, block),),
    )  # fmt: skip


def test_bytes_are_those_of_the_arrays_that_an_op_reads_and_writes():
    cases = {case.op: case for case in make_cases("tiny", list(OPS))}
    N, E = cases["mean"].block.num_dst, cases["mean"].block.num_edges
    K, A, D, F, B = 4, 16, 16, 64, EDGE_FEATURES
    links = 8 * (N + 1) + 4 * E
    moved = {op: [c["bytes"] for c in case.costs.values()] for op, case in cases.items()}
    assert moved == {
        "softmax": [4 * 2 * E * K + 8 * (N + 1), 4 * 3 * E * K + 8 * (N + 1)],
        "weighted_sum": [
            4 * (E * K + 2 * N * K * D) + links,
            4 * (2 * E * K + 3 * N * K * D) + links,
        ],
        "edge_dot": [
            4 * (E * K + 2 * N * K * A) + links,
            4 * (E * K + 4 * N * K * A) + links,
        ],
        "maximum": [4 * 3 * N * F + links, 4 * 3 * N * F],
        "mean": [4 * 2 * N * F + links, 4 * 2 * N * F + links],
        "attention": [
            4 * N * K * (2 * A + 2 * D) + links,
            4 * N * K * (4 * A + 4 * D) + links,
        ],
        "edge_attention": [
            4 * (N * K * (2 * A + 2 * D) + E * B + B * K * (A + D)) + links,
            4 * (N * K * (4 * A + 4 * D) + E * B + 2 * B * K * (A + D)) + links,
        ],
    }  # fmt: skip


def test_profiles_have_the_rows_that_they_are_named_for():
    hubs = PROFILES["power-law"].block(np.random.default_rng(0))
    degrees = np.diff(hubs.indptr)
    assert degrees.max() > 15_000
    assert np.count_nonzero(degrees == 0) >= 10_000
    sampled = PROFILES["reddit-b0"].block(np.random.default_rng(0))
    assert sampled.num_dst == 512
    assert np.diff(sampled.indptr).max() == 25
    again = PROFILES["reddit-b0"].block(np.random.default_rng(0))
    assert np.array_equal(sampled.indices, again.indices)


def test_a_run_prints_a_table_and_leaves_its_figures_and_a_picture(tmp_path):
    files = tmp_path / "figures.json", tmp_path / "roofline.png"
    options = ["--device", "cpu", "--profiles", "tiny", "--threads", "1", "--repeats", "3"]
    written = ["--json", files[0], "--plot", files[1]]
    command = [sys.executable, BENCH / "segment_ops.py", *options, *written]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "not run on a GPU: --device cpu" in done.stdout
    rows = json.loads(files[0].read_text())["rows"]
    ours = [row for row in rows if row["library"] == "gaancore"]
    assert [(row["op"], row["direction"]) for row in ours] == [
        (op, direction) for op in OPS for direction in ("forward", "backward")
    ]
    assert len(rows) == 2 * len(ours)  # SciPy beside each
    assert all(row["error"] <= 1e-5 and row["minimum"] <= row["median"] for row in rows)
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_the_ops_are_measured_on_a_gpu_on_inputs_that_take_turns(emulated, monkeypatch):
    monkeypatch.setattr(segment_ops, "_seconds_of", lambda place: wall_seconds)
    monkeypatch.setattr(segment_ops, "MOST_TURNS", 2)
    monkeypatch.setattr(segment_ops, "cuda_devices", lambda: [{"name": "emulated"}])
    with emulated["ascending"].installed():
        places, no_gpu = segment_ops._places("cuda", [1])
        rows = [
            row
            for case in make_cases("tiny", list(OPS))
            for row in segment_ops._time_here(case, places, 3)
            if row["library"] == "gaancore"
        ]
    assert no_gpu == ""
    assert len(rows) == 2 * len(OPS)
    assert all(row["device"] == "cuda:0" and row["error"] <= 1e-5 for row in rows)
    assert all(row["minimum"] > 0 for row in rows)


def test_an_op_that_is_wrong_is_not_timed(monkeypatch, capsys, any_threads):
    right = cpu.edge_dot
    monkeypatch.setattr(cpu, "edge_dot", lambda *args: right(*args) * np.float32(1.0001))
    monkeypatch.setattr(segment_ops, "COPIED", 1 << 16)
    options = ["--device", "cpu", "--profiles", "tiny", "--ops", "edge_dot,mean", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["segment_ops.py", *options])
    with pytest.raises(SystemExit, match="an op is wrong"):
        segment_ops.main()
    line = next(line for line in capsys.readouterr().out.splitlines() if "edge_dot f" in line)
    assert "wrong by 1.0e-04" in line


def test_a_peer_that_stops_leaves_what_it_has_measured(monkeypatch, tmp_path, capsys):
    script = tmp_path / "peer.py"
    script.write_text(
        'import sys\nprint(\'{"op": "mean"}\', flush=True)\nprint(\'{"op": "ma\', flush=True)\n'
        "if sys.argv[1].endswith('slow'):\n    import time; time.sleep(60)\nsys.exit('no memory')"
    )
    monkeypatch.setattr(segment_peers, "SCRIPT", script)
    monkeypatch.setattr(segment_peers, "PATIENCE", 2)
    for name, reason in (("quick", "no memory"), ("slow", "2 s are over")):
        folder = tmp_path / name
        folder.mkdir()
        assert segment_peers.peer_rows(sys.executable, folder, 1, {"ops": []}) == [{"op": "mean"}]
        assert capsys.readouterr().out.endswith(f"stopped: {reason}\n")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--ops", "sum"], "'sum' is none of softmax, weighted_sum"),
        (["--profiles", "ppi,pip"], "'pip' is none of ppi, reddit-b0"),
        (["--json", "no/such/file.json"], "no folder no/such"),
        (["--peer-python", "no/such/python"], "no/such/python: not there"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(monkeypatch, capsys, options, reason):
    monkeypatch.setattr(sys, "argv", ["segment_ops.py", *options])
    with pytest.raises(SystemExit) as end:
        segment_ops.main()
    assert end.value.code == 2
    assert reason in capsys.readouterr().err.splitlines()[-1]
