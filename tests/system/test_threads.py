"""The pool: every row once, errors surface, nothing to do is no work."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gaancore.system import threads

pytestmark = pytest.mark.usefixtures("any_threads")


def count_rows(seen: np.ndarray, start: int, stop: int) -> None:
    seen[start:stop] += 1


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("rows", [0, 1, 2, 7, 1000])
def test_every_row_is_visited_once(count, rows):
    threads.set_num_threads(count)
    seen = np.zeros(rows)
    threads.run_ranges(count_rows, threads.split_evenly(rows), seen)
    assert (seen == 1).all()


@pytest.mark.parametrize("bounds", [[0, 0], [0, 0, 0, 0], [0], [5, 5]])
def test_without_rows_nothing_is_called(bounds):
    def never(start: int, stop: int) -> None:
        raise AssertionError("called")

    threads.set_num_threads(4)
    threads.run_ranges(never, bounds)


def test_ranges_run_at_the_same_time():
    threads.set_num_threads(3)
    meeting = threading.Barrier(3)
    threads.run_ranges(lambda start, stop: meeting.wait(timeout=30), [0, 1, 2, 3])


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("bad", [0, 1, 3], ids=["first", "middle", "the caller's own"])
def test_an_exception_in_any_range_is_raised_in_the_caller(count, bad):
    def fail(start: int, stop: int) -> None:
        if start == bad:
            raise ZeroDivisionError(f"row {start}")

    threads.set_num_threads(count)
    with pytest.raises(ZeroDivisionError, match=f"row {bad}"):
        threads.run_ranges(fail, [0, 1, 2, 3, 4])


def test_an_exception_waits_for_the_ranges_still_running():
    """Their arrays are freed when the caller leaves."""
    finished = []

    def work(start: int, stop: int) -> None:
        if stop == 2:
            raise ZeroDivisionError
        time.sleep(0.1)
        finished.append(start)

    threads.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        threads.run_ranges(work, [0, 1, 2])
    assert finished == [0]


def test_the_pool_works_on_after_an_exception():
    threads.set_num_threads(2)
    with pytest.raises(TypeError):
        threads.run_ranges(count_rows, [0, 1, 2], None)
    seen = np.zeros(2)
    threads.run_ranges(count_rows, [0, 1, 2], seen)
    assert seen.tolist() == [1, 1]


def test_several_callers_may_share_the_pool():
    threads.set_num_threads(2)
    seen = np.zeros((4, 100))

    def caller(row: np.ndarray) -> None:
        for _ in range(50):
            threads.run_ranges(count_rows, [0, 50, 100], row)

    callers = [threading.Thread(target=caller, args=(row,)) for row in seen]
    for one in callers:
        one.start()
    for one in callers:
        one.join(timeout=30)
    assert (seen == 50).all()


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("rows", "smallest"), [(0, 1), (1, 1), (10, 3), (10, 100), (1000, 1)])
def test_an_even_split_covers_all_rows_and_leaves_no_range_too_small(count, rows, smallest):
    threads.set_num_threads(count)
    bounds = threads.split_evenly(rows, smallest)
    sizes = np.diff(bounds)
    assert (bounds[0], bounds[-1]) == (0, rows)
    assert len(sizes) <= count
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == 1 or sizes.min() >= smallest


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_thread_is_refused(count):
    with pytest.raises(ValueError, match=f"threads: expected 1 or more, got {count}"):
        threads.set_num_threads(count)


def test_a_thread_that_is_to_stay_alone_runs_all_its_ranges_itself_and_only_that_thread_does():
    threads.set_num_threads(2)
    ran_on: list[int] = []

    def note(start: int, stop: int) -> None:
        ran_on.append(threading.get_ident())

    with threads.on_one_thread():
        threads.run_ranges(note, [0, 1, 2])
        assert threads.split_evenly(100) == [0, 100]
        with threads.on_one_thread():
            pass
        assert threads.runs_on_one_thread()
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(threads.runs_on_one_thread).result()
    assert ran_on == [threading.get_ident()] * 2
    assert threads.split_evenly(100) == [0, 50, 100]
