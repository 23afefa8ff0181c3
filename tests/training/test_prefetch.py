import threading
import time
from itertools import count

import numpy as np
import pytest
from small_run import contents, run_until, small_run

from gaancore.data import TRAIN
from gaancore.errors import DataError
from gaancore.graph import CSRGraph, sample_blocks
from gaancore.system import threads
from gaancore.training.nodes.batches import Batches
from gaancore.training.prefetch import Prefetch, made_ahead

DEPTHS = pytest.mark.parametrize("depth", [0, 1, 2, 7])


def our_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("gaancore-ahead")]


@pytest.fixture(autouse=True)
def four_threads(any_threads):
    threads.set_num_threads(4)
    yield
    assert not our_threads()


@DEPTHS
def test_results_come_in_order_however_long_each_takes(depth):
    delays = np.random.default_rng(0).random(20) * 0.01

    def make(n: int) -> int:
        time.sleep(delays[n])
        return n * n

    with Prefetch(make, iter(range(20)), depth=depth) as made:
        assert list(made) == [n * n for n in range(20)]


@DEPTHS
def test_never_more_than_depth_are_ahead_of_the_one_in_use(depth):
    made: list[int] = []
    with Prefetch(lambda n: made.append(n) or n, count(), depth=depth) as ahead:
        for n in ahead:
            time.sleep(0.005)
            assert len(made) <= n + 1 + depth
            if n == 12:
                break


@DEPTHS
def test_an_error_is_raised_when_its_turn_comes_and_not_before(depth):
    def make(n: int) -> int:
        if n == 3:
            raise DataError("the third")
        return n

    with Prefetch(make, count(), depth=depth) as ahead:
        assert [next(ahead) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(DataError, match="the third"):
            next(ahead)


@DEPTHS
def test_an_interrupt_leaves_no_thread_behind_and_starts_nothing_new(depth):
    started: list[int] = []

    def make(n: int) -> int:
        started.append(n)
        time.sleep(0.002)
        return n

    def use_one() -> None:
        with Prefetch(make, count(), depth=depth) as ahead:
            next(ahead)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use_one()
    assert not our_threads()
    before = len(started)
    time.sleep(0.02)
    assert len(started) == before


def test_as_many_threads_as_kernels_may_use_and_no_more():
    seen = set()

    def make(n: int) -> int:
        seen.add(threading.current_thread().name)
        time.sleep(0.002)
        return n

    threads.set_num_threads(2)
    with Prefetch(make, iter(range(40)), depth=8) as ahead:
        list(ahead)
    assert len(seen) == 2
    assert all(name.startswith("gaancore-ahead") for name in seen)


def test_time_spent_waiting_is_told():
    with Prefetch(lambda n: time.sleep(0.02), iter(range(3)), depth=0) as slow:
        list(slow)
    with Prefetch(lambda n: n, iter(range(3)), depth=3) as fast:
        time.sleep(0.02)
        list(fast)
    assert slow.waited > 0.05
    assert fast.waited < 0.05


def test_batches_have_the_same_bits_however_they_are_made(tmp_path):
    run = small_run(tmp_path, fanouts=(4, 3))
    for depth, count_ in ((0, 1), (1, 1), (3, 2), (5, 4)):
        threads.set_num_threads(count_)
        with Prefetch(run.batches.step, iter(range(12)), depth=depth) as ahead:
            for number, step in enumerate(ahead):
                (batch,), (alone,) = step.batches, run.batches.step(number).batches
                np.testing.assert_array_equal(batch.x, alone.x)
                np.testing.assert_array_equal(batch.labels, alone.labels)
                for a, b in zip(batch.blocks, alone.blocks, strict=True):
                    np.testing.assert_array_equal(a.src_ids, b.src_ids)
                    np.testing.assert_array_equal(a.indices, b.indices)
                    np.testing.assert_array_equal(a.transpose.edge_ids, b.transpose.edge_ids)


def test_a_run_ends_with_the_same_bits_for_any_depth_also_when_it_is_interrupted(tmp_path):
    found = []
    for depth in (0, 1, 4):
        folder = tmp_path / str(depth)
        run = small_run(folder, fanouts=(4, 3), eval_fanouts=(3, 2), prefetch=depth)
        run_until(run, 7)
        assert not our_threads()
        run.watcher = type(run.watcher)()
        run.train()
        found.append(contents(folder))
    assert found[0] == found[1] == found[2]


def test_an_error_in_a_batch_reaches_the_caller_of_the_run(tmp_path, monkeypatch):
    run = small_run(tmp_path)
    original = Batches.step

    def step(self, number):
        if number == 6:
            raise MemoryError("a batch of 9 GB")
        return original(self, number)

    monkeypatch.setattr(Batches, "step", step)
    run.batches = Batches(run.scorer.view(TRAIN), run.batches.rows, run.settings, 2)
    with pytest.raises(MemoryError, match="9 GB"):
        run.train()
    assert run.progress.step == 6


def test_sampling_releases_the_gil_so_that_batches_overlap():
    """While a batch is sampled in one thread, this one gets to run."""
    rng = np.random.default_rng(0)
    indptr = np.arange(50_001) * 100
    graph = CSRGraph(indptr, rng.integers(50_000, size=5_000_000, dtype=np.int32))
    nodes = np.arange(512)
    sample_blocks(graph, nodes, [25, 10], seed=0)
    ticks = 0
    with Prefetch(
        lambda n: sample_blocks(graph, nodes, [25, 25, 10], seed=n), iter(range(3)), depth=1
    ) as ahead:
        deadline = time.perf_counter() + 20
        while not ahead._ahead[0].done() and time.perf_counter() < deadline:
            ticks += 1
            time.sleep(0)
        list(ahead)
    assert ticks > 100


@DEPTHS
def test_what_is_made_ahead_leaves_the_kernels_threads_to_the_caller(depth):
    with Prefetch(lambda n: threads.runs_on_one_thread(), iter(range(5)), depth=depth) as made:
        assert list(made) == [depth > 0] * 5
    assert not threads.runs_on_one_thread()


def test_batches_are_made_ahead_of_a_gpu_alone_unless_asked_for():
    assert [made_ahead(None, device) for device in ("cpu", "cuda", "cuda:1")] == [0, 2, 2]
    assert [made_ahead(depth, "cpu") for depth in (0, 3)] == [0, 3]
