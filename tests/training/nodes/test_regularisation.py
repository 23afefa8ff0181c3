"""What keeps a network from learning few labels by heart, and what it may see of the others."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_reddit import small_classes, small_reddit, small_reddit_run, small_reddit_settings
from small_run import contents, resumed_run, run_until, small_run, small_settings

from gaancore.data import TRAIN, Features
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph
from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.tensor import Tensor
from gaancore.training.choices import with_changes
from gaancore.training.nodes import words
from gaancore.training.nodes.loss import NodeLoss, consistency_loss
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.run_folder import RunFolder

ALL = {
    "weight_decay": 0.1,
    "input_dropout": 0.3,
    "label_smoothing": 0.2,
    "class_weight": "balanced",
    "normalize": "row",
    "transductive": True,
}


def node_loss(labels: np.ndarray, classes: int, **changes: object) -> NodeLoss:
    """The loss learned on exactly these labels."""
    several = labels.ndim == 2
    having = labels.sum(axis=0) if several else np.bincount(labels, minlength=classes)
    return NodeLoss(small_settings(**changes), having, len(labels), several=several)


def loss_of(logits: np.ndarray, labels: np.ndarray, classes: int, **changes: object):
    """The value and the gradient of a loss learned on exactly these labels."""
    x = Tensor(logits, requires_grad=True)
    loss = node_loss(labels, classes, **changes)(x, labels)
    loss.backward()
    return float(loss.data), x.grad


def one_class_by_hand(logits, labels, smoothing, weights):
    """Plain loops: mean over nodes of w_y sum_c t_c (-log p_c)."""
    total = 0.0
    for row, y in zip(logits, labels, strict=True):
        norm = math.fsum(math.exp(x) for x in row)
        for c, x in enumerate(row):
            target = (1 - smoothing) * (c == y) + smoothing / len(row)
            total -= weights[y] * target * (x - math.log(norm))
    return total / len(labels)


def several_by_hand(logits, labels, smoothing, weights):
    """Plain loops: mean over nodes and labels of w (-t log p - (1 - t) log (1 - p))."""
    total = 0.0
    for row, truth in zip(logits, labels, strict=True):
        for c, (x, y) in enumerate(zip(row, truth, strict=True)):
            p = 1 / (1 + math.exp(-x))
            t = (1 - smoothing) * y + smoothing / 2
            total -= weights[c][y] * (t * math.log(p) + (1 - t) * math.log(1 - p))
    return total / labels.size


def slopes(value, logits: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.zeros_like(logits)
    for at in np.ndindex(logits.shape):
        up, down = logits.copy(), logits.copy()
        up[at] += step
        down[at] -= step
        out[at] = (value(up) - value(down)) / (2 * step)
    return out


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_of_one_class_and_its_gradient_are_those_of_plain_loops(smoothing, weighted):
    rng = np.random.default_rng(0)
    labels, logits = np.array([0, 0, 0, 1, 3, 3]), rng.standard_normal((6, 4))
    # 6 nodes, 3 classes that any has: 6 / (3 count)
    weights = {0: 2 / 3, 1: 2.0, 3: 1.0} if weighted else dict.fromkeys(range(4), 1.0)
    changes = {"label_smoothing": smoothing, "class_weight": "balanced" if weighted else "none"}
    value, grad = loss_of(logits, labels, 4, **changes)

    def by_hand(x):
        return one_class_by_hand(x, labels, smoothing, weights)

    assert_allclose(value, by_hand(logits), rtol=1e-12)
    assert_allclose(grad, slopes(by_hand, logits), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_of_several_labels_and_its_gradient_are_those_of_plain_loops(smoothing, weighted):
    rng = np.random.default_rng(1)
    labels = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 0, 1]], np.uint8)
    logits = rng.standard_normal((4, 3))
    # of each label: 4 / (2 count) without and with it; the second has no node
    weights = [(1, 1), (1, 1), (2, 2 / 3)] if weighted else [(1, 1)] * 3
    changes = {"label_smoothing": smoothing, "class_weight": "balanced" if weighted else "none"}
    value, grad = loss_of(logits, labels, 3, **changes)

    def by_hand(x):
        return several_by_hand(x, labels, smoothing, weights)

    assert_allclose(value, by_hand(logits), rtol=1e-12)
    assert_allclose(grad, slopes(by_hand, logits), rtol=1e-6, atol=1e-9)


def test_balanced_weights_make_every_class_count_alike_and_have_the_mean_1():
    labels = np.repeat([0, 1, 2], [50, 5, 1])
    weights = node_loss(labels, 3, class_weight="balanced").weights
    assert weights is not None
    assert_allclose(weights[1][labels].mean(), 1)
    assert_allclose([weights[1][labels][labels == c].sum() for c in range(3)], 56 / 3)


def test_dropout_of_the_input_falls_on_features_while_training_and_not_afterwards():
    rng = np.random.default_rng(0)
    x = Tensor(np.ones((50, 40), np.float32))
    spec = AggregatorSpec("gaan", num_heads=2)
    widths = {"embed_dim": 4, "out_dim": 4, "dropout": 0.0}
    for model in (
        NodeClassifier(40, 2, layers=[spec], **widths, input_dropout=0.5, rng=rng),
        FeedForward(40, 2, hidden_dim=4, input_dropout=0.5, rng=rng),
    ):
        graph = CSRGraph.from_edges([0], [1], 50, duplicates="keep")
        blocks = [graph.full_block()] if model.num_steps else []
        quiet = model(x, blocks).data
        rows = np.arange(2, 50)  # without neighbours, all alike
        assert_array_equal(quiet[rows], np.broadcast_to(quiet[2], (48, 2)))
        dropped = model(x, blocks, seed=1).data
        assert len(np.unique(dropped[rows], axis=0)) > 40
        assert_array_equal(model(x, blocks, seed=1).data, dropped)


def test_rows_are_divided_by_the_sum_of_their_absolute_values_and_empty_ones_stay():
    matrix = np.array([[1, 0, 3], [0, 0, 0], [-1, 1, 2]], np.float32)
    features = Features(matrix, np.zeros(3), np.ones(3), by_row=True)
    expected = [[0.25, 0, 0.75], [0, 0, 0], [-0.25, 0.25, 0.5]]
    assert features[np.arange(3)].tolist() == expected
    assert features[np.arange(3)].dtype == np.float32


def test_a_run_with_everything_is_killed_and_resumed_with_the_same_bits(tmp_path):
    small_run(tmp_path / "whole", **ALL).train()
    run_until(small_run(tmp_path / "parts", **ALL), step=7)
    resumed_run(tmp_path / "parts", **ALL).train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_without_any_of_it_weights_are_those_of_a_run_that_never_heard_of_it(tmp_path):
    off = dict.fromkeys(("weight_decay", "input_dropout", "label_smoothing"), 0.0)
    small_run(tmp_path / "a").train()
    small_run(tmp_path / "b", **off, class_weight="none", transductive=False).train()
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("transductive", [False, True])
def test_labels_of_nodes_that_are_not_for_training_change_no_weight(tmp_path, transductive):
    data = small_reddit()
    labels = data.labels.copy()
    others = data.split != TRAIN
    labels[others] = (labels[others] + 1) % 5
    changes = {"transductive": transductive, "class_weight": "balanced"}
    changes |= {"decay_patience": 99, "stop_patience": 99}
    weights = []
    for name, y in (("a", data.labels), ("b", labels)):
        run = small_reddit_run(tmp_path / name, small_reddit(y=y), **changes)
        run.train()
        weights.append(contents(tmp_path / name)["last.safetensors"])
    assert weights[0] == weights[1]


@pytest.mark.parametrize("transductive", [False, True])
def test_features_of_test_nodes_are_seen_in_training_only_if_asked_for(tmp_path, transductive):
    arrays = small_classes()
    x = arrays["x"].copy()
    x[arrays["split"] == 2] += 1
    weights = []
    for name, features in (("a", arrays["x"]), ("b", x)):
        data = small_reddit(x=features)
        run = small_reddit_run(
            tmp_path / name, data, transductive=transductive, fanouts=(-1, -1), eval_fanouts=(-1,)
        )
        assert run.scorer.view(TRAIN).num_nodes == (120 if transductive else 72)
        run.train()
        weights.append(contents(tmp_path / name)["last.safetensors"])
    assert (weights[0] == weights[1]) == (not transductive)


def test_a_transductive_run_says_so_in_its_notes_its_record_and_its_result(tmp_path):
    run = small_run(tmp_path, transductive=True)
    assert any("features and arcs of validation and test nodes are seen" in n for n in run.notes)
    assert "transductive" in words.result(run.train())
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert record["settings"]["transductive"] is True
    assert small_run(tmp_path / "other").notes == ()


@pytest.mark.parametrize("name", ["input_dropout", "label_smoothing"])
def test_a_share_of_one_is_refused(name):
    with pytest.raises(SettingsError, match=f"{name}: expected 0 <= value < 1, got 1.0"):
        small_settings(**{name: 1.0})


def test_a_decay_below_0_is_refused():
    with pytest.raises(SettingsError, match="weight_decay: expected 0 or more, got -1"):
        small_settings(weight_decay=-1)


def test_a_yes_or_no_is_read_from_text_and_anything_else_is_refused():
    settings = with_changes(small_settings(), ("--set", {"transductive": " True"}))
    assert settings.transductive is True
    assert with_changes(settings, ("file", {"transductive": False})).transductive is False
    with pytest.raises(SettingsError, match="--set: transductive: expected true or false"):
        with_changes(settings, ("--set", {"transductive": "1"}))


WHOLE_GRAPH = {"batch": "graphs", "batch_size": 0, "fanouts": (-1, -1), "eval_fanouts": (-1,)}
CONSISTENT = {**WHOLE_GRAPH, "transductive": True, "consistency": 0.7}


def consistency_by_hand(logits, others, targets):
    """Plain loops: mean over rows and both outputs of -sum_c q_c log p_c."""
    total = 0.0
    for rows in (logits, others):
        for row, q in zip(rows, targets, strict=True):
            norm = math.log(math.fsum(math.exp(x) for x in row))
            total -= sum(t * (x - norm) for t, x in zip(q, row, strict=True))
    return total / (2 * len(logits))


def shares_of(row):
    rising = [math.exp(x) for x in row]
    return [x / math.fsum(rising) for x in rising]


def test_consistency_is_a_cross_entropy_with_the_sharpened_mean_which_has_no_gradient():
    rng = np.random.default_rng(2)
    one, two = rng.standard_normal((2, 5, 3))
    first = 2  # rows that have a label
    targets = []
    for a, b in zip(one[first:], two[first:], strict=True):
        squares = [((p + q) / 2) ** 2 for p, q in zip(shares_of(a), shares_of(b), strict=True)]
        targets.append([square / math.fsum(squares) for square in squares])
    a, b = (Tensor(x, requires_grad=True) for x in (one, two))
    loss = consistency_loss(a, b, first)
    loss.backward()
    assert_allclose(loss.data, consistency_by_hand(one[first:], two[first:], targets), rtol=1e-12)
    for x, grad in ((one, a.grad), (two, b.grad)):
        given = [two, one] if x is two else [one, two]

        def by_hand(rows, given=given, x=x):
            pair = [rows if y is x else y for y in given]
            return consistency_by_hand(pair[0][first:], pair[1][first:], targets)

        assert_allclose(grad, slopes(by_hand, x), rtol=1e-6, atol=1e-9)
        assert_array_equal(grad[:first], 0)


def test_a_consistent_run_learns_from_the_mean_of_two_dropouts_and_from_nodes_without_a_label(
    tmp_path,
):
    run = small_reddit_run(tmp_path, dropout=0.3, **CONSISTENT)
    (batch,) = run.batches.step(0).batches
    assert sorted(batch.seeds.tolist()) == run.dataset.nodes(TRAIN).tolist()
    assert batch.blocks[-1].num_dst == 120
    outputs = run.forward(run.model, batch, None)
    assert outputs.shape == (240, 5)
    one, two = outputs.data[:120], outputs.data[120:]
    assert np.abs(one - two).max() > 1e-3
    known = len(batch.seeds)
    ones = dict.fromkeys(range(5), 1.0)
    labelled = [one_class_by_hand(y[:known], batch.labels, 0.0, ones) for y in (one, two)]
    p = (np.array([shares_of(row) for row in one]) + [shares_of(row) for row in two]) / 2
    targets = (p**2 / (p**2).sum(axis=1, keepdims=True))[known:]
    agreeing = consistency_by_hand(one[known:], two[known:], targets)
    loss = run.loss(outputs, batch, None, known).data
    assert_allclose(loss, np.mean(labelled) + 0.7 / 30 * agreeing, rtol=1e-5)
    weights = [run.batches.step(epoch).batches[0].consistency for epoch in (0, 14, 29, 50)]
    assert_allclose(weights, [0.7 / 30, 0.35, 0.7, 0.7])


def test_a_consistent_run_is_killed_and_resumed_with_the_same_bits(tmp_path):
    small_reddit_run(tmp_path / "whole", **CONSISTENT).train()
    run_until(small_reddit_run(tmp_path / "parts", **CONSISTENT), step=2)
    settings = small_reddit_settings(**CONSISTENT)
    run = ClassifierRun(settings, small_reddit(), RunFolder(tmp_path / "parts"))
    run.resume()
    run.train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_labels_of_nodes_that_are_not_for_training_do_not_enter_consistency(tmp_path):
    data = small_reddit()
    labels = np.where(data.split == TRAIN, data.labels, (data.labels + 1) % 5)
    weights = []
    for name, y in (("a", data.labels), ("b", labels)):
        changes = {**CONSISTENT, "decay_patience": 99, "stop_patience": 99}
        run = small_reddit_run(tmp_path / name, small_reddit(y=y), **changes)
        run.train()
        weights.append(contents(tmp_path / name)["last.safetensors"])
    assert weights[0] == weights[1]


@pytest.mark.parametrize("change", [{"batch": "seeds"}, {"batch_size": 64}, {"consistency": -1.0}])
def test_consistency_without_all_nodes_in_a_step_or_below_0_is_refused(tmp_path, change):
    with pytest.raises(SettingsError, match="consistency: "):
        small_reddit_run(tmp_path, **{**CONSISTENT, **change})


def test_consistency_is_refused_for_several_labels_per_node():
    with pytest.raises(SettingsError, match="consistency: needs one class per node"):
        small_settings(**WHOLE_GRAPH, consistency=1.0)


def test_consistency_where_training_sees_labelled_nodes_alone_is_said_to_do_nothing(tmp_path):
    alone = {**CONSISTENT, "transductive": False}
    for name, changes in (("with", alone), ("without", {**alone, "consistency": 0.0})):
        run = small_reddit_run(tmp_path / name, **changes)
        told = [note for note in run.notes if "training sees no node without" in note]
        assert len(told) == (name == "with")
        run.train()
    a, b = (contents(tmp_path / name)["last.safetensors"] for name in ("with", "without"))
    assert a == b
