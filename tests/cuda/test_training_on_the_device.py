"""Training on a CUDA device, which the emulator plays by default: whole steps, whole runs."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulator.device import MODES, EmulatedCupy
from numpy.testing import assert_allclose
from scipy import sparse
from small_run import contents, resumed_run, run_until, small_dataset, small_run

from gaancore.array import Uploads, device_of, to_device, to_numpy
from gaancore.data import TEST
from gaancore.errors import TrainingError
from gaancore.graph import CSRGraph
from gaancore.models.node_classifier import MODELS, FeedForward, NodeClassifier
from gaancore.nn.aggregators import VARIANTS, AggregatorSpec
from gaancore.ops import bce_with_logits, softmax_cross_entropy
from gaancore.optim import Adam, clip_grad_norm
from gaancore.tensor import Tensor
from gaancore.training.nodes import batches
from gaancore.training.nodes.batches import Batch
from gaancore.training.nodes.inference import infer

NODES, IN_DIM, CLASSES = 44, 5, 4
WIDTHS = {"key_dim": 4, "gate_dim": 4, "attention_dropout": 0.3}
IN_FLOAT32, IN_FLOAT64 = ("float32", 1e-5), ("float64", 1e-12)
ON_CUDA = pytest.mark.parametrize(
    "device", ["emulated", pytest.param("gpu", marks=pytest.mark.gpu)], indirect=True
)
EPS = 1e-3  # of Adam: a gradient that is nothing but rounding (the keys' bias) moves nothing


def build(model: str, variant: str, dtype: str) -> NodeClassifier | FeedForward:
    rng = np.random.default_rng(0)
    if model == "fnn":
        network = FeedForward(IN_DIM, CLASSES, hidden_dim=8, rng=rng)
    else:
        layers = [
            AggregatorSpec(model, variant, num_heads=heads, value_dim=value_dim, **WIDTHS)
            for heads, value_dim in ((2, 4), (3, 5))
        ]
        network = NodeClassifier(
            IN_DIM, CLASSES, layers=layers, embed_dim=8, out_dim=8, dropout=0.1, rng=rng
        )
    return network.astype(dtype)


def batch(number: int, dtype: str, classes: bool) -> Batch:
    """A graph with isolated nodes, repeated edges and loops, drawn anew for each step."""
    rng = np.random.default_rng(number)
    src, dst = rng.integers(NODES - 4, size=(2, 200))
    block = CSRGraph.from_edges(src, dst, NODES, duplicates="keep").full_block()
    x = rng.standard_normal((NODES, IN_DIM)).astype(dtype)
    several = rng.integers(0, 2, (NODES, CLASSES), np.uint8)
    labels = rng.integers(0, CLASSES, NODES) if classes else several
    return Batch(np.arange(NODES), [block, block], x, labels, dropout_seed=number)


def train(device: str, network: Any, dtype: str, classes: bool, steps: int = 3) -> dict[str, Any]:
    """Some steps as ClassifierRun makes them: what is uploaded is one step ahead."""
    network.to(device)
    optimizer, uploads = Adam(network.named_parameters(), 0.01, eps=EPS), Uploads(device)
    loss_of = softmax_cross_entropy if classes else bce_with_logits

    def fetch(number: int) -> Batch:
        with uploads.beside():
            return batch(number, dtype, classes).to(device)

    losses, upcoming = [], fetch(0)
    for number in range(steps):
        now = upcoming
        loss = loss_of(network(Tensor(now.x), now.blocks, now.dropout_seed), now.labels)
        network.zero_grad()
        loss.backward()
        upcoming = fetch(number + 1)
        losses.append((float(loss.data), clip_grad_norm(network.named_parameters(), 0.1)))
        optimizer.step()
    for array in (*network.state().values(), *optimizer.state().values()):
        assert device_of(array) == device
        assert array.dtype == dtype
    state = {name: to_numpy(x) for name, x in network.state().items()}
    return {"losses": np.array(losses), **state}


@ON_CUDA
@pytest.mark.parametrize(("dtype", "tolerance"), [IN_FLOAT32, IN_FLOAT64], ids=["32", "64"])
@pytest.mark.parametrize("classes", [False, True], ids=["labels", "classes"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model", MODELS)
def test_whole_steps_of_every_model_agree_with_the_cpu(
    device, model, variant, classes, dtype, tolerance
):
    expected = train("cpu", build(model, variant, dtype), dtype, classes)
    actual = train(device, build(model, variant, dtype), dtype, classes)
    for name, wanted in expected.items():
        assert_allclose(actual[name], wanted, rtol=0, atol=tolerance, err_msg=name)


def test_a_step_gives_the_same_bits_for_every_order_of_threads(emulated):
    def bits(device: EmulatedCupy) -> dict[str, bytes]:
        with device.installed():
            out = train("cuda:0", build("gaan", "released", "float32"), "float32", False)
        return {name: array.tobytes() for name, array in out.items()}

    first = bits(emulated["ascending"])
    assert all(bits(emulated[mode]) == first for mode in MODES)


def test_a_block_takes_its_transpose_along_or_sends_it_later(emulated):
    block = batch(0, "float32", False).blocks[0]
    with emulated["random"].installed() as cupy:
        before = block.to("cuda:0")
        assert "transpose" not in vars(before)
        expected = [array.tolist() for array in block.transpose]
        after = block.to("cuda:0")
        assert "transpose" in vars(after)
        for there in (before, after):
            assert there.num_edges == block.num_edges == 200
            assert all(isinstance(array, cupy.ndarray) for array in there.transpose)
            assert [to_numpy(array).tolist() for array in there.transpose] == expected
            assert there.to("cpu") is block.to("cpu") is block


# ---- runs -----------------------------------------------------------------------------------


@ON_CUDA
def test_a_run_trains_validates_and_scores_on_the_device(tmp_path, device):
    record = small_run(tmp_path / "there", device="auto").train()
    assert record["device"] == device == "cuda:0"
    here = small_run(tmp_path / "here", device="cpu").train()
    assert here["device"] == "cpu"
    for part in ("validation", "test"):
        assert record[part]["micro_f1"] == pytest.approx(here[part]["micro_f1"], abs=5e-3)
    assert record["best_step"] > 0


@ON_CUDA
@pytest.mark.parametrize("options", [{}, {"batch": "graphs"}, {"model": "fnn"}], ids=str)
def test_a_run_that_is_stopped_and_resumed_ends_with_the_same_bits(tmp_path, device, options):
    options = {"device": device, **options}
    small_run(tmp_path / "whole", **options).train()
    run_until(small_run(tmp_path / "parts", **options), 2)
    resumed_run(tmp_path / "parts", **options).train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@ON_CUDA
def test_a_run_with_one_class_a_node_and_drawn_neighbours_agrees_with_the_cpu(tmp_path, device):
    several = small_dataset()
    dataset = replace(several, labels=several.labels.argmax(axis=1))
    drawn = {"task": "reddit", "fanouts": (3, 2), "eval_fanouts": (3, 2), "dropout": 0.2}
    losses = {}
    for place in ("cpu", device):
        small_run(tmp_path / place[:3], dataset, device=place, **drawn).train()
        lines = (tmp_path / place[:3] / "log.jsonl").read_text("utf-8").splitlines()
        losses[place] = [json.loads(line)["loss"] for line in lines]
    assert_allclose(losses[device], losses["cpu"], rtol=1e-4)


@ON_CUDA
def test_the_best_weights_score_the_same_on_either_device(tmp_path, device):
    run = small_run(tmp_path, device=device)
    scores = run.train()["test"]
    assert device_of(run.model.head.bias.data) == device
    there = resumed_run(tmp_path, device=device)
    there.load_best()
    assert there.scorer.score(there.model, TEST).micro_f1 == scores["micro_f1"]
    here = resumed_run(tmp_path, device="cpu")
    here.load_best()
    view, nodes = here.dataset, here.dataset.nodes(TEST)
    outputs = [
        infer(model, view.graph, view.features, nodes) for model in (here.model, there.model)
    ]
    assert all(isinstance(logits, np.ndarray) for logits in outputs)
    assert_allclose(outputs[0], outputs[1], atol=1e-5)


@ON_CUDA
@pytest.mark.parametrize("one_class", [False, True])
def test_a_run_against_learning_by_heart_agrees_with_the_cpu(tmp_path, device, one_class):
    dataset = small_dataset()
    if one_class:
        dataset = replace(dataset, labels=dataset.labels.argmax(axis=1))
    consistent = {"batch": "graphs", "batch_size": 0, "consistency": 0.5}
    against = {"weight_decay": 0.1, "input_dropout": 0.3, "label_smoothing": 0.2}
    against |= {"class_weight": "balanced", "normalize": "row", "transductive": True}
    against |= consistent if one_class else {}
    losses = {}
    for place in ("cpu", device):
        task = "classes" if one_class else "labels"
        small_run(tmp_path / place[:3], dataset, device=place, task=task, **against).train()
        lines = (tmp_path / place[:3] / "log.jsonl").read_text("utf-8").splitlines()
        losses[place] = [json.loads(line)["loss"] for line in lines]
    assert_allclose(losses[device], losses["cpu"], rtol=1e-4)


@ON_CUDA
@pytest.mark.parametrize("model", ["gaan", "fnn"])
def test_a_run_on_sparse_features_agrees_with_the_cpu(tmp_path, device, model):
    dense = small_dataset()
    few = np.where(dense.features > 1, dense.features, 0).astype(np.float32)
    dataset = replace(dense, features=sparse.csr_array(few))
    losses = {}
    for place in ("cpu", device):
        settings = {"device": place, "model": model, "input_dropout": 0.3}
        small_run(tmp_path / place[:3], dataset, **settings).train()
        lines = (tmp_path / place[:3] / "log.jsonl").read_text("utf-8").splitlines()
        losses[place] = [json.loads(line)["loss"] for line in lines]
    assert_allclose(losses[device], losses["cpu"], rtol=1e-4)


@pytest.mark.parametrize("seen", [True, False])
def test_features_that_stay_on_the_device_change_no_bit(tmp_path, emulated, monkeypatch, seen):
    """And a table whose rows are mixed up does, which is what this test sees."""
    options = {"epochs": 1, "normalize": "standard"}
    with emulated["ascending"].installed():
        kept = small_run(tmp_path / "kept", device="cuda", **options)
        assert "they are kept there" in kept.notes[-1]
        if not seen:
            table = kept.batches.table
            table[...] = to_device(np.roll(to_numpy(table), 1, axis=0), "cuda:0")
        kept.train()
        monkeypatch.setattr(batches, "SHARE", 0.0)
        sent = small_run(tmp_path / "sent", device="cuda", **options)
        assert "their rows are sent step by step" in sent.notes[-1]
        assert sent.batches.table is None
        sent.train()
    same = contents(tmp_path / "kept") == contents(tmp_path / "sent")
    assert same == seen


def test_a_gradient_that_is_not_finite_ends_a_run_one_step_later_and_names_its_own(
    tmp_path, emulated
):
    with emulated["ascending"].installed():
        run = small_run(tmp_path, device="cuda", epochs=2)
        step, count = run.forward, iter(range(100))

        def broken(model: Any, batch: Any, part: Any) -> Tensor:
            outputs = step(model, batch, part)
            return outputs * (np.inf if next(count) == 1 else 1.0)

        run.forward = broken
        before = f"epoch 1, step 2 of {run.steps_per_epoch}: the gradient of "
        with pytest.raises(TrainingError, match=before):
            run.train()
        assert next(count) == 3  # the third step was under way
        assert all(np.isfinite(to_numpy(x)).all() for x in run.model.state().values())
