"""Damaged files of every layout and of a run: refused in one line, or told as they are."""

from pathlib import Path

import pytest
from fuzzing import all_samples, fuzz


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", all_samples())
def test_damage_is_refused_in_one_line_or_changes_only_what_it_touches(
    name: str, count: int, tmp_path: Path
) -> None:
    faults, loaded = fuzz(name, tmp_path, range(count))
    assert not faults, "\n\n".join(faults[:20])
    assert 0 < loaded < count
