"""Files on which an earlier version went wrong: each is read, or refused for its true reason."""

import pytest

import gaancore
from gaancore.errors import DataError

# How many nodes, or sensors and rows, there are
READ = {
    "csv_labels/base": 40,
    "csv_labels/masks_not_split": 40,
    "csv_labels/neg1_label_insplit": 40,
    "csv_labels/r_NA_label_nosplit": 40,
    "evaluate_elsewhere/new_all.npz": 120,
    "evaluate_elsewhere/new_without_ant.npz": 120,
    "evaluate_elsewhere/train.npz": 300,
    "graphs/cora_small": 34,
    "hostile/graphsage_ids_over_2_63": 6,
    "npz/gap_class.npz": 60,
    "npz/masks_n1.npz": 60,
    "npz/no_val.npz": 60,
    "npz/ogb_idx.npz": 60,
    "npz/y_neg1.npz": 60,
    "umlauts": 40,
    "forecast/hourly": (3, 60),
    "forecast/no_times": (3, 60),
    "forecast/reordered": (3, 60),
    "forecast/sensor_b_out": (3, 60),
    "forecast/tail_missing": (3, 60),
    "forecast/train": (3, 900),
    "h5/strindex": (4, 200),
    "header_of_float_ids": (3, 60),
    "hostile/first_sensor_writes_outside": (4, 60),
    "pems_headerless_csv": (8, 300),
    "pems_npz_without_ids": (8, 400),
    "steps/ms500": (3, 500),
    "times/compact": (3, 408),
    "times/epoch_s": (3, 408),
    "times/iso": (3, 408),
    "times/weekday": (3, 408),
}
NEITHER = "neither a graph with features nor speeds of sensors"
REFUSED = {
    "graphs/adj_mx_protocol0_crlf.pkl": NEITHER,
    "graphs/stgcn_adj.npz": NEITHER,
    "hostile/adj_bytearray8_4GB.pkl": NEITHER,
    "hostile/adj_content_int.pkl": NEITHER,
    "hostile/store_meta_without_ceiling.json": NEITHER,
    "pems08_roads": NEITHER,
    "graphs/karate.edgelist": "no features of the nodes; choose degree, ones or spectral",
    "h5/blosc": "axis0 is compressed by blosc, which is not read here",
    "h5/object": "holds Python objects",
    "hostile/adj_id_10e6000": "an id of 6,000 digits",
    "hostile/h5_axis1_1e8_unallocated.h5": "it was not written whole",
    "hostile/nan_latitude": "sensor 102 is at nan",
    "hostile/npz_mask_structured.npz": "val_mask: expected true or false for each of 6 nodes",
    "hostile/row140.mat": "not a readable MATLAB file",
    "hostile/speeds_start_two": "start: expected one time",
    "steps/monthly": "months apart, which is no fixed step",
}


@pytest.mark.parametrize("place", [*READ, *REFUSED])
def test_a_case_is_read_or_refused_for_its_true_reason(place, shared_data):
    path = shared_data / "cases" / place
    if not path.exists():
        pytest.skip(f"no {place} among the cases")
    if place in REFUSED:
        with pytest.raises(DataError, match=REFUSED[place]) as refusal:
            gaancore.load(path)
        assert "\n" not in str(refusal.value)
        return
    data = gaancore.load(path)
    counts = data.num_nodes if data.family == "nodes" else (data.num_sensors, data.num_steps)
    assert counts == READ[place]


@pytest.mark.parametrize("name", ["karate.graphml", "karate.gml"])
def test_the_karate_club_is_read_by_networkx(name, shared_data):
    pytest.importorskip("networkx")
    path = shared_data / "cases" / "graphs" / name
    if not path.exists():
        pytest.skip(f"no {name} among the cases")
    data = gaancore.load(path, label="club")
    assert (data.num_nodes, data.num_edges) == (34, 156)
    assert sorted(data.class_names) == ["Mr. Hi", "Officer"]
    if name.endswith("gml") and not name.endswith("graphml"):
        with pytest.raises(DataError, match=r"if one of club, x0, x1 is one, choose it \(label\)"):
            gaancore.load(path)
