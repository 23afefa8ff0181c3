"""Damaged files of every layout and of a run: refused in one line, or told as they are."""

from pathlib import Path

import fuzz_matlab
import fuzz_networkx
import fuzz_nodes
import fuzz_public
import pytest
from fuzzing import all_samples, fuzz

from gaancore.data.nodes.layouts import find


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", all_samples())
def test_damage_is_refused_in_one_line_or_changes_only_what_it_touches(
    name: str, count: int, tmp_path: Path
) -> None:
    faults, loaded = fuzz(name, tmp_path, range(count))
    assert not faults, "\n\n".join(faults[:20])
    assert 0 < loaded < count


def test_every_reader_of_nodes_has_a_sample(tmp_path: Path) -> None:
    modules = (fuzz_nodes, fuzz_public, fuzz_networkx, fuzz_matlab)
    samples = [sample for module in modules for sample in module.SAMPLES.values()]
    met = set()
    for number, sample in enumerate(samples):
        folder = tmp_path / str(number)
        folder.mkdir()
        sample.write(folder)
        met |= {found.read for p in (folder, *folder.iterdir()) if (found := find._reader(p))}
    readers = {value for name, value in vars(find).items() if name.startswith("read_")}
    readers -= {find.read_layout, *([] if fuzz_networkx.SAMPLES else [find.read_networkx_file])}
    assert met == readers
