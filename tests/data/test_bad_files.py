"""Every damaged or contradictory file ends in one line that names the file and what is wrong."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_files import (
    FEATURES,
    LABELS,
    write_dgl,
    write_graphsage,
    write_graphsaint,
    write_json,
    write_npz,
)

from gaancore.data import load_metr_la, load_ppi
from gaancore.errors import DataError

Damage = Callable[[Path], Any]


def overwrite(content: bytes) -> Damage:
    return lambda path: path.write_bytes(content)


def cut_in_half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip_last_value(path: Path) -> None:
    """One wrong byte in the last array's values: only the archive's checksum can tell."""
    content = bytearray(path.read_bytes())
    end = content.index(b"PK\x01\x02")
    content[end - 1] ^= 1
    path.write_bytes(bytes(content))


def wrong_checksum_compressed(path: Path) -> None:
    with np.load(path) as archive:
        np.savez_compressed(path, **archive)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 16] ^= 1
    path.write_bytes(bytes(content))


def pickled(path: Path) -> None:
    np.save(path, np.array([{"a": 1}, None], dtype=object), allow_pickle=True)


def bare_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps([1, 2, 3]))


def array(value: Any) -> Damage:
    return lambda path: np.save(path, np.asarray(value))


def edited(change: Callable[[Any], Any]) -> Damage:
    """Damage a JSON file's value in place, or replace it with what `change` returns."""

    def damage(path: Path) -> None:
        value = json.loads(path.read_text())
        changed = change(value)
        write_json(path, value if changed is None else changed)

    return damage


def resaved(**changes: Any) -> Damage:
    """Save an npz again with other arrays."""

    def damage(path: Path) -> None:
        with np.load(path) as archive:
            arrays = dict(archive)
        np.savez(path, **{k: v for k, v in (arrays | changes).items() if v is not None})

    return damage


def features_with(value: float, dtype: str = "f8") -> np.ndarray:
    features = np.array(FEATURES, dtype)
    features[3, 1] = value
    return features


def labels_with(value: float) -> np.ndarray:
    labels = np.array(LABELS, float)
    labels[3, 1] = value
    return labels


ANY_NPZ = [
    (overwrite(b""), "empty file (0 bytes)"),
    (cut_in_half, "not a readable .npz archive"),
    (flip_last_value, "Bad CRC-32"),
    (wrong_checksum_compressed, "Bad CRC-32"),
    (overwrite(b"\n<!DOCTYPE html><html>404</html>"), "a web page or XML"),
    (bare_pickle, "not a readable .npz archive"),
    (resaved(indptr=np.array([None]), x=np.array([None])), "Object arrays cannot be loaded"),
    (Path.unlink, "No such file"),
]
ANY_NPY = [
    (overwrite(b""), "empty file (0 bytes)"),
    (cut_in_half, "not a readable .npy array"),
    (overwrite(b"<html></html>"), "a web page or XML"),
    (pickled, "Object arrays cannot be loaded"),
    (bare_pickle, "not a readable .npy array"),
    (Path.unlink, "No such file"),
    (array(np.zeros((6, 2), complex)), "features: expected numbers in shape (nodes, features)"),
    (array(np.array([["a", "b"]] * 6)), "features: expected numbers in shape (nodes, features)"),
    (array(features_with(np.nan)), "1 values are not finite in float32, first nan at row"),
    (array(features_with(1e300)), "first 1e+300 at row"),
]
ANY_JSON = [
    (overwrite(b""), "empty file (0 bytes)"),
    (overwrite(b'{"a": 1,\n "b" 2}'), "not valid JSON: line 2, column 6"),
    (overwrite(b'{"a": "\xff"}'), "byte 7: not UTF-8"),
    (overwrite(b"[" * 100_000), "not valid JSON"),
    (overwrite(b'{"0": 1, "1": 2, "0": 3}'), "key '0' appears twice"),
    (overwrite(b"<html></html>"), "line 1, column 1"),
    (Path.unlink, "No such file"),
]


def _remove(key: str) -> Damage:
    return edited(lambda value: value.pop(key) and None)


def _set(key: Any, new: Any) -> Damage:
    return edited(lambda value: value.__setitem__(key, new))


def _set_node(place: int, **attributes: Any) -> Damage:
    return edited(lambda graph: graph["nodes"][place].update(attributes))


def _set_link(place: int, link: Any) -> Damage:
    return edited(lambda graph: graph["links"].__setitem__(place, link))


def _one_based(graph: Any) -> None:
    for link in graph["links"]:
        link["source"] += 1
        link["target"] += 1


