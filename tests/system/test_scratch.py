from pathlib import Path

import numpy as np
import pytest

from gaancore.system import mapped
from gaancore.system.mapped import in_a_file, room_for, scratch_folder, scratch_in


def test_large_arrays_are_in_a_file_without_a_name_and_small_ones_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "LARGE", 800)
    with scratch_in(tmp_path) as scratch:
        small, large = room_for((99,), np.float64), room_for((10, 10), np.float64)
    assert not isinstance(small, np.memmap)
    assert isinstance(large, np.memmap)
    assert scratch.bytes == 800
    assert list(tmp_path.iterdir()) == []
    large[:] = np.arange(100).reshape(10, 10)
    assert large.sum() == 4950


def test_temporary_files_lie_where_the_folder_is_to_be_made(tmp_path: Path) -> None:
    outside = scratch_folder()
    with scratch_in(tmp_path / "not" / "there"):
        assert scratch_folder() == tmp_path
        assert in_a_file((3,), np.int8).tolist() == [0, 0, 0]
    assert scratch_folder() == outside
