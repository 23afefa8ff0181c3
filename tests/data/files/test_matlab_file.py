"""MATLAB files are read where no crash, no memory and no time can take this process with it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from small_files import ARCS, FEATURES, write_matlab

from gaancore.data.files.matlab import child, reader
from gaancore.data.files.matlab.reader import read_matlab_file
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.load import load_nodes
from gaancore.errors import DataError

NAMES = ("Network", "Attributes", "Label")


def test_dense_and_sparse_matrices_come_back(tmp_path):
    found = read_matlab_file(write_matlab(tmp_path), NAMES)
    assert sorted(zip(found["Network"].row, found["Network"].col, strict=True)) == sorted(ARCS)
    assert found["Network"].shape == (6, 6)
    np.testing.assert_array_equal(found["Attributes"].toarray(), FEATURES)
    assert found["Label"].dtype == np.uint8


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import os; os.abort()", r"not a readable MATLAB file: its reader crashed \(SIGABRT\)"),
        ("import time; time.sleep(60)", "not a readable MATLAB file: not read within 1 seconds"),
        ("print('no JSON')", "not a readable MATLAB file"),
    ],
)
def test_a_reader_that_crashes_or_hangs_is_a_refusal(program, message, tmp_path, monkeypatch):
    path = write_matlab(tmp_path)
    other = tmp_path / "other.py"
    other.write_text(program)
    monkeypatch.setattr(child, "__file__", str(other))
    if "sleep" in program:
        monkeypatch.setattr(reader, "SECONDS", 1.0)
    with pytest.raises(DataError, match=message):
        read_layout(path)


def test_a_reader_has_memory_for_what_its_file_can_hold():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, child\n"
        "child.limit_memory(1000)\n"
        "np.ones(50_000_000)\n"
        "try:\n    np.ones(200_000_000)\nexcept MemoryError:\n    print('refused')\n"
    )
    folder = str(child.__file__).removesuffix("child.py")
    command = [sys.executable, "-c", program, folder]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"refused\n"


def test_a_sparse_matrix_that_leaves_its_shape_is_refused(tmp_path):
    path = write_matlab(tmp_path, Network=sparse.csc_array(np.eye(6)[::-1]))
    rows = np.arange(6, dtype="<i4")[::-1].tobytes()
    content = path.read_bytes()
    assert content.count(rows) == 1
    path.write_bytes(content.replace(rows, np.array([5, 4, 3, 2, 1, 10**8], "<i4").tobytes()))
    with pytest.raises(DataError, match=r"toy.mat: not a readable MATLAB file"):
        read_layout(path)


def test_a_damaged_file_is_refused_or_read_as_it_says(tmp_path):
    path = write_matlab(tmp_path)
    content, rng, messages = path.read_bytes(), np.random.default_rng(0), [""]
    for _ in range(12):
        damaged = bytearray(content)
        for at in rng.integers(128, len(content), 3):
            damaged[at] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        try:
            raw = read_layout(path)
        except DataError as refusal:
            messages.append(str(refusal))
        else:
            assert len(raw.features) == raw.graph.num_nodes == len(raw.labels)
    assert not any("\n" in message for message in messages)
    assert all("toy.mat" in message for message in messages[1:])


def test_a_file_that_crashed_the_reader_is_refused(shared_data):
    path = shared_data / "cases" / "hostile" / "row140.mat"
    if not path.exists():
        pytest.skip("no such file among the shared data")
    with pytest.raises(DataError, match=r"row140.mat: .*"):
        read_layout(path)


def test_rows_for_other_than_the_nodes_are_refused_before_zeros_are_filled_in(tmp_path):
    wide = sparse.csc_array(([1.0], ([0], [0])), shape=(10**7, 10))
    with pytest.raises(DataError, match=r"Attributes: expected 6 rows .* got 10,000,000"):
        read_layout(write_matlab(tmp_path, Attributes=wide))


def test_features_beyond_float32_are_refused_without_a_warning(tmp_path):
    path = write_matlab(tmp_path, Attributes=sparse.csc_array(np.full((6, 2), 1e300)))
    with pytest.raises(DataError, match=r"features: 12 values are not finite in float32"):
        load_nodes(path, name="toy", split_shares=(34, 33, 33))
