"""Ranks that agree: on values, on errors, on stopping."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from ranks import Place, on_ranks, results

from gaancore.errors import DataError, SettingsError, TrainingError
from gaancore.parallel.start import num_threads
from gaancore.parallel.values import ALIGNED, pack, unpack
from gaancore.training.run_folder import FolderTakenError

HOSTS = ["north", "south", "south"]


def messages(found):
    return [str(error) for error in found]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.recursive(SCALARS, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=20))
def test_values_come_back_as_they_were(value):
    assert unpack(pack(value)) == value


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_arrays_come_back_with_type_and_shape(dtype):
    arrays = {"a": np.arange(6).reshape(2, 3).astype(dtype), "none": np.empty((0, 4), dtype)}
    found = unpack(pack([arrays, arrays["a"].T, np.array(7.5)]))
    for name, array in arrays.items():
        assert found[0][name].dtype == array.dtype
        assert_array_equal(found[0][name], array)
        found[0][name][...] = 0  # it is the receiver's own
    assert_array_equal(found[1], arrays["a"].T)
    assert found[2] == 7.5


@given(st.lists(st.integers(0, 100), max_size=5), st.text())
def test_arrays_of_any_length_come_back_aligned_and_share_no_number(sizes, word):
    """So that compiled loops take them as they are."""
    arrays = [np.arange(size, dtype=np.int64 if size % 2 else np.uint8) for size in sizes]
    message = pack([word, arrays])
    assert message.size % ALIGNED == 0
    found = unpack(message)[1]
    assert all(x.flags.aligned and x.flags.writeable for x in found)
    for before, x in zip(arrays, found, strict=True):
        assert_array_equal(before, x)
        x[...] = 0


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_get_what_each_has(size):
    found = results(on_ranks(size, lambda team: team.all([team.rank, 0.1])))
    assert found == [[[rank, 0.1] for rank in range(size)]] * size
    found = results(on_ranks(size, lambda team: team.any(team.rank == size - 1)))
    assert found == [True] * size
    found = results(on_ranks(size, lambda team: team.rows(np.full((team.rank, 2), team.rank))))
    expected = np.repeat(np.arange(size), np.arange(size))
    for rows in found:
        assert_array_equal(rows, np.stack([expected, expected], axis=1))


def test_the_first_alone_makes_what_all_get():
    made = []

    def make():
        made.append("once")
        return {"lr": 0.1, "x": np.ones(2)}

    for found in results(on_ranks(3, lambda team: team.from_first(make))):
        assert found["lr"] == 0.1
        assert_array_equal(found["x"], [1, 1])
    assert made == ["once"]


def test_what_one_rank_finds_is_raised_in_all_and_names_it():
    def work(team):
        with team.together():
            if team.rank == 1:
                raise DataError("edges.csv: row 3: no such node; add it")
        pytest.fail("went on")

    found = on_ranks(3, work, hosts=HOSTS)
    assert {type(error) for error in found} == {DataError}
    assert messages(found) == ["edges.csv: row 3: no such node; add it (rank 1 on south)"] * 3


def test_what_all_find_is_said_as_one_finds_it():
    def work(team):
        with team.together():
            raise TrainingError("the loss is nan")

    assert messages(on_ranks(3, work)) == ["the loss is nan"] * 3


def test_of_several_errors_the_first_rank_s_is_raised():
    def work(team):
        with team.together():
            if team.rank:
                raise DataError(f"file {team.rank}")

    assert messages(on_ranks(3, work)) == ["file 1 (rank 1)"] * 3


def test_an_error_reaches_ranks_that_are_about_to_talk_of_something_else():
    def work(team):
        with team.together():
            if team.rank == 2:
                raise MemoryError("9 GB")
            with team.together():
                team.rows(np.ones(3))

    found = on_ranks(3, work)
    assert {type(error) for error in found} == {MemoryError}
    assert messages(found) == ["9 GB (rank 2)"] * 3


def test_what_the_first_does_for_all_fails_for_all_without_its_name():
    def work(team):
        def taken():
            raise FolderTakenError("runs/x: there is a run in this folder already")

        with team.together():
            team.from_first(taken)

    found = on_ranks(2, work)
    assert {type(error) for error in found} == {SettingsError}
    assert messages(found) == ["runs/x: there is a run in this folder already"] * 2


def fails_for(team, rank):
    with team.together():
        if team.rank == rank:
            raise DataError(f"attempt {rank}")


def test_ranks_can_go_on_after_an_error_that_was_caught():
    def work(team):
        for attempt in range(2):
            with pytest.raises(DataError, match=f"attempt {attempt}"):
                fails_for(team, attempt)
            assert team.agreed
        return team.all(team.rank)

    assert results(on_ranks(2, work)) == [[0, 1]] * 2


def test_ranks_at_different_places_are_told_so():
    def work(team):
        return team.rows(np.ones(1)) if team.rank else team.all(1)

    assert messages(on_ranks(2, work)) == ["ranks are at different places: all, rows"] * 2


def test_a_rank_with_other_facts_is_named_with_what_differs():
    def work(team):
        team.expect_same({"version of gaancore": "1", "seed": 5 if team.rank == 2 else 4})

    found = on_ranks(3, work, hosts=HOSTS)
    expected = "seed: rank 2 on south has 5, but rank 0 on north has 4; give all ranks the same"
    assert {type(error) for error in found} == {SettingsError}
    assert all(message.startswith(expected) for message in messages(found))
    results(on_ranks(3, lambda team: team.expect_same({"seed": 4})))


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ([{0, 1, 2, 3}] * 3, [4, 2, 2]),  # nobody is bound: south's two share its CPUs
        ([{0, 1}, {0, 1}, {2, 3}], [2, 2, 2]),  # bound to CPUs of their own
        ([{0}, {0}, {0}], [1, 1, 1]),  # more ranks than CPUs
    ],
)
def test_ranks_of_a_machine_share_out_its_cpus(cpus, expected, monkeypatch):
    mine = threading.local()
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: mine.cpus, raising=False)

    def work(team):
        mine.cpus = cpus[team.rank]
        return num_threads(team)

    assert results(on_ranks(3, work, hosts=HOSTS)) == expected


def test_the_end_of_one_rank_is_the_end_of_all(tmp_path):
    place = Place(2)

    def work(team):
        team.spoken = tmp_path / "spoken"
        if team.rank:
            team.abort(2)
        team.all(0)

    found = on_ranks(2, work, place)
    assert place.aborted == [(1, 2)]
    assert isinstance(found[1], SystemExit)
    assert (tmp_path / "spoken").is_file()  # so that nobody says it was killed
