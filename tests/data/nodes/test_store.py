"""The store: what goes in comes out, mapped and not copied; damage is one line; nothing in part."""

import fcntl
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_files import FEATURES, LABELS, LAYOUTS, SPLIT, write_dgl, write_graphsaint, write_npz

from gaancore.data import (
    TRAIN,
    VALIDATION,
    NodeDataset,
    check_store,
    load_nodes,
    load_ppi,
    open_store,
)
from gaancore.data.files import arrays as files_module
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.make import make_dataset
from gaancore.data.nodes.store import reader
from gaancore.data.nodes.store.convert import write_store
from gaancore.data.nodes.store.writer import store_writer
from gaancore.errors import DataError
from gaancore.graph import arcs as arcs_module
from gaancore.graph.stream.rows import write_undirected
from gaancore.system import disk, new_folder

FEATS = "feats.npy"
ARRAYS = ("features", "labels", "split", "graph_ids")


def convert(source: Path, folder: Path, **options: Any) -> NodeDataset:
    write_store(read_layout(source), folder, name="small", **options)
    return check_store(folder)


def arcs_by_id(dataset: NodeDataset) -> set[tuple[Any, Any]]:
    src, dst = dataset.graph.edges()
    ids = dataset.node_ids.tolist()
    return {(ids[a], ids[b]) for a, b in zip(src, dst, strict=True)}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Six nodes whose splits are mixed up, with graph ids."""
    source = write_npz(
        tmp_path, split=np.array([2, 0, 1, 0, 2, 0]), graph_id=np.array([7, 7, 7, 7, 3, 3])
    )
    convert(source, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_store_holds_what_is_loaded_from_any_layout(layout: str, tmp_path: Path) -> None:
    source = LAYOUTS[layout](tmp_path)
    loaded, opened = load_nodes(source, name="small"), convert(source, tmp_path / "store")
    for field in ARRAYS:
        expected, found = getattr(loaded, field), getattr(opened, field)
        if expected is None:
            assert found is None
        else:
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(opened.node_ids, loaded.node_ids)
    np.testing.assert_array_equal(opened.graph.indptr, loaded.graph.indptr)
    np.testing.assert_array_equal(opened.graph.indices, loaded.graph.indices)
    assert opened.notes == loaded.notes
    assert (opened.num_classes, opened.multi_label) == (loaded.num_classes, True)
    assert opened.class_names == loaded.class_names
    assert opened.feature_names == loaded.feature_names
    assert (opened.name, opened.kind, opened.path) == ("small", "real", str(tmp_path / "store"))


def test_nodes_lie_in_the_order_of_their_splits_and_keep_their_ids(store: Path) -> None:
    opened = open_store(store)
    order = [1, 3, 5, 2, 0, 4]
    assert opened.node_ids.tolist() == order
    assert opened.split.tolist() == [0, 0, 0, 1, 2, 2]
    assert opened.features.tolist() == [FEATURES[i] for i in order]
    assert opened.labels.tolist() == [LABELS[i] for i in order]
    assert opened.graph_ids is not None
    assert opened.graph_ids.tolist() == [7, 7, 3, 7, 7, 3]
    assert arcs_by_id(opened) == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 2), (4, 5), (5, 4)}


def test_a_random_graph_comes_back_as_it_is_loaded_but_for_the_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    src, dst = rng.integers(80, size=(2, 600))
    source = write_npz(
        tmp_path,
        src=src,
        dst=dst,
        x=rng.standard_normal((80, 3)),
        y=rng.integers(2, 6, 80),
        split=rng.integers(-1, 3, 80),
    )
    raw = read_layout(source)
    said = {"drop": "dropped", "train": "taken", "context": "kept as neighbours"}
    for unflagged, word in said.items():
        loaded = make_dataset(raw, name="small", multi_label=False, unflagged=unflagged)
        opened = convert(source, tmp_path / unflagged, unflagged=unflagged)
        order = np.argsort(loaded.split, kind="stable")
        np.testing.assert_array_equal(opened.node_ids, loaded.node_ids[order])
        np.testing.assert_array_equal(opened.features, loaded.features[order])
        np.testing.assert_array_equal(opened.labels, loaded.labels[order])
        assert arcs_by_id(opened) == arcs_by_id(loaded)
        assert opened.num_edges == loaded.num_edges
        assert opened.num_classes == loaded.num_classes == 4
        assert "classes 2 to 5 renumbered 0 to 3" in opened.notes
        assert any(word in note for note in opened.notes)
        assert (opened.split.min() == -1) == (unflagged == "context")
        for split in range(3):
            views = [dataset.view(split)[0] for dataset in (opened, loaded)]
            assert arcs_by_id(views[0]) == arcs_by_id(views[1])


def test_nodes_in_no_split_are_refused_unless_the_choice_is_made(tmp_path: Path) -> None:
    source = write_npz(tmp_path, split=np.array([0, -1, 0, 1, 2, -1]))
    with pytest.raises(DataError, match=r"2 of 6 nodes .* node id 1; .*unflagged: drop them"):
        convert(source, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_arrays_are_mapped_and_a_view_shares_them(store: Path) -> None:
    opened = open_store(store)
    for field in ARRAYS:
        assert isinstance(getattr(opened, field), np.memmap)
        assert not getattr(opened, field).flags.writeable
    assert isinstance(opened.graph.indices.base, np.memmap)
    assert isinstance(opened.graph.indptr.base, np.memmap)
    for split, rows in ((TRAIN, 3), (VALIDATION, 4)):
        view, ids = opened.view(split)
        assert ids.tolist() == list(range(rows))
        for field in ARRAYS:
            part = getattr(view, field)
            assert np.shares_memory(part, getattr(opened, field))
            np.testing.assert_array_equal(part, getattr(opened, field)[:rows])


def test_a_graph_without_edges_is_stored_too(tmp_path: Path) -> None:
    empty = np.zeros(0, np.int64)
    opened = convert(write_npz(tmp_path, src=empty, dst=empty), tmp_path / "store")
    assert (opened.num_nodes, opened.num_edges) == (6, 0)
    assert "no edges at all: no node has a neighbour" in opened.notes


def test_loaders_take_a_store_and_do_as_they_are_told_with_its_loops(store: Path) -> None:
    assert load_ppi(store).num_edges == 7
    assert load_ppi(store, self_loops="drop").num_edges == 6
    assert load_ppi(store, self_loops="add").graph.num_self_loops == 6


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    source = write_npz(tmp_path)
    convert(source, tmp_path / "a")
    convert(source, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def damaged_header(path: Path) -> None:
    path.write_bytes(b"\0" * 16 + path.read_bytes()[16:])


def values(change: Callable[[np.ndarray], None]) -> Callable[[Path], None]:
    """Other values in a file of the same size."""

    def damage(path: Path) -> None:
        array = np.load(path)
        change(array)
        np.save(path, array)

    return damage


def of_type(dtype: str) -> Callable[[Path], None]:
    return lambda path: np.save(path, np.load(path).astype(dtype))


def meta(**changes: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


def without(field: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = json.loads(path.read_text())
        del content[field]
        path.write_text(json.dumps(content))

    return damage


WRITTEN_FIELDS = ("name", "kind", "num_nodes", "num_classes", "notes", "ceiling", "files")


def by_columns(path: Path) -> None:
    """Only the header says it: the size stays, and every number is another's."""
    content = path.read_bytes()
    path.write_bytes(content.replace(b"'fortran_order': False", b"'fortran_order': True "))


