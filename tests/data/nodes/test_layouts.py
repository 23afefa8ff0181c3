import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from small_files import (
    ARCS,
    FEATURES,
    LABELS,
    LAYOUTS,
    SPLIT,
    npz_arrays,
    write_dgl,
    write_graphsage,
    write_graphsaint,
    write_json,
    write_npz,
    write_reddit,
)

from gaancore.data import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
    find_dataset,
    load_ppi,
    load_reddit,
    look,
    open_store,
)
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.make import make_dataset
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError, SettingsError


def arcs(dataset: NodeDataset) -> list[tuple[int, int]]:
    graph = dataset.graph
    return [
        (i, int(j))
        for i in range(dataset.num_nodes)
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_dataset(layout: str, tmp_path: Path) -> None:
    dataset = load_ppi(LAYOUTS[layout](tmp_path))
    assert arcs(dataset) == sorted(ARCS)
    np.testing.assert_array_equal(dataset.features, FEATURES)
    np.testing.assert_array_equal(dataset.labels, LABELS)
    np.testing.assert_array_equal(dataset.split, SPLIT)
    assert dataset.features.dtype == np.float32
    assert dataset.features.flags.c_contiguous
    assert dataset.labels.dtype == np.uint8
    assert dataset.split.dtype == np.int8
    assert (dataset.num_nodes, dataset.num_edges) == (6, 7)
    assert (dataset.num_features, dataset.num_classes, dataset.multi_label) == (2, 3, True)
    assert (dataset.name, dataset.kind, dataset.ceiling) == ("ppi", "real", None)
    assert dataset.path is not None
    assert Path(dataset.path).is_relative_to(tmp_path)
    assert dataset.notes[0].startswith("layout: ")
    assert "1 self-loops kept" in dataset.notes


def test_graph_ids_are_the_files_own_or_there_are_none(tmp_path: Path) -> None:
    assert load_ppi(write_npz(tmp_path)).graph_ids is None
    given = np.array([7, 7, 7, 7, 3, 3], np.int16)
    assert load_ppi(write_npz(tmp_path, graph_id=given)).graph_ids.tolist() == given.tolist()
    folder = tmp_path / "dgl"
    folder.mkdir()
    assert load_ppi(write_dgl(folder)).graph_ids.tolist() == [20, 20, 20, 21, 22, 22]


def test_node_ids_are_those_of_the_files(tmp_path: Path) -> None:
    write_graphsage(tmp_path, ids=[10, 40, 20, 7, 8, 9], ends=[10, 40, 20, 7, 8, 9])
    assert load_ppi(tmp_path).node_ids.tolist() == [10, 40, 20, 7, 8, 9]
    write_graphsage(tmp_path, ids=list("fabced"))
    assert load_ppi(tmp_path).node_ids.tolist() == list("fabced")
    dgl = load_ppi(write_dgl(_new_folder(tmp_path, "dgl")))
    assert dgl.node_ids.tolist() == ["train/0", "train/1", "train/2", "valid/0", "test/0", "test/1"]


def test_a_graphsage_dataset_may_be_given_by_its_prefix_or_its_folder(tmp_path: Path) -> None:
    write_graphsage(tmp_path)
    assert load_ppi(str(tmp_path / "toy")).num_nodes == load_ppi(str(tmp_path)).num_nodes == 6


def test_a_folder_with_two_graphsage_datasets_needs_a_prefix(tmp_path: Path) -> None:
    write_graphsage(tmp_path)
    (tmp_path / "other-G.json").write_text("{}")
    with pytest.raises(DataError, match=r"several GraphSAGE datasets \(other, toy\)"):
        load_ppi(tmp_path)
    assert load_ppi(tmp_path / "toy").num_nodes == 6


def test_a_lone_npz_may_be_given_by_its_folder(tmp_path: Path) -> None:
    write_npz(tmp_path)
    assert load_ppi(tmp_path).num_nodes == 6


def test_links_that_could_be_ids_or_positions_are_refused(tmp_path: Path) -> None:
    write_graphsage(tmp_path, ids=[5, 4, 3, 2, 1, 0])
    with pytest.raises(DataError, match=r"toy-G.json: links could name node ids or positions"):
        load_ppi(tmp_path)


@pytest.mark.parametrize("key", ["links", "edges"])
def test_ids_that_are_text_and_numbers_at_the_ends_are_refused_where_they_may_be_positions(
    key: str, tmp_path: Path
) -> None:
    write_graphsage(tmp_path, ids=list("543210"), key=key)
    with pytest.raises(DataError, match=rf"toy-G.json: {key} could name node ids or positions"):
        load_ppi(tmp_path)
    write_graphsage(tmp_path, ids=list("012345"), key=key)
    assert arcs(load_ppi(tmp_path)) == sorted(ARCS)


@pytest.mark.parametrize(
    ("ids", "ends", "key", "note"),
    [
        (list("fabced"), range(6), "links", "no ids: 0 is 'f', 1 is 'a', 2 is 'b'"),
        ([70, 80, 90, 0, 1, 2], range(6), "links", "no ids: 0 is 70, 1 is 80, 2 is 90"),
        (list("456789"), [4, 5, 6, 7, 8, 9], "links", "compared as text"),
        ([4, 5, 6, 7, 8, 9], list("456789"), "links", "compared as text"),
        ([4, 5, 6, 7, 8, 9], list("456789"), "edges", "compared as text"),
        (list("fabced"), list("fabced"), "links", None),
    ],
)
def test_how_links_were_read_is_told_unless_they_name_the_ids(
    ids: list[Any], ends: Any, key: str, note: str | None, tmp_path: Path
) -> None:
    dataset = load_ppi(write_graphsage(tmp_path, ids=ids, ends=list(ends), key=key))
    assert arcs(dataset) == sorted(ARCS)
    said = [line for line in dataset.notes if line.startswith("toy-G.json: ")]
    assert len(said) == (note is not None)
    assert note is None or said[0].endswith(note)


@pytest.mark.parametrize(
    "ids",
    [
        [2**53 + 1, 2**53, 2**63, -1, 4, 5],
        [2**53 + 1, 2**53, 2**63, 2**64 - 1, 4, 5],
        [2**64, 2**64 + 1, 0, 1, 2, 3],
        [10**4299, 10**4299 + 1, 7, 8, 9, 10],
    ],
)
def test_ids_of_any_size_stay_what_they_are(ids: list[int], tmp_path: Path) -> None:
    dataset = load_ppi(write_graphsage(tmp_path, ids=ids, ends=ids, key="edges"))
    assert list(map(str, dataset.node_ids.tolist())) == list(map(str, ids))
    assert arcs(dataset) == sorted(ARCS)
    write_store(read_layout(tmp_path), tmp_path / "store", name="mine")
    assert open_store(tmp_path / "store").node_ids.tolist() == dataset.node_ids.tolist()


def test_ids_of_a_table_or_of_reddit_stay_what_they_are(tmp_path: Path) -> None:
    ids = np.array([2**64 - 1, 2**63, 2**63 + 1, 0, 1, 2], np.uint64)
    assert load_reddit(write_reddit(tmp_path, {"node_ids": ids})).node_ids.tolist() == ids.tolist()
    lines = [f"{name},{row},train" for row, name in enumerate([2**70, 2**70 + 1, 2**63])]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,x,split", *lines]))
    (tmp_path / "edges.csv").write_text(f"src,dst\n{2**70},{2**70 + 1}\n")
    names = read_layout(tmp_path).node_ids.tolist()
    assert names == [str(2**70), str(2**70 + 1), str(2**63)]


def test_one_long_id_does_not_take_memory_for_all(tmp_path: Path) -> None:
    rows = "".join(f"n{row},1\n" for row in range(30_000))
    (tmp_path / "nodes.csv").write_text(f"id,x\n{rows}{'y' * 100_000},1\n")
    (tmp_path / "edges.csv").write_text("src,dst\nn1,n2\n")
    with pytest.raises(DataError, match=r"nodes.csv: an id of 100,000 characters, 'yyyy.* shorten"):
        read_layout(tmp_path)


def test_an_unknown_path_says_what_was_looked_for_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DataError) as refusal:
        load_ppi(tmp_path)
    message = str(refusal.value)
    for expected in ("adj_full.npz", "PREFIX-G.json", "train_graph.json", ".npz", "notes.txt"):
        assert expected in message
    with pytest.raises(DataError, match="no such file or folder"):
        load_ppi(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no graph is read from such a file"):
        load_ppi(tmp_path / "notes.txt")


def test_a_file_of_networkx_is_refused_with_a_way_on(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "friends.GraphML"
    file.write_text("<graphml/>")
    assert look(file) == "nodes"
    for missing in (True, False):
        with monkeypatch.context() as patch:
            if missing:
                patch.setitem(sys.modules, "networkx", None)  # as where it is not installed
            with pytest.raises(DataError, match=r"read by networkx, which is not installed|or XML"):
                load_ppi(file)


@pytest.mark.parametrize("dtype", ["float64", "float16", ">f4", ">f8", "int8", ">i4", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_features_and_labels_of_any_type_and_order_are_taken(
    dtype: str, order: str, tmp_path: Path
) -> None:
    binary = np.array(LABELS, dtype=dtype, order=order)
    dataset = load_ppi(write_npz(tmp_path, x=binary, y=binary))
    np.testing.assert_array_equal(dataset.features, LABELS)
    np.testing.assert_array_equal(dataset.labels, LABELS)
    assert dataset.features.dtype == np.dtype("float32")
    assert dataset.features.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint64", ">i8", "uint8"])
def test_node_numbers_of_any_integer_type_are_taken(dtype: str, tmp_path: Path) -> None:
    arrays = npz_arrays()
    changes = {name: arrays[name].astype(dtype) for name in ("src", "dst", "split")}
    assert arcs(load_ppi(write_npz(tmp_path, **changes))) == sorted(ARCS)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_a_matrix_that_scipy_saved_is_read_back(layout: str, tmp_path: Path) -> None:
    write_graphsaint(tmp_path)
    one_way = ([0, 1, 2, 4], [1, 2, 2, 5])
    matrix = sparse.coo_array((np.ones(4), one_way), shape=(6, 6)).asformat(layout)
    sparse.save_npz(tmp_path / "adj_full.npz", matrix)
    assert arcs(load_ppi(tmp_path)) == sorted(ARCS)


@pytest.mark.parametrize("entries", [[2, 0, 1, 2, 0, 1], [[0, 0, 1], [1, 0, 0], [0, 1, 0]] * 2])
def test_a_class_map_may_hold_one_class_per_node(entries: list[Any], tmp_path: Path) -> None:
    write_graphsaint(tmp_path)
    write_json(tmp_path / "class_map.json", {str(i): entry for i, entry in enumerate(entries)})
    dataset = make_dataset(read_layout(tmp_path), name="one class", multi_label=False)
    assert dataset.labels.tolist() == [2, 0, 1, 2, 0, 1]
    assert (dataset.num_classes, dataset.multi_label) == (3, False)


def test_repeated_arcs_are_merged_and_counted(tmp_path: Path) -> None:
    src, dst = np.array([0, 1, 0, 2, 2]), np.array([1, 0, 1, 2, 2])
    dataset = load_ppi(write_npz(tmp_path, src=src, dst=dst))
    assert arcs(dataset) == [(0, 1), (1, 0), (2, 2)]
    assert "2 repeated arcs merged" in dataset.notes


def test_self_loops_are_kept_dropped_or_added(tmp_path: Path) -> None:
    path = write_npz(tmp_path)
    proper = ARCS - {(2, 2)}
    dropped = load_ppi(path, self_loops="drop")
    assert arcs(dropped) == sorted(proper)
    assert "1 self-loops dropped" in dropped.notes
    added = load_ppi(path, self_loops="add")
    assert arcs(added) == sorted(proper | {(i, i) for i in range(6)})
    assert "5 self-loops added" in added.notes


def test_a_graph_without_edges_is_loaded_with_a_remark(tmp_path: Path) -> None:
    empty = np.zeros(0, np.int64)
    dataset = load_ppi(write_npz(tmp_path, src=empty, dst=empty))
    assert (dataset.num_nodes, dataset.num_edges) == (6, 0)
    assert "no edges at all: no node has a neighbour" in dataset.notes


def test_unflagged_nodes_are_dropped_taken_or_refused(tmp_path: Path) -> None:
    write_graphsage(tmp_path, ids=list("fabced"))
    path = tmp_path / "toy-G.json"
    flagged = '{"id": "a", "val": false, "test": false}'
    path.write_text(path.read_text().replace(flagged, '{"id": "a"}'))
    dropped = load_ppi(tmp_path)
    assert dropped.node_ids.tolist() == list("fbced")
    assert arcs(dropped) == [(1, 1), (3, 4), (4, 3)]
    np.testing.assert_array_equal(dropped.features, np.delete(FEATURES, 1, axis=0))
    assert "1 nodes in no split dropped, with their edges" in dropped.notes
    taken = load_ppi(tmp_path, unflagged="train")
    assert taken.split.tolist() == SPLIT
    assert "1 nodes in no split taken as training nodes" in taken.notes
    with pytest.raises(DataError, match="1 of 6 nodes are in no split, first node id a"):
        load_ppi(tmp_path, unflagged="error")


@pytest.mark.parametrize("flags", ['"val": false', '"test": true', '"val": null, "test": true'])
def test_a_node_that_lacks_one_of_its_flags_is_unflagged(flags: str, tmp_path: Path) -> None:
    write_graphsage(tmp_path, ids=list("fabced"))
    path = tmp_path / "toy-G.json"
    path.write_text(path.read_text().replace('"a", "val": false, "test": false', f'"a", {flags}'))
    assert load_ppi(tmp_path).node_ids.tolist() == list("fbced")


def test_nodes_that_no_role_claims_are_unflagged(tmp_path: Path) -> None:
    write_graphsaint(tmp_path)
    write_json(tmp_path / "role.json", {"tr": [0, 2], "va": [3], "te": [4]})
    assert load_ppi(tmp_path).node_ids.tolist() == [0, 2, 3, 4]


def test_an_adj_train_that_leaks_is_remarked_and_not_used(tmp_path: Path) -> None:
    write_graphsaint(tmp_path)
    clean = load_ppi(tmp_path)
    full = (tmp_path / "adj_full.npz").read_bytes()
    (tmp_path / "adj_train.npz").write_bytes(full)
    leaky = load_ppi(tmp_path)
    assert not any("adj_train" in note for note in clean.notes)
    assert any("adj_train.npz has 7 arcs, 2 of them" in note for note in leaky.notes)
    assert leaky.view(TRAIN)[0].num_edges == 5
    (tmp_path / "adj_train.npz").unlink()
    assert load_ppi(tmp_path).num_edges == 7


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path)
    with pytest.raises(SettingsError, match="self_loops: expected one of keep, drop, add"):
        load_ppi(path, self_loops="maybe")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="unflagged: expected one of drop, train, context"):
        load_ppi(path, unflagged="maybe")  # type: ignore[arg-type]


def test_a_dataset_is_looked_for_in_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "share"))
    monkeypatch.delenv("GAANCORE_DATA", raising=False)
    assert find_dataset("ppi") is None
    in_share = _new_folder(tmp_path, "share/gaancore/ppi")
    assert find_dataset("ppi") == in_share
    monkeypatch.setenv("GAANCORE_DATA", str(tmp_path / "mine"))
    assert find_dataset("ppi") is None
    in_mine = _new_folder(tmp_path, "mine/ppi")
    assert find_dataset("ppi") == in_mine