GRAPHSAINT = {
    "adj_full.npz": [
        *ANY_NPZ,
        (resaved(indptr=np.array([0, 1, 3, 5, 5, 7])), "indptr: expected 6 + 1 offsets, got 6"),
        (resaved(indptr=np.array([0, 1, 3, 2, 5, 6, 7])), "must not decrease: row 2"),
        (resaved(indptr=np.array([0, 1, 3, 5, 5, 6, 9])), "the last offset is 9"),
        (resaved(indices=np.array([1, 0, 2, 1, 6, 5, 4])), "6 is out of range, expected ids"),
        (resaved(indices=np.array([1, 0, 2, 1, -1, 5, 4])), "-1 is out of range"),
        (resaved(indices=np.zeros(7)), "expected integers, got dtype float64"),
        (resaved(shape=np.array([7, 7])), "a matrix of shape [7, 7], but feats.npy has 6 rows"),
        (resaved(format=np.array(b"dia")), "expected a sparse matrix saved by"),
        (resaved(indptr=None), "expected a sparse matrix saved by"),
    ],
    "adj_train.npz": [(cut_in_half, "not a readable .npz archive")],
    "feats.npy": [*ANY_NPY, (array(FEATURES[:5]), "adj_full.npz: a matrix of shape [6, 6], but")],
    "class_map.json": [
        *ANY_JSON,
        (_remove("4"), "1 of 6 nodes have no entry, first node id 4"),
        (edited(lambda _: [1, 2]), "expected an object of node id: label(s)"),
        (_set("3", [0, 1]), "node id 3 has 2 labels where node id 0 has 3"),
        (_set("3", 1), "node id 3 has 0 labels where node id 0 has 3"),
        (_set("3", [0, 0.5, 0]), "1 values are not 0 or 1, first 0.5 at row 3"),
        (_set("3", [0, -1, 0]), "first -1 at row 3, column 1"),
        (_set("3", [0, 2, 0]), "first 2 at row 3, column 1"),
        (_set("3", [0, "1", 0]), "labels: expected numbers"),
        (_set("3", [0, None, 0]), "labels: expected numbers"),
        (_set("3", [0, [1], 0]), "expected a class or a flat list of 0 and 1"),
        (edited(lambda value: dict.fromkeys(value, 0)), "one class per node, where several"),
        (edited(lambda value: {k: [1] for k in value}), "one class per node, where several"),
        (edited(lambda value: {k: [0, 0] for k in value}), "no training node has a label of 1"),
    ],
    "role.json": [
        *ANY_JSON,
        (_remove("va"), "expected an object with the lists tr, va and te"),
        (_set("va", 3), "va: expected a list of node positions"),
        (_set("va", [6]), "va[0] is 6; expected a node position from 0 to 5"),
        (_set("tr", [0, 1, -2]), "tr[2] is -2"),
        (_set("tr", [0, "1", 2]), "tr[1] is '1'"),
        (_set("tr", [0, True]), "tr[1] is True"),
        (_set("te", [5, 4, 1]), "node 1 is in both tr and te"),
        (_set("tr", []), "no training nodes"),
    ],
}
GRAPHSAGE = {
    "toy-G.json": [
        *ANY_JSON[:-1],
        (edited(lambda _: []), "no list `nodes`"),
        (_remove("nodes"), "no list `nodes`"),
        (_set("nodes", []), "no list `nodes` with nodes in it"),
        (_remove("links"), "neither a list `links` nor a list `edges`"),
        (edited(lambda graph: graph["nodes"][2].pop("id") and None), "nodes[2] has no `id`"),
        (_set_node(2, id=True), "nodes[2] has no `id`"),
        (_set_node(2, id=1), "nodes[1] and nodes[2] have the same id 1"),
        (_set_node(2, id="1"), "nodes[1] and nodes[2] have the same id '1'"),
        (_set_node(2, val=True, test=True), "node id 2 is both val and test"),
        (_set_node(2, val="no"), "node id 2 has val 'no'"),
        (_set_link(1, {"source": 0}), "links[1] needs a `source` and a `target`"),
        (_set_link(1, [0, 1]), "links[1] needs a `source` and a `target`"),
        (_set_link(1, {"source": 0, "target": 9}), "links[1] ends at 9, which is neither the id"),
        (_set_link(1, {"source": -1, "target": 0}), "links[1] ends at -1"),
        (_set_link(1, {"source": 0, "target": "x"}), "links[1] ends at 'x'"),
        (edited(_one_based), "ids look 1-based: subtract 1"),
    ],
    "toy-id_map.json": [
        *ANY_JSON,
        (edited(lambda _: [0]), "expected an object of node id: row of feats.npy"),
        (_remove("5"), "node id 5 has row None"),
        (_set("5", 6), "node id 5 has row 6; expected one of the 6 rows"),
        (_set("5", -1), "node id 5 has row -1"),
        (_set("5", 4), "node ids 4 and 5 both have row 4"),
    ],
    "toy-class_map.json": [*ANY_JSON, (_remove("4"), "first node id 4")],
    "toy-feats.npy": ANY_NPY,
}
DGL = {
    "train_graph.json": [
        *ANY_JSON,
        (_set_node(1, id=7), "nodes[1] has id 7; expected ids 0, 1, 2, ... in order"),
        (_set_link(0, {"source": 0, "target": 3}), "links[0] ends at 3"),
    ],
    "valid_graph.json": [(Path.unlink, "No such file")],
    "test_feats.npy": [
        *ANY_NPY[:6],
        (array(np.zeros((3, 2))), "features: expected 2 rows (one per node), got 3"),
        (array(np.zeros((2, 5))), "the splits' features differ in width: train 2, valid 2, test 5"),
        (array([[0, 1], [np.inf, 0]]), "first inf at row 1, column 0 (node id test/1)"),
    ],
    "test_labels.npy": [
        *ANY_NPY[:6],
        (array(np.zeros((3, 3))), "labels: expected 2 rows (one per node), got 3"),
        (array(np.zeros((2, 4))), "the splits' labels differ in width: train 3, valid 3, test 4"),
        (array([[0, 1, 0], [0, 0.5, 0]]), "first 0.5 at row 1, column 1 (node id test/1)"),
    ],
    "test_graph_id.npy": [
        *ANY_NPY[:6],
        (array([1]), "graph ids: expected 2 rows (one per node), got 1"),
        (array([0.5, 1]), "graph ids: expected integers"),
    ],
}
NPZ = {
    "toy.npz": [
        *ANY_NPZ[:-1],
        (resaved(x=None), "features: looked for the array(s) x or feats or features and fo"),
        (resaved(feats=np.zeros((6, 2))), "features: looked for the array(s) x or feats"),
        (
            resaved(y=None),
            "no labels, which training and scores need; predict with a trained",
        ),
        (resaved(src=None), "edges: looked for the array(s) src dst or edge_index or indptr"),
        (resaved(split=None), "the files name no split; split_shares: per cent"),
        (resaved(x=np.zeros((0, 2))), "expected"),
        (resaved(x=np.zeros((6, 0))), "neither of them 0; got float64 (6, 0)"),
        (resaved(x=np.zeros(6)), "features: expected numbers in shape (nodes, features)"),
        (resaved(x=np.float64(3)), "expected"),
        (resaved(x=features_with(np.inf)), "first inf at row 3, column 1 (node id 3)"),
        (resaved(x=features_with(np.nan, "f2")), "first nan at row 3, column 1 (node id 3)"),
        (resaved(y=np.array(LABELS)[:5]), "labels: expected 6 rows (one per node), got 5"),
        (resaved(y=labels_with(0.5)), "first 0.5 at row 3, column 1 (node id 3)"),
        (resaved(y=labels_with(np.nan)), "first nan at row 3, column 1 (node id 3)"),
        (resaved(y=np.zeros((6, 3))), "no training node has a label of 1"),
        (resaved(y=np.array(3)), "labels: expected numbers in shape"),
        (resaved(y=np.zeros(6, "i4,f4")), "labels: expected numbers in shape"),
        (resaved(x=np.zeros((6, 2), "i4,f4")), "features: expected numbers in shape"),
        (resaved(split=np.zeros(6, "i4,f4")), "split: expected integers in shape"),
        (resaved(src=np.zeros(7, "i4,f4")), "expected integers, got dtype"),
        (resaved(graph_id=np.full(6, 2**63, np.uint64)), "graph ids: 9223372036854775808 is 2^63"),
        (resaved(y=np.arange(6)), "one class per node, where several labels"),
        (resaved(y=np.zeros((6, 3, 2))), "labels: expected numbers in shape"),
        (resaved(src=np.arange(6)), "src has 6 entries, dst has 7"),
        (resaved(src=np.full(7, 6)), "edge 0 (6 -> "),
        (resaved(src=np.arange(7), dst=np.full(7, 1)), "edge 6 (6 -> 1) leaves the graph"),
        (resaved(src=np.array([1, 6]), dst=np.array([2, 2])), "ids look 1-based"),
        (resaved(src=np.full(7, -1)), "edge 0 (-1 -> "),
        (resaved(src=np.full(7, 2**64 - 1, np.uint64)), "leaves the graph"),
        (resaved(src=np.zeros(7)), "expected integers, got dtype float64"),
        (resaved(src=None, dst=None, edge_index=np.zeros((7, 2), int)), "shape (2, edges)"),
        (resaved(split=np.array([0, 0, 0, 1, 2, 3])), "split: 3 at row 5 (node id 5)"),
        (resaved(split=np.array([0, 0, 0, 1, 2])), "split: expected 6 rows (one per node), got 5"),
        (resaved(split=np.zeros(6)), "split: expected integers"),
        (resaved(split=np.full(6, 2)), "no training nodes"),
        (resaved(split=np.full(6, -1)), "no training nodes"),
        (resaved(graph_id=np.zeros(5, int)), "graph ids: expected 6 rows (one per node), got 5"),
    ],
}
LAYOUTS = {
    "graphsaint": (write_graphsaint, GRAPHSAINT),
    "graphsage": (write_graphsage, GRAPHSAGE),
    "dgl": (write_dgl, DGL),
    "npz": (write_npz, NPZ),
}
CASES = [
    pytest.param(write, name, damage, expected, id=f"{layout}-{name}-{number}-{expected[:30]}")
    for layout, (write, files) in LAYOUTS.items()
    for name, cases in files.items()
    for number, (damage, expected) in enumerate(cases)
]