def file_facts(name: str, **changes: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = json.loads(path.read_text())
        content["files"][name] |= changes
        path.write_text(json.dumps(content))

    return damage


ANY_FILE = [
    (cut, "truncated; convert the data again"),
    (longer, "changed; convert the data again"),
    (Path.unlink, "No such file"),
    (damaged_header, "not a readable .npy array"),
]
DAMAGED = {
    **{f"{name}.npy": ANY_FILE for name in ("indptr", "indices", "labels", "split")},
    "features.npy": [*ANY_FILE, (by_columns, "column by column, not row by row")],
    "graph_id.npy": [*ANY_FILE, (of_type("u8"), "uint64 (6,) where meta.json says")],
    "node_ids.npy": [*ANY_FILE, (of_type("f8"), "float64 (6,) where meta.json says <i8")],
    "meta.json": [
        (cut, "not valid JSON"),
        (lambda path: path.write_text("[1]"), "describes no store"),
        (meta(format="other"), "describes no store"),
        (meta(version=2), "version 2 where this gaancore reads 1"),
        (meta(files=None), "files is missing or malformed"),
        (meta(files={}), "files is missing"),
        (meta(num_nodes="6"), "num_nodes is missing"),
        (meta(notes=[1]), "notes is missing"),
        (meta(kind="made up"), "kind is missing"),
        (meta(ceiling="high"), "ceiling is missing"),
        *((without(field), f"{field} is missing") for field in WRITTEN_FIELDS),
        (meta(num_nodes=7), "indptr: expected 7 + 1 offsets, got 7"),
        (meta(num_arcs=8), "indices.npy: not the indices of a store of 6 nodes"),
        (meta(num_classes=4), "labels.npy: not the labels of a store of 6 nodes"),
        (meta(class_names=[1, 2, 3]), "class_names is missing or malformed"),
        (meta(class_names=["a", "b"]), "labels.npy: not the labels of a store of 6 nodes"),
        (meta(feature_names="xy"), "feature_names is missing or malformed"),
        (meta(feature_names=["x"]), "features.npy: not the features of a store of 6 nodes"),
        (meta(nodes_per_split=[2, 2, 2]), "split.npy: not the split of a store"),
        (file_facts("split", bytes="9"), "files is missing"),
        (file_facts("split", dtype="<i8"), "int8 (6,) where meta.json says <i8 (6,)"),
        (file_facts("split", shape=[2, 3]), "int8 (6,) where meta.json says |i1 (2, 3)"),
    ],
}
# No size tells these, but they would lead outside an array or mix up the splits
ALTERED = {
    "indptr.npy": [
        (values(lambda a: a.__setitem__(2, 99)), "must not decrease: row 2"),
        (values(lambda a: a.__setitem__(-1, 99)), "the last offset is 99"),
    ],
    "indices.npy": [
        (values(lambda a: a.__setitem__(0, 6)), "6 is out of range"),
        (values(lambda a: a.__setitem__(0, -1)), "-1 is out of range"),
    ],
    "split.npy": [
        (values(lambda a: a.__setitem__(0, 2)), "not the split of a store"),
        (values(lambda a: a.__setitem__(5, 3)), "not the split of a store"),
        (values(lambda a: a.__setitem__(0, -1)), "not the split of a store"),
    ],
}
CASES = [
    pytest.param(name, damage, expected, id=f"{name}-{number}-{expected[:30]}")
    for table in (DAMAGED, ALTERED)
    for name, cases in table.items()
    for number, (damage, expected) in enumerate(cases)
]


@pytest.mark.parametrize(("name", "damage", "expected"), CASES)
def test_a_damaged_store_is_refused_in_one_line_when_it_is_opened(
    name: str, damage: Callable[[Path], Any], expected: str, store: Path
) -> None:
    damage(store / name)
    with pytest.raises(DataError) as refusal:
        open_store(store)
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert str(store) in str(refusal.value)


@pytest.mark.parametrize("name", ["features", "labels", "graph_id", "node_ids", "indices"])
def test_a_byte_that_changed_is_found_on_opening_or_in_a_large_file_when_it_is_asked_for(
    name: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1 if name != "indices" else 0
    content[-4] ^= 1
    path.write_bytes(bytes(content))
    refusal = rf"{name}.npy: its checksum is \w{{8}} where meta.json"
    with pytest.raises(DataError, match=refusal):
        open_store(store)
    monkeypatch.setattr(reader, "COMPARED", path.stat().st_size - 1)
    note = open_store(store).notes[-1]
    assert note.startswith("not compared with their checksums, being large: ")
    assert name in note
    with pytest.raises(DataError, match=refusal):
        check_store(store)


def test_nothing_is_written_over(store: Path, tmp_path: Path) -> None:
    before = (store / "meta.json").read_bytes()
    with pytest.raises(DataError, match="already exists"):
        convert(write_npz(tmp_path), store)
    assert (store / "meta.json").read_bytes() == before


@pytest.mark.parametrize("error", [DataError("no"), KeyboardInterrupt(), MemoryError()])
def test_a_store_that_is_not_finished_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    def write_half() -> None:
        with store_writer(tmp_path / "store") as writer:
            writer.save("split", np.zeros(3, np.int8))
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert list(tmp_path.iterdir()) == []


WRITE_AND_WAIT = """
import sys
from gaancore.data.nodes.store.writer import store_writer
with store_writer(sys.argv[1]) as writer:
    (writer.folder / "split.npy").write_bytes(b"half")
    print(writer.folder, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_writer_left_goes_with_the_next_and_what_a_living_one_has_stays(
    tmp_path: Path,
) -> None:
    target = tmp_path / "store"
    command = [sys.executable, "-c", WRITE_AND_WAIT, str(target)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as killed, subprocess.Popen(command, **pipes) as living:
        left, filled = (Path(process.stdout.readline().strip()) for process in (killed, living))
        killed.kill()
        killed.wait()
        others = [tmp_path / name for name in ("store.part", "store.old.part", "store2.7.part")]
        for folder in others:
            folder.mkdir()
        assert left.is_dir()
        convert(write_npz(tmp_path), target)
        assert not left.exists()
        assert (filled / "split.npy").read_bytes() == b"half"
        assert all(folder.is_dir() for folder in others)
        living.kill()


@pytest.mark.parametrize("moment", ["before it is opened", "before it is locked"])
def test_who_begins_while_another_cleans_up_makes_its_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    target, flock = tmp_path / "store", fcntl.flock
    cleaned: list[str] = []

    def clean_up(now: str) -> None:
        if now == moment and not cleaned:
            cleaned.append(now)
            new_folder._remove_leftovers(target)

    def slow_open(*arguments: Any) -> int:
        clean_up("before it is opened")
        return os.open(*arguments)

    def slow_flock(*arguments: Any) -> None:
        clean_up("before it is locked")
        flock(*arguments)

    monkeypatch.setattr(disk, "os", SimpleNamespace(**vars(os) | {"open": slow_open}))
    monkeypatch.setattr(fcntl, "flock", slow_flock)
    convert(write_npz(tmp_path), target)
    assert cleaned == [moment]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["store"]


def test_the_slower_of_two_writers_is_told_that_it_was(tmp_path: Path) -> None:
    def write_twice() -> None:
        with store_writer(tmp_path / "store"), store_writer(tmp_path / "store"):
            pass

    with pytest.raises(DataError, match="store: already exists"):
        write_twice()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match=r"store: cannot be written \(No space left on device\)"),
        store_writer(tmp_path / "store"),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        convert(write_dgl(tmp_path), tmp_path / "file" / "store")


def test_a_store_is_no_source_of_a_conversion(store: Path) -> None:
    with pytest.raises(DataError, match=r"already a store; use it as it is"):
        read_layout(store)


@pytest.mark.parametrize(
    "write",
    [write_npz, lambda f: write_npz(f, x=np.asfortranarray(FEATURES)), write_graphsaint],
    ids=["npz", "npz by columns", "graphsaint"],
)
def test_large_arrays_are_mapped_and_give_the_same(
    write: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path)
    expected = convert(source, tmp_path / "a")
    monkeypatch.setattr(files_module, "MAPPED_FROM", 1)
    assert isinstance(read_layout(source).features, np.memmap)
    found = convert(source, tmp_path / "b")
    np.testing.assert_array_equal(found.features, expected.features)
    np.testing.assert_array_equal(found.graph.indices, expected.graph.indices)
    assert found.split.tolist() == SPLIT


@pytest.mark.parametrize(("write", "name"), [(write_npz, "toy.npz"), (write_graphsaint, FEATS)])
def test_large_arrays_that_are_damaged_or_objects_are_refused(
    write: Callable[[Path], Path], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "MAPPED_FROM", 1)
    source, path = write(tmp_path), tmp_path / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 60])
    with pytest.raises(DataError, match=f"{name}: not a readable"):
        read_layout(source)
    objects = np.array([[None] * 2] * 6)
    if name == FEATS:
        np.save(path, objects, allow_pickle=True)
    else:
        write_npz(tmp_path, x=objects)
    with pytest.raises(DataError, match=f"{name}: not a readable .*objects"):
        read_layout(source)


def test_converting_needs_far_less_memory_than_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_nodes, num_arcs = 20_000, 4_000_000
    rng = np.random.default_rng(0)
    src, dst = rng.integers(num_nodes, size=(2, num_arcs), dtype=np.int32)
    source = write_npz(
        tmp_path,
        src=src,
        dst=dst,
        x=rng.standard_normal((num_nodes, 100), np.float32),
        y=rng.integers(5, size=num_nodes),
        split=rng.integers(3, size=num_nodes),
    )
    del src, dst
    monkeypatch.setattr(files_module, "MAPPED_FROM", 1_000_000)
    monkeypatch.setattr(arcs_module, "EDGES_AT_A_TIME", 50_000)
    monkeypatch.setattr("gaancore.data.nodes.checks.VALUES_AT_A_TIME", 100_000)
    monkeypatch.setattr("gaancore.data.nodes.store.features.VALUES_AT_A_TIME", 100_000)
    monkeypatch.setitem(write_undirected.__kwdefaults__, "entries_at_a_time", 500_000)
    tracemalloc.start()
    try:
        write_store(read_layout(source), tmp_path / "store", name="large")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    opened = check_store(tmp_path / "store")
    size = opened.graph.indices.nbytes + opened.features.nbytes
    assert size > 35_000_000
    assert peak < size / 3  # buffers of 4 MB among it, whatever the size
