"""What a path holds is told from names alone, and agrees with what the loaders read."""

from pathlib import Path

import numpy as np
import pytest
from small_files import LAYOUTS, write_graphsage, write_matlab, write_npz, write_reddit
from small_traffic import IDS, speeds_of, times_of, write_csv, write_pickle

from gaancore.data import load_metr_la, load_nodes, look
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store
from gaancore.data.traffic.layouts import dcrnn_windows
from gaancore.errors import DataError

SPEEDS = speeds_of()


def write_store_of(folder: Path) -> Path:
    write_store(read_layout(write_npz(folder)), folder / "store", name="small")
    return folder / "store"


GRAPHS = LAYOUTS | {
    "store": write_store_of,
    "dgl reddit": write_reddit,
    "graphsage prefix": lambda folder: write_graphsage(folder) / "toy",
    "npz in a folder": lambda folder: write_npz(folder).parent,
}


@pytest.mark.parametrize("layout", GRAPHS)
def test_a_graph_in_every_layout_is_one(layout, tmp_path):
    path = GRAPHS[layout](tmp_path)
    assert look(path) == look(str(path)) == "nodes"
    assert load_nodes(path, name="small").num_nodes == 6


def test_a_matlab_file_is_a_graph(tmp_path):
    assert look(write_matlab(tmp_path)) == "nodes"


def write_speeds(folder: Path) -> Path:
    return write_csv(folder / "speeds.csv", SPEEDS, ["", *IDS], times_of(30).tolist())


def write_edges(folder: Path, name: str = "edges.csv") -> Path:
    (folder / name).write_text("from,to\n101,102\n102,103\n104,102\n", encoding="utf-8")
    return folder


def speeds_and_pickle(folder: Path) -> Path:
    write_pickle(folder)
    return write_speeds(folder).parent


def speeds_and_edges(folder: Path) -> Path:
    write_speeds(folder)
    return write_edges(folder)


def speeds_alone(folder: Path) -> Path:
    write_pickle(folder)
    return write_speeds(folder)


def npz_of(name: str):
    def write(folder: Path) -> Path:
        np.savez(folder / "speeds.npz", **{name: SPEEDS}, sensor_ids=np.array(IDS))
        return write_edges(folder)

    return write


def npz_file(folder: Path) -> Path:
    return npz_of("speed")(folder) / "speeds.npz"


def windows(folder: Path) -> Path:
    cut = np.stack([SPEEDS[s : s + 6, :, None] for s in range(25)])
    for name, part in zip(
        dcrnn_windows.FILES, (slice(15), slice(15, 20), slice(20, 25)), strict=True
    ):
        np.savez(folder / name, x=cut[part, :4], y=cut[part, 4:])
    write_pickle(folder)
    return folder


def h5_file(folder: Path) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "metr-la.h5", "w") as file:
        table = file.create_group("df")
        table.attrs.update(pandas_type="frame", nblocks=1)
        table["axis0"] = table["block0_items"] = np.array(IDS, "S3")
        table["axis1"], table["block0_values"] = np.arange(30), SPEEDS
    write_pickle(folder)
    return folder


TRAFFIC = {
    "speeds and adj_mx.pkl": speeds_and_pickle,
    "speeds and edges.csv": speeds_and_edges,
    "the file of speeds": speeds_alone,
    "npz speed": npz_of("speed"),
    "npz speeds": npz_of("speeds"),
    "npz data": npz_of("data"),
    "one npz": npz_file,
    "DCRNN windows": windows,
    "h5": h5_file,
}


@pytest.mark.parametrize("layout", TRAFFIC)
def test_speeds_in_every_layout_are_traffic(layout, tmp_path):
    path = TRAFFIC[layout](tmp_path)
    assert look(path) == look(str(path)) == "traffic"
    assert load_metr_la(path).num_sensors == 4


def test_a_graph_of_roads_without_speeds_is_traffic_too(tmp_path):
    assert look(write_pickle(tmp_path).parent) == "traffic"


