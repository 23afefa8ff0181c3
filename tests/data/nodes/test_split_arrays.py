"""Masks and lists of nodes are the split, under the names that are in use."""

import numpy as np
import pytest
from small_files import NAMES, SPLIT, write_csv, write_npz

from gaancore.data import load_nodes, load_ppi
from gaancore.errors import DataError

PARTS = ("train", "val", "test")
MASKS = {f"{part}_mask": np.array(SPLIT) == number for number, part in enumerate(PARTS)}
LISTS = {
    f"{part}_idx": np.flatnonzero(mask) for part, mask in zip(PARTS, MASKS.values(), strict=True)
}


def split_of(path, **changes):
    return load_ppi(write_npz(path, split=None, **changes)).split.tolist()


def test_masks_may_be_columns_numbers_and_called_valid(tmp_path):
    assert split_of(tmp_path, **{name: mask[:, None] for name, mask in MASKS.items()}) == SPLIT
    assert split_of(tmp_path, **{name: mask.astype(float) for name, mask in MASKS.items()}) == SPLIT
    renamed = {name.replace("val_", "valid_"): mask for name, mask in MASKS.items()}
    assert split_of(tmp_path, **renamed) == SPLIT
    assert load_ppi(write_npz(tmp_path, split=np.array(SPLIT)[:, None])).split.tolist() == SPLIT


def test_lists_of_nodes_are_the_split(tmp_path):
    assert split_of(tmp_path, **LISTS) == SPLIT
    columns = {name.replace("val_", "valid_"): rows[::-1, None] for name, rows in LISTS.items()}
    assert split_of(tmp_path, **columns) == SPLIT
    several = {name: rows.astype(np.uint64) for name, rows in LISTS.items()}
    assert split_of(tmp_path, **several) == SPLIT


def test_a_part_may_be_missing_and_is_told(tmp_path):
    for arrays, lacking in ((MASKS, "val_mask"), (LISTS, "val_idx")):
        given = {name: array for name, array in arrays.items() if name != lacking}
        dataset = load_nodes(write_npz(tmp_path, split=None, **given), name="mine")
        assert dataset.split.tolist() == [0, 0, 0, 2, 2]
        assert any(note.startswith("no validation nodes, by which") for note in dataset.notes)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({**MASKS, **LISTS}, "split: looked for .* and found more than one of them"),
        ({**MASKS, "split": np.array(SPLIT)}, "found more than one of them: split train_mask"),
        ({**MASKS, "valid_mask": MASKS["val_mask"]}, "found more than one of them"),
        ({**LISTS, "test_idx": np.array([4, 6])}, "test_idx: 6 at place 1; expected .* 0 to 5"),
        ({**LISTS, "test_idx": np.array([-1])}, "test_idx: -1 at place 0"),
        ({**LISTS, "test_idx": np.array([4, 2])}, "node 2 is in both train_idx and test_idx"),
        ({**LISTS, "test_idx": np.array([4.0])}, "test_idx: expected the numbers of nodes"),
        ({**LISTS, "test_idx": np.zeros((2, 2), int)}, "test_idx: expected the numbers of nodes"),
        ({**LISTS, "test_idx": np.zeros(2, "i4,i4")}, "test_idx: expected the numbers of nodes"),
    ],
)
def test_a_split_that_is_none_is_refused(arrays, message, tmp_path):
    changes = {"split": None, **arrays}
    with pytest.raises(DataError, match=message):
        load_ppi(write_npz(tmp_path, **changes))


def test_arrays_that_are_not_used_are_named(tmp_path):
    dataset = load_ppi(write_npz(tmp_path, edge_attr=np.ones(7), node_ids=np.arange(6)))
    assert "arrays not used: edge_attr, node_ids" in dataset.notes
    assert not any("not used" in note for note in load_ppi(write_npz(tmp_path)).notes)


def with_masks(folder, names=tuple(MASKS), true="True", false="False"):
    write_csv(folder)
    lines = (folder / "nodes.csv").read_text().splitlines()
    header = lines[0].replace("Split", "age")
    table = [f"{header},{','.join(names)}"]
    for row, line in enumerate(lines[1:]):
        for number, word in enumerate(PARTS):
            line = line.replace(f",{word},", f",{number},")
        cells = [true if SPLIT[row] == part else false for part in range(len(names))]
        table.append(f"{line},{','.join(cells)}")
    (folder / "nodes.csv").write_text("\n".join(table))
    return folder


@pytest.mark.parametrize(("true", "false"), [("True", "False"), ("1", "0"), ("1.0", "")])
def test_mask_columns_of_a_table_are_the_split_and_no_features(true, false, tmp_path):
    dataset = load_ppi(with_masks(tmp_path, true=true, false=false))
    assert dataset.split.tolist() == SPLIT
    assert dataset.feature_names == ("f 0", "age", "f1")
    assert dataset.node_ids.tolist() == NAMES
    assert "nodes.csv: train_mask, val_mask, test_mask taken as the split" in dataset.notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("test_mask", "split", "found more than one of them: split train_mask val_mask"),
        ("test_mask", "valid_mask", "found more than one of them"),
        (",True,", ",2,", "train_mask: expected true or false for each of 6 nodes"),
        ("True,False", "True,True", "node 0 is in both train_mask and val_mask"),
        (",True,", ",yes,", "column train_mask: 'yes' is not a number"),
    ],
)
def test_mask_columns_that_are_no_split_are_refused(old, new, message, tmp_path):
    path = with_masks(tmp_path) / "nodes.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        load_ppi(tmp_path)
