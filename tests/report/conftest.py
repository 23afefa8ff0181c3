"""Runs that take a moment to train, and a browser where there is one."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from report_runs import HOSTILE, small_graph
from small_traffic_run import SMALL, small_roads

import gaancore
from gaancore.trained.nodes import NodeRun
from gaancore.trained.traffic import TrafficRun

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def nodes_run(folder) -> NodeRun:
    return gaancore.train(
        small_graph(), out=folder / "nodes", epochs=12, num_heads=2, verbose=False
    )


@pytest.fixture(scope="session")
def seeds_runs(folder, nodes_run) -> list[NodeRun]:
    """The same run with three seeds."""
    given = {"epochs": 12, "num_heads": 2, "verbose": False}
    data = nodes_run.dataset
    return [nodes_run] + [
        gaancore.train(data, out=folder / f"seed {seed}", seed=seed, **given) for seed in (1, 2)
    ]


@pytest.fixture(scope="session")
def hostile_run(folder) -> NodeRun:
    """Ids and classes that would be programs if they were taken for markup."""
    ids = [HOSTILE[n] if n < len(HOSTILE) else f"{HOSTILE[n % len(HOSTILE)][:60]} {n}"
           for n in range(90)]  # fmt: skip
    data = small_graph(ids, class_names=(*HOSTILE[:2], HOSTILE[7]))
    return gaancore.train(data, out=folder / "<b>hostile", epochs=2, num_heads=2, verbose=False)


@pytest.fixture(scope="session")
def traffic_run(folder) -> TrafficRun:
    return gaancore.train(small_roads(), out=folder / "roads", verbose=False, **SMALL)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    pytest.importorskip("selenium", reason="needs the extra `test`: selenium drives the browser")
    driver = shutil.which("chromedriver")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if driver is None or program is None:
        pytest.skip("no Chromium and chromedriver here: apt install chromium chromium-driver")
    # /dev/shm and the sandbox are not there in every container
    os.environ.setdefault("SE_AVOID_STATS", "true")
    found = Browser(program, driver)
    yield found
    found.close()
