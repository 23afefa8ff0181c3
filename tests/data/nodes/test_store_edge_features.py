"""Features of edges in a store: as in memory, mapped, in bounded memory; damage is one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from small_files import write_npz

from gaancore.data import TRAIN, Reading, check_store, load_nodes, open_store
from gaancore.data.nodes.features.edges import edge_statistics
from gaancore.data.nodes.inputs import read_inputs
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store import arcs as arcs_module
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError
from gaancore.graph import arcs, ordered_rows

ALL = Reading(edge_features="auto")
HOW = ("sum", "mean", "max", "first")


def write_graph(folder: Path, *, repeats: bool = False, dtype: str = "f4") -> Path:
    """Sixty nodes of mixed splits with arcs one way, both ways and, if asked for, repeated."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(60, size=(2, 400))
    if not repeats:
        src, dst = np.unique(np.stack([src, dst]), axis=1)
        order = rng.permutation(src.size)
        src, dst = src[order], dst[order]
    values = rng.standard_normal((src.size, 2)).astype(dtype)
    return write_npz(
        folder, src=src, dst=dst, x=rng.standard_normal((60, 3)), y=rng.integers(0, 2, 60),
        split=rng.integers(0, 3, 60), edge_attr=values,
    )  # fmt: skip


def rows(data) -> dict[tuple[int, int], list[float]]:
    src, dst = data.graph.edges()
    ids = data.node_ids
    pairs = zip(ids[src].tolist(), ids[dst].tolist(), strict=True)
    return dict(zip(pairs, data.graph.edge_attr.tolist(), strict=True))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("how", HOW)
def test_a_store_holds_what_is_made_in_memory_however_repeats_are_merged(
    how, dtype, tmp_path, monkeypatch
):
    source = write_graph(tmp_path, repeats=True, dtype=dtype)
    loaded = load_nodes(source, name="mine", reading=ALL, repeated_edges=how)
    monkeypatch.setattr(arcs, "EDGES_AT_A_TIME", 7)
    write = arcs_module.write_edge_attr
    monkeypatch.setattr(
        arcs_module, "write_edge_attr", lambda *a, **k: write(*a, **k, values_at_a_time=50)
    )
    write_store(read_layout(source, ALL), tmp_path / "store", name="mine", repeated_edges=how)
    opened = check_store(tmp_path / "store")
    assert opened.graph.edge_attr.dtype == loaded.graph.edge_attr.dtype == np.float32
    assert rows(opened) == rows(loaded)
    assert opened.notes == loaded.notes
    assert "2 features of edges" in opened.notes
    for mine, theirs in zip(edge_statistics(opened), edge_statistics(loaded), strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-6)


def test_repeats_that_nothing_says_how_to_merge_are_refused_as_in_memory(tmp_path):
    raw = read_layout(write_graph(tmp_path, repeats=True), ALL)
    said = []
    for attempt in (
        lambda: load_nodes(tmp_path / "toy.npz", name="mine", reading=ALL),
        lambda: write_store(raw, tmp_path / "store", name="mine"),
    ):
        with pytest.raises(DataError, match=r"edges repeat another one, and have features") as told:
            attempt()
        said.append(str(told.value))
    assert said[0] == said[1]
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("values", [[3e38, 3e38], [np.inf, 1], [1e39, 1]])
def test_what_is_beyond_float32_is_refused_as_in_memory(values, tmp_path):
    source = write_npz(
        tmp_path, src=[0, 0], dst=[1, 1], edge_attr=np.array(values)[:, None]
    )  # fmt: skip
    said = []
    for attempt in (
        lambda: load_nodes(source, name="mine", reading=ALL, repeated_edges="sum"),
        lambda: write_store(
            read_layout(source, ALL), tmp_path / "store", name="mine", repeated_edges="sum"
        ),
    ):
        with pytest.raises(DataError, match=r"features of edges: .* float32") as told:
            attempt()
        said.append(str(told.value))
    assert said[0] == said[1]


def test_they_are_mapped_and_so_is_what_training_sees_of_them(tmp_path, monkeypatch):
    source = write_graph(tmp_path)
    write_store(read_layout(source, ALL), tmp_path / "store", name="mine")
    opened, loaded = open_store(tmp_path / "store"), load_nodes(source, name="mine", reading=ALL)
    assert isinstance(opened.graph.edge_attr.base, np.memmap)
    monkeypatch.setattr(ordered_rows, "ENTRIES_AT_A_TIME", 5)
    view, _ = opened.view(TRAIN)
    assert isinstance(view.graph.edge_attr.base, np.memmap)
    assert rows(view) == rows(loaded.view(TRAIN)[0])
    inputs = read_inputs(tmp_path / "store")
    np.testing.assert_array_equal(inputs.graph.edge_attr, opened.graph.edge_attr)


@pytest.fixture
def store(tmp_path):
    raw = read_layout(write_graph(tmp_path), ALL)
    write_store(raw, tmp_path / "store", name="mine")
    return tmp_path / "store"


def change(store: Path, array: np.ndarray, **facts) -> None:
    """Another edge_attr.npy that meta.json agrees with, but for the checksum."""
    path = store / "edge_attr.npy"
    np.save(path, array)
    meta = json.loads((store / "meta.json").read_text())
    size = path.stat().st_size
    meta["files"]["edge_attr"] |= {
        "dtype": array.dtype.str, "shape": list(array.shape), "bytes": size
    }  # fmt: skip
    (store / "meta.json").write_text(json.dumps(meta | facts))


DAMAGE = {
    "fewer rows": (lambda a: a[1:], {}, r"edge_attr: expected \(\d+, B\), a row for each edge"),
    "one dimension": (lambda a: a[:, 0], {}, r"edge_attr: expected \(\d+, B\)"),
    "float64": (lambda a: a.astype("f8"), {}, "edge_attr.npy: not the edge_attr of a store"),
    "complex": (lambda a: a.astype("c8"), {}, "edge_attr: expected numbers, got dtype complex64"),
    "names": (lambda a: a, {"edge_names": ["one"]}, "edge_attr.npy: not the edge_attr of a store"),
    "a number as a name": (lambda a: a, {"edge_names": [1, 2]}, "edge_names is missing or malform"),
    "other values": (lambda a: a + 1, {}, "edge_attr.npy: its checksum is"),
    "columns first": (np.asfortranarray, {}, "edge_attr.npy: its numbers lie column by column"),
}


@pytest.mark.parametrize(("damage", "facts", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_features_of_edges_are_refused_in_one_line(damage, facts, message, store):
    change(store, damage(np.load(store / "edge_attr.npy")), **facts)
    with pytest.raises(DataError, match=message):
        open_store(store)


def test_a_file_that_is_cut_or_gone_is_named(store):
    path = store / "edge_attr.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"edge_attr.npy: .* truncated; convert the data again"):
        open_store(store)
    path.unlink()
    with pytest.raises(DataError, match=r"edge_attr.npy: No such file"):
        open_store(store)


def test_a_store_without_them_opens_also_as_older_versions_wrote_it(tmp_path):
    write_store(read_layout(write_graph(tmp_path)), tmp_path / "store", name="mine")
    meta = json.loads((tmp_path / "store" / "meta.json").read_text())
    assert meta.pop("edge_names") is None
    assert "edge_attr" not in meta["files"]
    (tmp_path / "store" / "meta.json").write_text(json.dumps(meta))
    assert open_store(tmp_path / "store").graph.edge_attr is None
