"""A folder of .npy files under the names of an .npz; features in float16 all the way."""

from pathlib import Path

import numpy as np
import pytest

from gaancore.data import TRAIN, Features, feature_statistics, load_nodes, look, open_store
from gaancore.data.files import arrays
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError

ARRAYS = {
    "src": np.array([0, 1, 3, 3]),
    "dst": np.array([1, 2, 2, 3]),
    "x": np.array([[0.5, 1], [2, -3], [0.25, 7], [1, 1.5]], np.float16),
    "y": np.array([0, 1, 1, -1], np.int16),
    "split": np.array([0, 1, 0, -1], np.int8),
}


def save(folder: Path, content: dict[str, np.ndarray]) -> Path:
    folder.mkdir()
    for name, array in content.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def test_a_folder_of_npy_files_is_read_like_the_npz_of_the_same_arrays(tmp_path: Path) -> None:
    folder = save(tmp_path / "arrays", ARRAYS)
    np.savez(tmp_path / "one.npz", **ARRAYS)
    assert look(folder) == "nodes"
    a, b = (
        load_nodes(path, name="it", unflagged="context") for path in (folder, tmp_path / "one.npz")
    )
    assert a.notes == ("layout: a folder of .npy files", *b.notes[1:])
    assert a.graph.indices.tolist() == b.graph.indices.tolist() == [1, 0, 2, 1, 3, 2, 3]
    for name in ("features", "labels", "split", "node_ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_large_files_of_a_folder_are_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "MAPPED_FROM", 1)
    raw = read_layout(save(tmp_path / "arrays", ARRAYS))
    assert isinstance(raw.features, np.memmap)
    assert raw.features.dtype == np.float16


@pytest.mark.parametrize("other", ["edge_index", "indptr"])
def test_edges_that_are_given_twice_are_refused(tmp_path: Path, other: str) -> None:
    more = {"edge_index": np.zeros((2, 1), int), "indptr": np.zeros(5, int)}
    content = {**ARRAYS, other: more[other], "indices": np.zeros(0, int)}
    with pytest.raises(DataError, match=r"arrays: edges: .* more than one of them; there are dst"):
        read_layout(save(tmp_path / "arrays", content))


def test_a_store_keeps_float16_and_gives_what_float32_of_it_gives(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.array([*rng.standard_normal((40, 3)), [6e-8, -65504, 0]]).astype(np.float16)
    split = np.repeat([0, 1, 2], [20, 11, 10])
    found = []
    for name, kept in (("half", x), ("single", x.astype(np.float32))):
        content = {**ARRAYS, "x": kept, "y": np.arange(41) % 3, "split": split}
        store = tmp_path / f"{name}-store"
        write_store(read_layout(save(tmp_path / name, content)), store, name=name)
        data = open_store(store)
        assert data.features.dtype == kept.dtype
        mean, scale = feature_statistics(data, "standard")
        found.append((mean, scale, Features(data.features, mean, scale)[np.arange(41)]))
        assert data.view(TRAIN)[0].features.dtype == kept.dtype
    for half, single in zip(*found, strict=True):
        np.testing.assert_array_equal(half, single)
    mean, scale, given = found[0]
    expected = ((x.astype(np.float64) - mean) / scale).astype(np.float32)
    np.testing.assert_array_equal(given, expected)


def test_every_pattern_of_bits_of_float16_is_its_own_number() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)[:, None]
    given = Features(every, np.zeros(1), np.ones(1))[np.arange(1 << 16)]
    np.testing.assert_array_equal(given, every.astype(np.float32))
