"""Everything that a run wrote down about its data is compared when data are given again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_run import contents, small_dataset, small_run
from small_traffic_run import run_until, small_roads, started

from gaancore.data import Windows
from gaancore.errors import DataError, SettingsError
from gaancore.tasks import open_run
from gaancore.tasks.begin import resume
from gaancore.training.same_data import data_differences

DAY = np.timedelta64(86400, "s")


def moved(data):
    places = data.coordinates.copy()
    places[2, 0] += 0.01
    return replace(data, coordinates=places)


def windows_of(data, first: int):
    parts = [np.arange(a, a + 50) for a in (first, 200, 400)]
    return replace(data, windows=Windows(3, 3, *parts))


def weighted_roads():
    data = small_roads()
    graph = data.graph.with_edge_attr(np.linspace(0.1, 1, data.graph.num_edges)[:, None])
    return replace(data, graph=graph, edge_names=("weight",))


def reweighted(data):
    rows = np.array(data.graph.edge_attr)
    rows[0, 0] += 0.01
    return replace(data, graph=data.graph.with_edge_attr(rows))


EDITS = {
    "other lengths or weights of roads": reweighted,
    "other coordinates": moved,
    "other times": lambda data: replace(data, times=data.times + 7 * DAY),
    "a row every 60 minutes, then every 5 minutes": lambda data: replace(data, step=3600),
    "sensor 'x', then 'road0-0'": lambda data: replace(
        data, sensor_ids=("x", *data.sensor_ids[1:])
    ),
    "other windows": lambda data: windows_of(data, 0),
}

REFUSED = {
    "a row every 60 minutes, then every 5 minutes": "its rows are 60 minutes apart, but the run",
    "sensor 'x', then 'road0-0'": r"1 sensor \(x\) it does not know, 1 sensor \(road0-0\) not here",
}


@pytest.mark.parametrize("words", EDITS)
def test_a_run_whose_readings_were_edited_is_refused_and_told_what_differs(tmp_path, words):
    """None of these is in the checksum of graph and readings."""
    run_until(started(tmp_path, weighted_roads(), variant="released"), 2)
    before = contents(tmp_path)
    other = EDITS[words](weighted_roads())
    asks = [
        lambda: resume(tmp_path, other),
        lambda: open_run(tmp_path, data=other),
    ]
    for ask in asks:
        with pytest.raises(SettingsError) as refusal:
            ask()
        assert words in str(refusal.value)
        assert "\n" not in str(refusal.value)
    assert contents(tmp_path) == before
    resume(tmp_path, weighted_roads()).run.train()
    with pytest.raises(SettingsError, match="the data has changed since the run began"):
        open_run(tmp_path).plot(data=other)
    if words in REFUSED:
        with pytest.raises(DataError, match=REFUSED[words]):
            open_run(tmp_path).evaluate(data=other)
    else:  # other readings of the same sensors are scored, and it says that they are others
        notes = open_run(tmp_path).evaluate(data=other).notes
        assert f"not the data that the run was trained on ({words})" in " ".join(notes)


def test_windows_of_the_files_are_compared_too(tmp_path):
    then, now = (windows_of(small_roads(), first).facts() for first in (0, 1))
    assert data_differences(then, now) == ["other windows"]
    assert data_differences(then, then) == []


def test_times_in_another_unit_are_the_same_times():
    data = small_roads()
    finer = replace(data, times=data.times.astype("datetime64[ms]"))
    assert data_differences(data.facts(), finer.facts()) == []


def test_an_older_run_goes_on_with_the_same_bits_and_says_what_is_not_compared(tmp_path):
    started(tmp_path / "straight").train()
    run_until(started(tmp_path / "old"), 2)
    file = tmp_path / "old" / "settings.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    for key in ("step", "checksums"):
        del settings["data"][key]
    file.write_text(json.dumps(settings), encoding="utf-8")
    begun = resume(tmp_path / "old", small_roads())
    (line,) = begun.lines
    assert line.startswith("note: the run is of an older version")
    begun.run.train()
    straight, old = contents(tmp_path / "straight"), contents(tmp_path / "old")
    assert old["best.safetensors"] == straight["best.safetensors"]
    opened = open_run(tmp_path / "old")
    scores = opened.evaluate(data=small_roads())
    assert scores.notes == (line.removeprefix("note: "),)
    assert line.removeprefix("note: ") in opened.forecast(small_roads(), missing="keep").notes
    other = small_roads().speeds.copy()
    other[0] += 1
    with pytest.raises(SettingsError, match=r"began \(checksum"):
        resume(tmp_path / "old", replace(small_roads(), speeds=other))


@pytest.mark.parametrize("key", ["class_names", "feature_names"])
def test_names_of_classes_and_features_are_compared(tmp_path, key):
    count = {"class_names": 5, "feature_names": 6}[key]
    names = [f"name {n}" for n in range(count)]
    data = replace(small_dataset(), **{key: tuple(names)})
    small_run(tmp_path, data).train()
    turned = replace(data, **{key: tuple(names[::-1])})
    message = rf"\({key.split('_')[0]} 'name {count - 1}', then 'name 0'\)"
    with pytest.raises(SettingsError, match=message):
        resume(tmp_path, turned)
    with pytest.raises(SettingsError, match=message):
        open_run(tmp_path, data=turned)


def test_data_of_another_kind_are_refused_by_their_kind(tmp_path):
    small_run(tmp_path).train()
    run = open_run(tmp_path)
    for ask in (run.evaluate, run.predict, run.plot):
        with pytest.raises(DataError, match="expected a path or a NodeDataset, got a TrafficDatas"):
            ask(data=small_roads())