def test_the_official_toy_ppi_has_its_known_counts(shared_data: Path) -> None:
    dataset = load_ppi(shared_data / "ppi-toy")
    assert (dataset.num_nodes, dataset.num_features, dataset.num_classes) == (14755, 50, 121)
    assert dataset.num_edges == 2 * 225270
    assert dataset.graph.num_self_loops == 6322
    assert [dataset.nodes(s).size for s in (TRAIN, VALIDATION, TEST)] == [9716, 1825, 3214]
    assert dataset.notes == ("layout: GraphSAINT", "6,322 self-loops kept")
    assert set(np.unique(dataset.features)) == {0.0, 1.0}
    src, dst = dataset.graph.edges()
    assert (dataset.split[src] == dataset.split[dst]).all()
    assert (np.bincount(dataset.graph.connected_components()) > 1000).sum() == 5


def test_six_whole_graphs_of_ppi_have_their_known_counts(shared_data: Path) -> None:
    dataset = load_ppi(shared_data / "ppi6.npz")
    assert [dataset.nodes(s).size for s in (TRAIN, VALIDATION, TEST)] == [10098, 3210, 3214]
    assert set(np.unique(dataset.graph_ids[dataset.nodes(TRAIN)])) == {1, 10, 13, 19}
    assert dataset.num_edges == 476536
    assert dataset.graph.is_symmetric()


def _new_folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir(parents=True)
    return folder
