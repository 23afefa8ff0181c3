"""Every file of the public folders of sensors is read, or refused in one line that is true."""

from pathlib import Path

import numpy as np
import pytest

import gaancore
from gaancore.errors import UserError

FOLDERS = (
    *("metr-la", "metr-la/raw_first_1026_steps", "metr-la-10sensors", "cases/pems08_roads"),
    *("cases/forecast/hourly", "cases/forecast/no_times", "cases/forecast/reordered"),
    *("cases/forecast/sensor_b_out", "cases/forecast/tail_missing", "cases/forecast/train"),
    *("cases/h5/blosc", "cases/h5/object", "cases/h5/strindex", "cases/header_of_float_ids"),
    *("cases/pems_headerless_csv", "cases/pems_npz_without_ids", "cases/steps/ms500"),
    *("cases/steps/monthly", "cases/times/compact", "cases/times/epoch_s", "cases/times/iso"),
    "cases/times/weekday",
)
REFUSED = {
    "metr-la/raw_first_1026_steps": "no graph of the roads found",
    "metr-la-10sensors": "no graph of the roads found",
    "cases/pems08_roads": "neither a graph with features nor speeds of sensors",
    "cases/h5/blosc": "compressed by blosc, which is not read here",
    "cases/h5/object": "holds Python objects",
    "cases/steps/monthly": "the rows are months apart",
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_read_or_refused_for_the_true_cause(shared_data: Path, name: str):
    if name in REFUSED:
        with pytest.raises(UserError, match=REFUSED[name]):
            gaancore.load(shared_data / name)
        return
    data = gaancore.load(shared_data / name)
    assert data.valid.any()
    assert data.graph.num_nodes == data.num_sensors


@pytest.mark.slow
@pytest.mark.parametrize("name", ["metr-la/raw_first_1026_steps", "metr-la-10sensors"])
def test_readings_alone_are_read_with_a_graph_of_their_own(shared_data: Path, name: str):
    data = gaancore.load(shared_data / name, graph_from="correlation", neighbours=3)
    assert (np.diff(data.graph.indptr) >= 3).all()
    assert any("whose readings correlate most" in note for note in data.notes)


@pytest.mark.slow
def test_every_file_by_itself_is_read_or_refused_in_one_line(shared_data: Path):
    outcomes = {}
    for folder in FOLDERS:
        for path in sorted((shared_data / folder).iterdir()):
            if not path.is_file():
                continue
            try:
                outcomes[path] = gaancore.load(path).family
            except UserError as error:
                outcomes[path] = str(error)
                assert "\n" not in outcomes[path]
                assert str(path.parent) in outcomes[path], path
    read = [path.name for path, outcome in outcomes.items() if outcome == "traffic"]
    assert {"los_speed.csv", "speeds.csv", "pems.npz", "s.h5"} <= set(read)
    assert len(outcomes) > 40
