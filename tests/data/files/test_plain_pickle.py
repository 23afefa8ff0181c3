"""A pickle can give arrays and plain values, and nothing it asks for beyond that is done."""

import os
import pickle
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_traffic import IDS, matrix, write_pickle

from gaancore.data.files.plain_pickle import read_plain_pickle
from gaancore.errors import DataError

ARRAYS = {
    "float32": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big-endian": np.arange(4).astype(">i4"),
    "a slice": np.arange(10)[::3],
    "text": np.array(["101", "7"]),
    "bytes": np.array([b"101", b"7"]),
    "true or false": np.array([True, False]),
    "no dimension": np.array(1.5),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_comes_back_as_it_was(tmp_path, name, protocol):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(ARRAYS[name], protocol))
    found = read_plain_pickle(path)
    assert found.dtype == ARRAYS[name].dtype
    assert_array_equal(found, ARRAYS[name])


def test_python_2s_text_and_arrays_are_read(tmp_path):
    # what Python 2.7 with NumPy 1.16 writes for [["101"], {"101": 0}, array([[0.5]], "<f4")]
    content = (
        b"(lp0\n(lp1\nS'101'\np2\naa(dp3\ng2\nI0\nsacnumpy.core.multiarray\n_reconstruct\np4\n"
        b"(cnumpy\nndarray\np5\n(I0\ntp6\nS'b'\np7\ntp8\nRp9\n(I1\n(I1\nI1\ntp10\ncnumpy\ndtype\n"
        b"p11\n(S'f4'\np12\nI0\nI1\ntp13\nRp14\n(I3\nS'<'\np15\nNNNI-1\nI-1\nI0\ntp16\nbI00\n"
        b"S'\\x00\\x00\\x00?'\np17\ntp18\nba."
    )
    path = tmp_path / "a.pkl"
    path.write_bytes(content)
    ids, rows, weights = read_plain_pickle(path)
    assert (ids, rows) == (["101"], {"101": 0})
    assert_array_equal(weights, np.array([[0.5]], np.float32))


class Runs:
    """What a hostile pickle does: reading it calls `function(*arguments)`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Runs(os.system, "touch ran"), r"posix\.system|nt\.system"),
        (Runs(eval, "open('ran', 'w')"), r"__builtin__\.eval"),
        (Runs(Path.touch, Path("ran")), r"__builtin__\.getattr|pathlib"),
        ([Runs(exec, "1")], r"__builtin__\.exec"),
        (np.float64(3), r"multiarray\.scalar"),
        (np.array([1, "a"], object), "an array of Python objects"),
        (np.zeros(2, "M8[s]"), "an array of dtype M8"),
        (np.ma.masked_array([1, 2]), r"numpy\.ma"),
        (time.struct_time(range(9)), r"time\.struct_time"),
    ],
)
def test_anything_but_arrays_and_plain_values_is_refused_by_name_and_not_run(
    tmp_path, monkeypatch, value, name
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(value, 2))
    with pytest.raises(DataError, match=f"refused: the pickle asks for .*({name})"):
        read_plain_pickle(path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.pkl"]


def test_state_cannot_be_pushed_into_what_may_be_named(tmp_path):
    # BUILD on the name itself: would set attributes of the reader's own classes
    path = tmp_path / "a.pkl"
    for name in (b"cnumpy\ndtype\n", b"c_codecs\nencode\n", b"cnumpy\nndarray\n"):
        path.write_bytes(name + b"(dS'__init__'\nI1\nsb.")
        with pytest.raises(DataError, match="not a readable pickle"):
            read_plain_pickle(path)
        assert read_plain_pickle(write_pickle(tmp_path))[0] == list(IDS)


def test_lists_that_hold_each_other_many_times_over_cost_nothing(tmp_path):
    value: Any = []
    for _ in range(60):
        value = [value, value]
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(value))
    assert len(read_plain_pickle(path)) == 2


def test_a_number_that_names_an_entry_far_away_costs_no_memory(tmp_path):
    path = tmp_path / "a.pkl"
    path.write_bytes(b"\x80\x02]r\xff\xff\xff\x7f.")  # LONG_BINPUT 2147483647
    assert read_plain_pickle(path) == []


def peak_of(read: Any) -> int:
    """The most bytes that Python held while `read()` ran."""
    tracemalloc.start()
    try:
        read()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


ARRAY = (  # protocol 0: an array of bytes whose content and shape follow
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I%d\ntcnumpy\n"
    b"dtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntbI00\n%stb."
)
BOMBS = {
    "bytearray": b"\x80\x05\x96" + (2**32).to_bytes(8, "little") + b"abc.",
    "bytearray of 2^64": b"\x80\x05\x96" + b"\xff" * 8 + b"abc.",
    "bytes": b"\x80\x04\x8e" + (2**32).to_bytes(8, "little") + b"abc.",
    "text": b"\x80\x04\x8d" + (2**32).to_bytes(8, "little") + b"abc.",
    "an integer as content": ARRAY % (2_500_000_000, b"I2500000000\n"),
    "a bool as content": ARRAY % (1, b"I01\n"),
    "numbers as content": ARRAY % (3, b"(I1\nI2\nI3\nt"),
    "a shape without content": ARRAY % (2_500_000_000, b"S'abc'\n"),
    "a long list of arguments, many times": (
        b"\x80\x02cnumpy\ndtype\nq\x00(" + b"N" * 50_000 + b"tq\x01]("
        b"" + b"h\x00h\x01R" * 20_000 + b"e."
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_short_pickle_cannot_ask_for_much_memory(tmp_path, name):
    path = tmp_path / "a.pkl"
    path.write_bytes(BOMBS[name])

    def read() -> None:
        with pytest.raises(DataError, match=r"a\.pkl: (not a readable pickle|refused)") as caught:
            read_plain_pickle(path)
        assert "\n" not in str(caught.value)

    assert peak_of(read) < 20_000_000


def test_an_array_that_is_listed_many_times_is_made_once(tmp_path):
    content = np.zeros(100_000, np.uint8)
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps([content] * 20_000, 0))
    assert peak_of(lambda: read_plain_pickle(path)) < 30_000_000
    found = read_plain_pickle(path)
    assert (len(found), found[7].size) == (20_000, 100_000)


def test_bytearrays_of_protocol_5_are_read(tmp_path):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps([bytearray(b"abc"), np.arange(3)], 5))
    found = read_plain_pickle(path)
    assert found[0] == bytearray(b"abc")
    assert_array_equal(found[1], [0, 1, 2])


def test_lines_that_a_text_program_ended_with_cr_lf_are_read(tmp_path):
    value = [["101", "a\nb", "c\r\nd"], {"101": 0}, np.arange(6.0).reshape(2, 3), b"\r\n\n"]
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(value, 0).replace(b"\n", b"\r\n"))
    found = read_plain_pickle(path)
    assert found[:2] == value[:2]
    assert_array_equal(found[2], value[2])


@given(data=st.data())
def test_a_damaged_pickle_ends_in_one_line_or_in_plain_values(tmp_path_factory, data):
    whole = pickle.dumps([list(IDS), {"101": 0}, matrix()], data.draw(st.integers(0, 5)))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "a.pkl"
    path.write_bytes(bytes(damaged[: data.draw(st.integers(0, len(whole)))]))
    message = str(path)
    try:
        read_plain_pickle(path)
    except DataError as error:
        message = str(error)
    assert "\n" not in message
    assert str(path) in message
