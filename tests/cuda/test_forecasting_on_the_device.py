"""The Graph GRU on a CUDA device, which the emulator plays by default: steps, runs, forecasts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.device import MODES, EmulatedCupy
from numpy.testing import assert_allclose
from small_run import contents
from small_traffic_run import forecast_run, run_until, small_roads, started

from gaancore.array import device_of, memory_of, to_numpy
from gaancore.choices import MODELS, VARIANTS
from gaancore.tasks import open_run
from gaancore.training import pieces

ON_CUDA = pytest.mark.parametrize(
    "device", ["emulated", pytest.param("gpu", marks=pytest.mark.gpu)], indirect=True
)
SENSORS = 6  # of small_roads
FEW = {"batch_size": 4, "epochs": 1}
SHORT = {"variant": "released", "history": 2, "horizon": 2, "batch_size": 200, "epochs": 1}


def first_steps(folder: Path, device: str, **changes: Any) -> dict[str, np.ndarray]:
    """Losses and gradients of two steps, the second one after the first has moved the weights."""
    run = forecast_run(folder, device=device, **FEW, **changes)
    found = {}
    with run.fetch() as steps:
        for step in range(2):
            upcoming = next(steps)

            def learn(batch: Any, model: Any, part: slice, count: int = upcoming.count) -> Any:
                loss = run.loss(run.forward(model, batch, part), batch, part, count)
                loss.backward()
                return loss.data

            loss, _ = run.gradients.of(learn, upcoming, steps.prepare)
            found[f"loss {step}"] = np.array(loss())
            for name, parameter in run.model.named_parameters():
                assert device_of(parameter.grad) == device_of(parameter.data) == run.device
                found[f"{name} {step}"] = to_numpy(parameter.grad)
            for parameter in run.model.parameters():
                parameter.data -= np.float32(0.01) * parameter.grad
            run.progress.step += 1
    return found


@ON_CUDA
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model", MODELS)
def test_steps_of_every_model_agree_with_the_cpu(tmp_path, device, model, variant):
    expected = first_steps(tmp_path, "cpu", model=model, variant=variant)
    actual = first_steps(tmp_path, device, model=model, variant=variant)
    assert actual.keys() == expected.keys()
    for name, wanted in expected.items():
        assert_allclose(actual[name], wanted, rtol=2e-4, atol=2e-5, err_msg=name)


@ON_CUDA
def test_the_shares_of_a_step_add_up_as_on_the_cpu(tmp_path, device):
    expected = first_steps(tmp_path, "cpu", shares=3)
    actual = first_steps(tmp_path, device, shares=3)
    assert actual.keys() == expected.keys()
    for name, wanted in expected.items():
        assert_allclose(actual[name], wanted, rtol=2e-4, atol=2e-5, err_msg=name)


@ON_CUDA
@pytest.mark.parametrize("scaler", ["global", "per-sensor"])
def test_a_batch_in_pieces_agrees_with_the_batch_as_a_whole(tmp_path, device, monkeypatch, scaler):
    whole = first_steps(tmp_path, device, scaler=scaler)
    fits = 3 * SENSORS  # rows
    monkeypatch.setattr(pieces, "ROW_BYTES", pieces.SHARE * memory_of(device)[1] / fits)
    for name, grad in first_steps(tmp_path, device, scaler=scaler).items():
        assert_allclose(grad, whole[name], rtol=2e-4, atol=2e-5, err_msg=name)


def test_a_step_gives_the_same_bits_for_every_order_of_threads(tmp_path, emulated):
    def bits(device: EmulatedCupy) -> dict[str, bytes]:
        with device.installed():
            return {name: x.tobytes() for name, x in first_steps(tmp_path, "cuda:0").items()}

    first = bits(emulated["ascending"])
    assert all(bits(emulated[mode]) == first for mode in MODES)


@ON_CUDA
def test_a_run_that_is_stopped_and_resumed_ends_with_the_same_bits(tmp_path, device):
    changes = {"device": device, **SHORT}
    record = started(tmp_path / "whole", **changes).train()
    assert record["device"] == device
    assert record["steps"] > 1
    run_until(started(tmp_path / "parts", **changes), 1)
    again = forecast_run(tmp_path / "parts", **changes)
    again.resume()
    again.train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@ON_CUDA
def test_the_best_weights_forecast_the_same_on_either_device(tmp_path, device):
    started(tmp_path, device=device, **SHORT).train()
    data = small_roads()
    there, here = (open_run(tmp_path, where, data=data).forecaster for where in (device, "cpu"))
    assert {device_of(p.data) for p in there.model.parameters()} == {device}
    assert {device_of(p.data) for p in here.model.parameters()} == {"cpu"}
    starts = np.arange(0, 250, 50)
    pairs = [(here.latest(), there.latest()), (here.predict(starts), there.predict(starts))]
    for ours, theirs in pairs:
        assert isinstance(theirs, np.ndarray)
        assert_allclose(theirs, ours, rtol=1e-4)