def test_damage_behind_the_names_is_left_to_the_loaders(tmp_path):
    (tmp_path / "nodes.csv").write_bytes(b"\xff\xfe")
    assert look(tmp_path) == "nodes"
    (tmp_path / "speeds.h5").write_bytes(b"nothing")
    assert look(tmp_path / "speeds.h5") == "traffic"


def test_a_path_with_neither_is_refused_with_what_was_looked_for_and_what_is_there(tmp_path):
    (tmp_path / "notes.txt").touch()
    for number in range(9):
        (tmp_path / f"part{number}.bin").touch()
    with pytest.raises(DataError) as refusal:
        look(tmp_path)
    message = str(refusal.value)
    assert message.startswith(f"{tmp_path}: neither a graph with features nor speeds of sensors")
    for wanted in ("nodes.csv edges.csv", "role.json", "-G.json", "reddit_data.npz", "train.npz"):
        assert wanted in message
    assert message.endswith("the folder holds notes.txt, " + ", ".join(
        f"part{number}.bin" for number in range(7)
    ) + " and 2 more")  # fmt: skip
    assert "\n" not in message


@pytest.mark.parametrize(
    ("arrays", "there"),
    [
        ({"labels": np.zeros(3)}, "its arrays are labels"),
        # a sparse matrix that SciPy saved, which has an array `data` as PeMS' speeds have
        ({"data": np.ones(1), "indptr": np.zeros(2), "format": b"csr"}, "data, format, indptr"),
        ({"x": np.ones((3, 1)), "y": np.zeros(3)}, "its arrays are x, y"),
    ],
)
def test_arrays_of_neither_are_named(arrays, there, tmp_path):
    np.savez(tmp_path / "some.npz", **arrays)
    with pytest.raises(DataError, match=there):
        look(tmp_path / "some.npz")


def test_other_files_and_missing_ones_are_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DataError, match=r"a file of another kind \(\.txt\)"):
        look(tmp_path / "notes.txt")
    with pytest.raises(DataError, match="nowhere: no such file or folder"):
        look(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"the folder holds edges\.csv"):
        look(write_edges(_folder(tmp_path / "edges")))
    (tmp_path / "cut.npz").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"cut.npz: not a readable .npz archive"):
        look(tmp_path / "cut.npz")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


SHARED = {
    "ppi-toy": "nodes",
    "ppi6.npz": "nodes",
    "single-label/BlogCatalog.mat": "nodes",
    "cases/csv_labels/base": "nodes",
    "cases/umlauts": "nodes",
    "cases/npz/no_val.npz": "nodes",
    "cases/npz/ogb_idx.npz": "nodes",
    "cases/hostile/graphsage_ids_over_2_63": "nodes",
    "metr-la": "traffic",
    "metr-la/raw_first_1026_steps": "traffic",
    "metr-la-10sensors": "traffic",
    "metr-la-10sensors/metr_la_10sensors_34272.npz": "traffic",
    "cases/pems_npz_without_ids": "traffic",
    "cases/pems_headerless_csv": "traffic",
    "cases/forecast/train": "traffic",
    "cases/hostile/speeds_start_two": "traffic",
    "cases/hostile/adj_id_10e6000": "traffic",
    "cases/h5/blosc": "traffic",
}


@pytest.mark.parametrize("place", SHARED)
def test_public_files_are_what_they_are(place, shared_data):
    if not (shared_data / place).exists():
        pytest.skip(f"no {place} among the public data files")
    assert look(shared_data / place) == SHARED[place]


@pytest.mark.parametrize(
    "place", ["reddit-labels", "cases/graphs/stgcn_adj.npz", "single-label/planetoid"]
)
def test_public_files_of_neither_are_refused(place, shared_data):
    if not (shared_data / place).exists():
        pytest.skip(f"no {place} among the public data files")
    with pytest.raises(DataError, match="neither a graph with features nor speeds"):
        look(shared_data / place)