@pytest.mark.parametrize(("write", "name", "damage", "expected"), CASES)
def test_a_bad_file_is_refused_in_one_line_that_names_it(
    write: Callable[[Path], Path], name: str, damage: Damage, expected: str, tmp_path: Path
) -> None:
    path = write(tmp_path)
    load_ppi(path)  # sound before the damage
    damage(tmp_path / name)
    with pytest.raises(DataError) as refusal:
        load_ppi(path)
    message = str(refusal.value)
    assert expected in message
    assert "\n" not in message
    assert str(tmp_path) in message
    if "differ in width" not in expected:
        assert name in message


@pytest.mark.parametrize(
    "bad",
    [
        np.array([0, 1, 0, 0, 1, 2]),
        np.zeros(5, bool),
        np.full(6, 0.5),
        np.zeros((6, 2), bool),
        np.zeros(6, "i4,f4"),
        np.array(["a"] * 6),
    ],
)
def test_a_mask_that_is_not_true_or_false_per_node_is_refused(
    bad: np.ndarray, tmp_path: Path
) -> None:
    none = np.zeros(6, bool)
    path = write_npz(tmp_path, split=None, train_mask=~none, val_mask=bad, test_mask=none)
    with pytest.raises(DataError, match="val_mask: expected true or false for each of 6 nodes"):
        load_ppi(path)


