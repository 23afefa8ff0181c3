"""`--nan`: features that are NaN, in the commands that read a dataset."""

import numpy as np
import pytest
from small_files import FEATURES, write_npz

from gaancore.data import open_store


@pytest.fixture
def incomplete(tmp_path):
    x = np.array(FEATURES, np.float32)
    x[3, 1] = np.nan  # of the only validation node
    return write_npz(tmp_path, x=x)


@pytest.mark.parametrize("command", ["train --data IN", "convert IN store"])
def test_they_are_refused_with_the_place_and_the_remedy(refused, incomplete, command):
    line = refused(*command.replace("IN", str(incomplete)).split())
    assert "1 values are not finite in float32, first nan at row 3, column 1 (node id 3)" in line
    assert line.endswith("nan: zero or mean fills those that are NaN")


def test_training_fills_them_says_so_and_an_evaluation_does_the_same(gaancore, incomplete):
    options = ("--nan", "zero", "--epochs", 1, "--out", "run")
    assert (
        "1 features that are NaN replaced by 0"
        in gaancore("train", "--task", "ppi", "--data", incomplete, *options).out
    )
    assert gaancore("evaluate", "run").code == 0


@pytest.mark.parametrize(("nan", "expected"), [("zero", 0), ("mean", (1.5 - 2 + 0.25) / 3)])
def test_a_store_is_written_with_them_filled(gaancore, incomplete, nan, expected):
    assert gaancore("convert", incomplete, "store", "--nan", nan).code == 0
    assert open_store("store").features[3][1] == pytest.approx(expected)
