"""Adam and clipping against plain loops, the schedule against the paper's numbers."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gaancore.errors import TrainingError
from gaancore.nn.module import Parameter
from gaancore.optim import Adam, PlateauSchedule, clip_grad_norm


def parameters(dtype: str = "float64") -> dict[str, Parameter]:
    rng = np.random.default_rng(0)
    shapes = {"weight": ((3, 4), 1.0), "slow": ((5,), 0.1), "idle": ((2, 2), 1.0)}
    return {
        name: Parameter(rng.standard_normal(shape).astype(dtype), lr_scale=scale)
        for name, (shape, scale) in shapes.items()
    }


def adam_by_hand(start: float, grads: list[float], lr: float) -> float:
    """Algorithm 1 of Kingma and Ba for a single number."""
    p, m, v = start, 0.0, 0.0
    for t, g in enumerate(grads, start=1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        p -= lr * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return p


def test_adam_is_the_algorithm_of_the_paper_for_each_number():
    params = parameters()
    start = {name: p.data.copy() for name, p in params.items()}
    optimizer = Adam(params.items(), lr=0.01)
    rng = np.random.default_rng(1)
    grads = {name: rng.standard_normal((300, *params[name].shape)) for name in ("weight", "slow")}
    for t in range(300):
        for name, g in grads.items():
            params[name].grad = g[t]
        optimizer.step()
    for name, scale in (("weight", 1.0), ("slow", 0.1)):
        for at in np.ndindex(params[name].shape):
            expected = adam_by_hand(start[name][at], grads[name][(slice(None), *at)], 0.01 * scale)
            assert_allclose(params[name].data[at], expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_adam_corrects_its_bias_in_float64_and_then_rounds_to_the_bits_of_the_formula(dtype):
    """The correction of both moments in one factor: rate * sqrt(1 - beta2^t) / (1 - beta1^t)."""
    p = Parameter(np.array([0.3, -2, 1e-3], dtype), lr_scale=0.1)
    optimizer = Adam([("p", p)], lr=0.013)
    expected, m, v, one = p.data.copy(), np.zeros(3, dtype), np.zeros(3, dtype), dtype(1)
    beta1, beta2 = dtype(0.9), dtype(0.999)
    for t in range(1, 40):
        p.grad = g = np.random.default_rng(t).standard_normal(3).astype(dtype)
        optimizer.step()
        correction = float(np.sqrt(1 - 0.999**t))
        rate, eps = dtype(0.013 * 0.1 * correction / (1 - 0.9**t)), dtype(1e-8 * correction)
        m = beta1 * m + (one - beta1) * g
        v = beta2 * v + (one - beta2) * g * g
        expected -= rate * m / (np.sqrt(v) + eps)
        assert p.data.tobytes() == expected.tobytes()


def test_adam_leaves_a_parameter_without_a_gradient_alone():
    params = parameters()
    before = params["idle"].data.copy()
    optimizer = Adam(params.items(), lr=0.01)
    params["weight"].grad = np.ones((3, 4))
    optimizer.step()
    assert_array_equal(params["idle"].data, before)
    assert not optimizer.moment1["idle"].any()


def test_a_parameter_without_a_gradient_for_long_moves_as_if_it_had_not_waited():
    """Worked by hand with t of its own; a step of one common count would be a thousandth of it."""
    params = parameters()
    start = {name: p.data.copy() for name, p in params.items()}
    optimizer = Adam(params.items(), lr=0.01)
    rng = np.random.default_rng(3)
    grads = {"weight": rng.standard_normal((1005, 3, 4)), "idle": rng.standard_normal((5, 2, 2))}
    for t in range(1005):
        params["weight"].grad = grads["weight"][t]
        params["idle"].grad = grads["idle"][t - 1000] if t >= 1000 else None
        optimizer.step()
    assert optimizer.steps == {"weight": 1005, "slow": 0, "idle": 5}
    for name, found in grads.items():
        for at in np.ndindex(params[name].shape):
            expected = adam_by_hand(start[name][at], found[(slice(None), *at)], 0.01)
            assert_allclose(params[name].data[at], expected, rtol=1e-10)


def test_the_first_step_of_adam_is_the_rate_whatever_the_size_of_the_gradient():
    params = parameters()
    before = params["weight"].data.copy()
    params["weight"].grad = np.where(np.arange(12).reshape(3, 4) % 2, 1e5, -1e-3)
    Adam(params.items(), lr=0.25).step()
    moved = before - params["weight"].data
    assert_allclose(moved, 0.25 * np.sign(params["weight"].grad), rtol=1e-4)


def test_adam_goes_on_from_saved_moments_with_the_same_bits():
    def steps(optimizer, params, numbers):
        for number in numbers:
            params["weight"].grad = np.random.default_rng(number).standard_normal((3, 4))
            optimizer.step()

    straight = parameters("float32")
    steps(Adam(straight.items(), lr=0.01), straight, range(10))
    params = parameters("float32")
    first = Adam(params.items(), lr=0.01)
    steps(first, params, range(5))
    second = Adam(params.items(), lr=0.01)
    second.load_state({name: array.copy() for name, array in first.state().items()})
    second.steps = dict(first.steps)
    steps(second, params, range(5, 10))
    assert_array_equal(params["weight"].data, straight["weight"].data)


def with_gradients(**grads: list[float]) -> list[tuple[str, Parameter]]:
    named = []
    for name, grad in grads.items():
        parameter = Parameter(np.zeros(len(grad)))
        parameter.grad = np.array(grad)
        named.append((name, parameter))
    return named


def test_clipping_scales_all_gradients_together():
    named = with_gradients(a=[3.0, 0.0], b=[0.0, 4.0])
    assert clip_grad_norm(named, 2.0) == 5.0
    assert_allclose(named[0][1].grad, [1.2, 0.0], rtol=1e-15)
    assert_allclose(named[1][1].grad, [0.0, 1.6], rtol=1e-15)


@pytest.mark.parametrize("max_norm", [0.0, 5.0, 100.0])
def test_a_norm_within_the_limit_is_left_alone(max_norm):
    named = with_gradients(a=[3.0], b=[4.0])
    named.append(("without", Parameter(np.zeros(2))))
    assert clip_grad_norm(named, max_norm) == 5.0
    assert [p.grad.tolist() for _, p in named[:2]] == [[3.0], [4.0]]
    assert named[2][1].grad is None


def test_the_norm_of_large_float32_gradients_does_not_overflow():
    parameter = Parameter(np.zeros(2, np.float32))
    parameter.grad = np.array([3e30, 4e30], np.float32)
    assert_allclose(clip_grad_norm([("a", parameter)], 1.0), 5e30, rtol=1e-6)
    assert_allclose(parameter.grad, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("max_norm", [0.0, 1.0])
def test_a_gradient_that_is_not_finite_is_refused_by_name_and_none_is_touched(bad, max_norm):
    named = with_gradients(fine=[3.0, 4.0], broken=[1.0, bad])
    before = [p.grad.copy() for _, p in named]
    with pytest.raises(TrainingError, match=r"^the gradient of broken is not finite, .*; lower"):
        clip_grad_norm(named, max_norm)
    for (_, p), grad in zip(named, before, strict=True):
        assert_array_equal(p.grad, grad)
        assert not p.data.any()


def ppi_schedule() -> PlateauSchedule:
    return PlateauSchedule(lr=0.01, floor=0.001, factor=0.5, decay_patience=15, stop_patience=30)


def test_the_rate_falls_on_the_16th_bad_validation_and_the_run_stops_on_the_31st_at_the_floor():
    schedule = ppi_schedule()
    assert schedule.update(0.5)
    rates = []
    while not schedule.stopped:
        assert not schedule.update(0.5)
        rates.append(schedule.lr)
    ladder = [0.01] * 15 + [0.005] * 16 + [0.0025] * 16 + [0.00125] * 16 + [0.001] * 32
    assert_allclose(rates, ladder, rtol=1e-12)


def test_only_a_better_score_counts_and_a_tie_is_none():
    schedule = ppi_schedule()
    assert [schedule.update(score) for score in (0.5, 0.5, 0.6, 0.6, 0.55)] == [
        True, False, True, False, False,
    ]  # fmt: skip
    assert (schedule.best, schedule.bad) == (0.6, 2)


def test_a_better_score_starts_the_count_again_at_any_time():
    schedule = ppi_schedule()
    scores = iter(np.linspace(0.1, 0.9, 50))
    for bad_ones in (15, 15, 14, 15):
        schedule.update(next(scores))
        for _ in range(bad_ones):
            schedule.update(0.0)
    assert schedule.lr == 0.01
    schedule.update(0.0)
    assert schedule.lr == 0.005
    schedule.lr = 0.001
    schedule.update(next(scores))
    for _ in range(30):
        schedule.update(0.0)
    assert not schedule.stopped
    assert schedule.update(0.95)
    for _ in range(30):
        schedule.update(0.0)
    assert not schedule.stopped
    schedule.update(0.0)
    assert schedule.stopped


def test_a_run_that_never_scores_above_0_still_stops():
    schedule = PlateauSchedule(0.01, 0.01, 0.5, decay_patience=1, stop_patience=3)
    assert [schedule.update(0.0) for _ in range(5)] == [True] + [False] * 4
    assert schedule.stopped


@pytest.mark.parametrize("patience", [0, 1, 3])
@pytest.mark.parametrize("first", [0.0, -7.5, 0.3])
def test_a_run_stops_after_validation_b_plus_p_plus_1_whatever_the_first_score(patience, first):
    """b is the best validation, p the patience; the rate is at its floor."""
    schedule = PlateauSchedule(0.01, 0.01, 0.5, decay_patience=patience, stop_patience=patience)
    scores = [first, first + 1] + [first] * (patience + 9)
    done = 0
    while not schedule.stopped:
        schedule.update(scores[done])
        done += 1
    assert done == 2 + patience + 1
    assert schedule.best == first + 1


def test_a_validation_without_any_score_is_no_improvement():
    schedule = PlateauSchedule(0.01, 0.01, 0.5, decay_patience=1, stop_patience=1)
    assert [schedule.update(-math.inf), schedule.update(-3.0)] == [False, True]


def test_weight_decay_is_adamw_and_leaves_biases_and_idle_weights_alone():
    rng = np.random.default_rng(3)
    params = {
        "weight": Parameter(rng.standard_normal((2, 3)), lr_scale=0.1),
        "bias": Parameter(rng.standard_normal(3)),
        "idle": Parameter(np.ones((2, 2))),
    }
    expected = {name: p.data.copy() for name, p in params.items()}
    optimizer = Adam(params.items(), lr=0.02, weight_decay=0.3)
    m, v = {}, {}
    for t in range(1, 30):
        for name in ("weight", "bias"):
            g = params[name].grad = rng.standard_normal(params[name].shape)
            m[name] = 0.9 * m.get(name, 0) + 0.1 * g
            v[name] = 0.999 * v.get(name, 0) + 0.001 * g * g
            decay, rate = (0.3, 0.002) if name == "weight" else (0.0, 0.02)
            way = (m[name] / (1 - 0.9**t)) / (np.sqrt(v[name] / (1 - 0.999**t)) + 1e-8)
            expected[name] = expected[name] - rate * (way + decay * expected[name])
        optimizer.step()
    for name, value in expected.items():
        assert_allclose(params[name].data, value, rtol=1e-10)
