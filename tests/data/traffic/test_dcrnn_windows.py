"""DCRNN's windows give back the series that they were cut from, and the windows of each file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_traffic import speeds_of

from gaancore.data.traffic.layouts.dcrnn_windows import FILES, read_dcrnn_windows
from gaancore.errors import DataError

SPEEDS = speeds_of(40, 3)
DAY = (np.arange(40) * 300 / 86400 + 0.99) % 1  # passes midnight


def write_windows(
    folder: Path, parts: list[list[int]], history: int = 4, horizon: int = 2, channels: int = 2
) -> Path:
    """parts: the first rows of the windows in each of the three files."""
    rows = np.stack([SPEEDS, np.broadcast_to(DAY[:, None], SPEEDS.shape)], axis=-1)[..., :channels]
    for name, starts in zip(FILES, parts, strict=True):
        x = np.stack([rows[s : s + history] for s in starts])
        y = np.stack([rows[s + history : s + history + horizon] for s in starts])
        offsets = {
            "x_offsets": np.arange(1 - history, 1)[:, None],
            "y_offsets": np.arange(1, horizon + 1)[:, None],
        }
        np.savez(folder / name, x=x, y=y, **offsets)
    return folder


def test_windows_one_step_apart_are_one_series(tmp_path):
    parts = [list(range(25)), list(range(25, 28)), list(range(28, 35))]
    found = read_dcrnn_windows(write_windows(tmp_path, parts))
    assert_array_equal(found.speeds, SPEEDS)
    assert_array_equal(found.time_of_day, DAY.astype(np.float32))
    assert_array_equal(found.stretches, [0, 40])
    assert found.step == 300
    assert (found.windows.history, found.windows.horizon) == (4, 2)
    for part, starts in zip(("train", "val", "test"), parts, strict=True):
        assert_array_equal(getattr(found.windows, part), starts)
    assert "they are one series of 40 rows" in found.notes[0]


def test_windows_split_by_rows_are_a_stretch_for_each_part(tmp_path):
    parts = [list(range(11)), list(range(16, 19)), list(range(24, 35))]
    found = read_dcrnn_windows(write_windows(tmp_path, parts))
    assert_array_equal(found.speeds, np.concatenate([SPEEDS[:16], SPEEDS[16:24], SPEEDS[24:40]]))
    assert_array_equal(found.stretches, [0, 16, 24, 40])
    assert_array_equal(found.windows.test, range(24, 35))


@pytest.mark.parametrize("parts", [[[7, 3, 20, 21], [2], [30, 9]], [[0, 0], [0], [0]]])
def test_windows_in_any_order_are_kept_as_they_are(tmp_path, parts):
    found = read_dcrnn_windows(write_windows(tmp_path, parts))
    for part, starts in zip(("train", "val", "test"), parts, strict=True):
        for row, start in zip(getattr(found.windows, part), starts, strict=True):
            assert_array_equal(found.speeds[row : row + 6], SPEEDS[start : start + 6])
            inside = (found.stretches > row) & (found.stretches < row + 6)
            assert not inside.any()


@pytest.mark.parametrize("step", range(4))
def test_a_window_with_another_reading_than_the_one_before_begins_a_stretch(tmp_path, step):
    path = write_windows(tmp_path, [[0, 1], [2], [3]]) / "train.npz"
    with np.load(path) as arrays:
        x, y = arrays["x"], arrays["y"]
    x[0, step, 0, 0] += 1
    np.savez(path, x=x, y=y)
    expected = [0, 9] if step == 0 else [0, 6, 14]
    assert read_dcrnn_windows(tmp_path).stretches.tolist() == expected


def test_windows_without_a_time_of_day_have_none(tmp_path):
    found = read_dcrnn_windows(write_windows(tmp_path, [[0, 1], [2], [3]], channels=1))
    assert found.time_of_day is None
    assert_array_equal(found.speeds, SPEEDS[:9])


def test_missing_readings_do_not_tear_the_series(tmp_path):
    path = write_windows(tmp_path, [[0, 1], [2], [3]]) / "train.npz"
    with np.load(path) as arrays:
        x, y = arrays["x"], arrays["y"]
    x[0, 1:, 2, 0] = x[1, :3, 2, 0] = np.nan
    y[0, 0, 2, 0] = x[1, 3, 2, 0]
    np.savez(path, x=x, y=y)
    found = read_dcrnn_windows(tmp_path)
    assert_array_equal(found.stretches[:2], [0, 7])


def change(name: str, **arrays: Any):
    def damage(folder: Path) -> None:
        with np.load(folder / name) as old:
            kept = {key: arrays.get(key, old[key]) for key in old.files}
        np.savez(folder / name, **{k: v for k, v in kept.items() if v is not None})

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "val.npz").unlink(), r"val\.npz: No such file"),
        (lambda folder: (folder / "val.npz").write_bytes(b"PK"), r"val\.npz: not a readable"),
        (change("train.npz", y=None), r"train\.npz: expected the arrays x and y; .* x"),
        (change("val.npz", x=np.ones((1, 4, 3))), r"val\.npz: expected x and y in shape"),
        (change("val.npz", x=np.ones((2, 4, 3, 2))), r"val\.npz: expected x and y in shape"),
        (change("val.npz", y=np.ones((1, 2, 4, 2))), r"val\.npz: expected x and y in shape"),
        (change("val.npz", y=np.ones((1, 2, 3, 2), int)), r"val\.npz: expected x and y in shape"),
        (change("test.npz", y_offsets=np.array([0, 1])), r"test\.npz: y_offsets: expected 1 to 2"),
        (change("test.npz", y=np.ones((1, 3, 3, 2)), y_offsets=None), r"test\.npz: windows of"),
    ],
)
def test_bad_windows_are_refused(tmp_path, damage, message):
    damage(write_windows(tmp_path, [[0, 1], [2], [3]]))
    with pytest.raises(DataError, match=message) as caught:
        read_dcrnn_windows(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_second_channel_that_is_no_time_of_day_is_not_taken_for_one(tmp_path):
    path = write_windows(tmp_path, [[0, 1], [2], [3]]) / "train.npz"
    with np.load(path) as arrays:
        x, y = arrays["x"], arrays["y"]
    x[..., 1] += 1
    np.savez(path, x=x, y=y)
    found = read_dcrnn_windows(tmp_path)
    assert found.time_of_day is None
    assert "channel 1 is not in [0, 1), so not the time of day: left out" in found.notes
