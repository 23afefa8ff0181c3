"""The encoder-decoder against a program of its own in NumPy, and its gradients."""

import layer_reference as reference
import numpy as np
import pytest
from gradcheck import check_leaves
from kinks import kink_margin
from numpy.testing import assert_allclose, assert_array_equal

from gaancore.choices import AGGREGATORS
from gaancore.graph import CSRGraph
from gaancore.graph.copies import GraphCopies
from gaancore.models.traffic_forecaster import FlatForecaster, TrafficForecaster
from gaancore.nn.aggregators import AggregatorSpec

STEPS, SEQUENCES, NODES, CHANNELS = 3, 2, 4, 2
HIDDEN_DIM, NUM_LAYERS = 3, 2
WIDTHS = {"num_heads": 2, "key_dim": 2, "value_dim": 2, "gate_dim": 2}
GRAPH = CSRGraph.from_edges([0, 1, 1, 2, 0], [1, 0, 2, 1, 2], NODES, duplicates="merge")
BOTH_VARIANTS = pytest.mark.parametrize("variant", ["paper", "released"])


def make(variant: str, model: str = "gaan", seed: int = 0) -> TrafficForecaster:
    rng = np.random.default_rng(seed)
    spec = AggregatorSpec(model, variant, mean_in_gate=False, **WIDTHS)
    made = TrafficForecaster(
        CHANNELS, spec=spec, hidden_dim=HIDDEN_DIM, num_layers=NUM_LAYERS, rng=rng
    )
    return reference.with_random_biases(made, rng)


def windows(seed: int = 0, sequences: int = SEQUENCES) -> tuple[np.ndarray, np.ndarray]:
    """inputs and future, (STEPS, sequences * NODES, CHANNELS)."""
    shape = (2, STEPS, sequences * NODES, CHANNELS)
    inputs, future = np.random.default_rng(seed).standard_normal(shape)
    return inputs, future


def program(model, variant: str, inputs, future, teacher: bool) -> np.ndarray:
    """The known program: every step with the truth before it, or every one with the prediction."""
    block = GraphCopies(GRAPH).block(inputs.shape[1] // NODES)

    def run(cells, x, states):
        after = []
        for cell, state in zip(cells, states, strict=True):
            x = reference.graph_gru_cell("gaan", cell, variant, x, state, block)
            after.append(x)
        return after

    released = variant == "released"
    states = [np.zeros((inputs.shape[1], HIDDEN_DIM))] * NUM_LAYERS
    for x in inputs:
        x = reference.h(reference.fc(model.embed_encoder, x)) if released else x
        states = run(model.encoder, x, states)
    speeds = [reference.fc(model.output, states[-1])] if released else []
    while len(speeds) < STEPS:
        t = len(speeds)
        before = future[t - 1, :, :1] if teacher else speeds[-1] if speeds else None
        if t == 0:
            before = np.zeros((inputs.shape[1], 1))
        x = np.concatenate([before, future[t - 1 if released else t, :, 1:]], axis=1)
        x = reference.h(reference.fc(model.embed_decoder, x)) if released else x
        states = run(model.decoder, x, states)
        speeds.append(reference.fc(model.output, states[-1]))
    return np.concatenate(speeds, axis=1)


@BOTH_VARIANTS
@pytest.mark.parametrize("teacher", [False, True])
def test_sampling_of_probability_0_and_1_are_the_two_known_programs(variant, teacher):
    model, (inputs, future) = make(variant), windows()
    truth = [teacher] * (STEPS - 1)
    out = model(inputs, future, GraphCopies(GRAPH), truth)
    assert_allclose(out.data, program(model, variant, inputs, future, teacher), rtol=1e-10)


@BOTH_VARIANTS
def test_each_draw_decides_about_its_own_step(variant):
    model, (inputs, future) = make(variant), windows()
    copies = GraphCopies(GRAPH)
    taught = model(inputs, future, copies, [True, True]).data
    alone = model(inputs, future, copies, [False, False]).data
    first = model(inputs, future, copies, [True, False]).data
    assert_array_equal(first[:, :2], taught[:, :2])
    assert (first[:, 2] != taught[:, 2]).any()
    assert (first[:, 1] != alone[:, 1]).any()


@BOTH_VARIANTS
def test_forecasts_do_not_look_at_the_speeds_to_come(variant):
    model, (inputs, future) = make(variant), windows()
    other = future.copy()
    other[:, :, 0] = np.nan
    copies = GraphCopies(GRAPH)
    expected = model(inputs, future, copies).data
    assert_array_equal(model(inputs, other, copies).data, expected)


@BOTH_VARIANTS
@pytest.mark.parametrize("kind", AGGREGATORS)
def test_the_gradients_of_a_three_step_encoder_decoder(variant, kind):
    copies = GraphCopies(GRAPH)
    for seed in range(60):
        model, (inputs, future) = make(variant, kind, seed), windows(seed, 1)

        def evaluate(model=model, inputs=inputs, future=future):
            return model(inputs, future, copies, [True, False])

        if kink_margin(evaluate, ties_move_together=True) > 3e-4:
            break
    else:
        pytest.fail("no inputs away from the kinks")
    leaves = dict(model.named_parameters())
    rng = np.random.default_rng(1)
    for _ in range(4):
        check_leaves(f"{kind}, {variant}", evaluate, leaves, rng, one_by_one=False)


@BOTH_VARIANTS
def test_sequences_side_by_side_are_each_on_its_own(variant):
    model, (inputs, future) = make(variant), windows()
    copies = GraphCopies(GRAPH)
    both = model(inputs, future, copies).data
    for b in range(SEQUENCES):
        rows = slice(b * NODES, (b + 1) * NODES)
        alone = model(inputs[:, rows], future[:, rows], copies).data
        assert_allclose(both[rows], alone, rtol=1e-12)


def test_the_network_without_a_graph_sees_a_sensors_own_history_and_what_is_known_ahead():
    rng = np.random.default_rng(0)
    model = FlatForecaster(CHANNELS, history=STEPS, horizon=STEPS, hidden_dim=5, rng=rng)
    model.astype("float64")
    inputs, future = windows()
    out = model(inputs, future, GraphCopies(GRAPH)).data
    assert out.shape == (SEQUENCES * NODES, STEPS)
    for node in range(SEQUENCES * NODES):
        x = np.concatenate([inputs[:, node].ravel(), future[:, node, 1:].ravel()])
        for layer in (model.network.embed, model.network.hidden):
            x = np.maximum(reference.fc(layer, x), 0)
        assert_allclose(out[node], reference.fc(model.network.head, x), rtol=1e-10)