@pytest.mark.parametrize(
    ("write", "name"), [(write_npz, "toy.npz"), (write_graphsaint, "adj_full.npz")]
)
def test_an_array_that_nobody_needs_cannot_spoil_an_archive(
    write: Callable[[Path], Path], name: str, tmp_path: Path
) -> None:
    path = write(tmp_path)
    expected = load_ppi(path).facts()["checksum"]
    resaved(extra=np.array([None]), data=np.array([None]))(tmp_path / name)
    assert load_ppi(path).facts()["checksum"] == expected


SIGNAL = 0x7F800001  # the bits of a NaN that NumPy warns of


def test_a_nan_of_any_kind_is_refused_without_a_warning(tmp_path: Path) -> None:
    features = np.array(FEATURES, np.float32)
    features.view(np.uint32)[3, 1] = SIGNAL
    with pytest.raises(DataError, match="1 values are not finite in float32"):
        load_ppi(write_npz(tmp_path, x=features.astype(">f4")))
    speeds = np.full((3, 2), 50, np.float32)
    speeds.view(np.uint32)[1, 1] = SIGNAL
    np.savez(tmp_path / "speeds.npz", speed=speeds)
    weights = np.eye(2, dtype=np.float32)
    np.save(tmp_path / "adj.npy", weights)
    data = load_metr_la(tmp_path / "speeds.npz", graph=tmp_path / "adj.npy")
    assert data.valid.tolist() == [[True, True], [True, False], [True, True]]
    weights.view(np.uint32)[0, 1] = SIGNAL
    np.save(tmp_path / "adj.npy", weights)
    with pytest.raises(DataError, match="row 0, column 1 is not a finite number"):
        load_metr_la(tmp_path / "speeds.npz", graph=tmp_path / "adj.npy")


def test_a_node_in_two_masks_is_refused(tmp_path: Path) -> None:
    train = np.array([1, 1, 0, 0, 0, 0], bool)
    test = np.array([0, 1, 0, 0, 0, 1], bool)
    val = ~train & ~test
    path = write_npz(tmp_path, split=None, train_mask=train, val_mask=val, test_mask=test)
    with pytest.raises(DataError, match="node 1 is in both train_mask and test_mask"):
        load_ppi(path)


def test_a_damaged_file_runs_no_code(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    write_graphsaint(tmp_path)
    np.save(tmp_path / "feats.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(DataError):
        load_ppi(tmp_path)
    assert not (tmp_path / "sprung").exists()
