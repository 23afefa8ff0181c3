"""A store in parts: its rows are those of the store that was cut; what is wrong is one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from ranks import on_ranks, results
from scipy import sparse
from small_parts import with_edge_features, write_both, write_whole
from small_reddit import small_classes
from small_run import NODES, small_arrays

from gaancore.data import TEST, TRAIN, VALIDATION, feature_statistics, open_store
from gaancore.data.nodes.features.edges import edge_statistics, standardised_edges
from gaancore.data.parts.cut import write_parts
from gaancore.data.parts.dataset import PartedDataset, name_of_part, parted_at
from gaancore.data.parts.part import check_part, open_part
from gaancore.data.parts.rows import OpenParts, PartedRows
from gaancore.data.summary import summarize_nodes
from gaancore.errors import DataError, SettingsError, UserError
from gaancore.graph import sample_blocks
from gaancore.parallel import ALONE, Team

PARTS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Some nodes are in no split."""
    found = tmp_path_factory.mktemp("stores")
    split = small_classes()["split"].copy()
    split[::9] = -1
    write_both(found, small_classes(split=split), PARTS, unflagged="context")
    return found


@pytest.fixture
def copied(folder, tmp_path):
    """The parts, to be damaged."""
    for path in (folder / "parts").rglob("*"):
        if path.is_file():
            there = tmp_path / "parts" / path.relative_to(folder / "parts")
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(path.read_bytes())
    return tmp_path / "parts"


def opened(folder: Path, team: Team = ALONE, cache: float = 0.0) -> OpenParts:
    return OpenParts(replace(parted_at(folder / "parts"), cache=cache), team)


def test_what_it_says_of_itself_is_what_the_store_says(folder):
    whole, parts = open_store(folder / "whole"), parted_at(folder / "parts")
    assert isinstance(parts, PartedDataset)
    assert (parts.num_parts, parts.num_nodes, parts.num_edges) == (5, NODES, whole.num_edges)
    assert parts.counts() == whole.counts()
    assert parts.filled == whole.filled
    facts = parts.facts()
    assert facts.pop("checksums").keys() == {"parts"}
    assert facts.pop("parts") == PARTS
    assert facts | {"path": whole.path} == whole.facts()
    assert parts.summary == summarize_nodes(whole)
    for split in (TRAIN, VALIDATION, TEST):
        assert_array_equal(parts.nodes(split), whole.nodes(split))
        assert_array_equal(parts.label_counts(split), whole.label_counts(split))
        assert parts.seen(split) == whole.view(split)[0].num_nodes
    for how in ("none", "standard", "row"):
        for a, b in zip(parts.statistics(how), feature_statistics(whole, how), strict=True):
            assert_array_equal(a, b)


def test_every_node_is_in_one_part_with_its_rows(folder):
    whole, dataset = open_store(folder / "whole"), parted_at(folder / "parts")
    met = []
    for number in range(PARTS):
        part = open_part(dataset, number)
        met.append(part.nodes)
        assert_array_equal(part.features, whole.features[part.nodes])
        assert_array_equal(part.labels, whole.labels[part.nodes])
        for row, node in enumerate(part.nodes):
            start, stop = whole.graph.indptr[node : node + 2]
            own = part.indices[part.indptr[row] : part.indptr[row + 1]]
            assert_array_equal(own, whole.graph.indices[start:stop])
    assert_array_equal(np.sort(np.concatenate(met)), np.arange(NODES))


def test_the_share_of_arcs_between_parts_is_told(folder):
    whole, dataset = open_store(folder / "whole"), parted_at(folder / "parts")
    part_of = np.searchsorted(dataset.firsts, dataset.places, side="right") - 1
    src, dst = whole.graph.edges()
    assert dataset.crossing_share == np.mean(part_of[src] != part_of[dst])


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("cache", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("split", [TRAIN, VALIDATION, TEST])
def test_ranks_read_what_the_whole_has(folder, size, cache, split):
    """Each rank its own batches, and one rank none."""
    view, _ = open_store(folder / "whole").view(split)
    fanouts = (3, -1, 2)

    def batches(rank: int) -> list[np.ndarray]:
        rng = np.random.default_rng(rank)
        counts = (7, 0, view.num_nodes) if rank < 2 else ()
        return [rng.permutation(view.num_nodes)[:count] for count in counts]

    def work(team: Team) -> Any:
        rows = PartedRows(opened(folder, team, cache), view.num_nodes)
        own = batches(team.rank)
        blocks = rows.blocks(own, fanouts, [2**64 - 1 - n for n in range(len(own))])
        some = own[0] if own else np.zeros(0, np.int64)
        return (
            blocks, rows.features(own), rows.labels(own), rows.block_of(some), rows.degrees(some),
            rows.parts.rows_read(),
        )  # fmt: skip

    for rank, found in enumerate(results(on_ranks(size, work))):
        blocks, features, labels, block, degrees, (own, kept, fetched) = found
        for n, nodes in enumerate(batches(rank)):
            assert_array_equal(features[n], view.features[nodes])
            assert_array_equal(labels[n], view.labels[nodes])
            expected = (
                sample_blocks(view.graph, nodes, fanouts, seed=2**64 - 1 - n) if nodes.size else []
            )
            for a, b in zip(blocks[n], expected, strict=True):
                assert_array_equal(a.src_ids, b.src_ids)
                assert_array_equal(a.indptr, b.indptr)
                assert_array_equal(a.indices, b.indices)
        some = batches(rank)[0] if batches(rank) else np.zeros(0, np.int64)
        assert_array_equal(block.indices, view.graph.block_of(some).indices)
        assert_array_equal(degrees, view.graph.degrees[some])
        assert (own > 0) == (size > 1)  # one rank counts none
        assert (kept > 0) == (size > 1 and cache > 0)
        assert (fetched > 0) == (size > 1 and cache < 1)


@pytest.fixture(scope="module")
def folder_of_edges(tmp_path_factory):
    """Edges have features."""
    found = tmp_path_factory.mktemp("edges")
    write_both(found, with_edge_features(small_classes()), PARTS)
    return found


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("cache", [0.0, 0.2])
@pytest.mark.parametrize("split", [TRAIN, TEST])
def test_ranks_draw_the_features_of_edges_that_the_whole_has(folder_of_edges, size, cache, split):
    whole, dataset = open_store(folder_of_edges / "whole"), parted_at(folder_of_edges / "parts")
    assert dataset.edge_dim == whole.edge_dim == 3
    for a, b in zip(dataset.edge_statistics, edge_statistics(whole), strict=True):
        assert_array_equal(a, b)
    statistics = edge_statistics(whole)
    view = whole.view(split)[0]
    graph = standardised_edges(view.graph, statistics)
    nodes = [np.random.default_rng(n).permutation(view.num_nodes)[:9] for n in range(2)]

    def work(team: Team) -> Any:
        parts = opened(folder_of_edges, team, cache)
        rows = PartedRows(parts, view.num_nodes, edges=statistics)
        plain = PartedRows(parts, view.num_nodes)
        asked = (nodes, (3, -1), [7, 8])
        return rows.blocks(*asked), rows.block_of(nodes[0]), plain.blocks(*asked)

    for blocks, around, plain in results(on_ranks(size, work)):
        for of_batch, of_plain, seeds, key in zip(blocks, plain, nodes, (7, 8), strict=True):
            expected = sample_blocks(graph, seeds, (3, -1), seed=key)
            for a, b, c in zip(of_batch, expected, of_plain, strict=True):
                assert_array_equal(a.indices, b.indices)
                assert_array_equal(a.edge_attr, b.edge_attr)
                assert c.edge_attr is None
        assert_array_equal(around.edge_attr, graph.block_of(nodes[0]).edge_attr)


def test_each_part_has_the_features_of_its_own_edges(folder_of_edges):
    whole, dataset = open_store(folder_of_edges / "whole"), parted_at(folder_of_edges / "parts")
    for number in range(PARTS):
        part = open_part(dataset, number)
        for row, node in enumerate(part.nodes):
            start, stop = whole.graph.indptr[node : node + 2]
            own = part.edge_attr[part.indptr[row] : part.indptr[row + 1]]
            assert_array_equal(own, whole.graph.edge_attr[start:stop])


@pytest.mark.parametrize("wrong", ["float64", "one column fewer", "not there"])
def test_damaged_features_of_edges_are_named(folder_of_edges, tmp_path, wrong):
    copy = tmp_path / "parts"
    shutil.copytree(folder_of_edges / "parts", copy)
    file = copy / name_of_part(1) / "edge_attr.npy"
    attr = np.load(file)
    np.save(file, {"float64": attr.astype(float), "one column fewer": attr[:, 1:]}.get(wrong, attr))
    if wrong == "not there":
        meta = json.loads((file.parent / "meta.json").read_text())
        del meta["files"]["edge_attr"]
        (file.parent / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(DataError, match=r"convert the data again"):
        open_part(parted_at(copy), 1)


def test_rows_that_are_kept_are_those_of_the_nodes_with_the_most_neighbours(folder):
    whole = open_store(folder / "whole")
    order = sorted(range(NODES), key=lambda node: (-whole.graph.degrees[node], node))
    most = {*order[: int(0.25 * NODES)]}

    def work(team: Team) -> tuple[set[int], set[int]]:
        parts = opened(folder, team, 0.25)
        own, kept = parts.held.parts[:-1], parts.held.parts[-1]
        return {*np.concatenate([part.nodes for part in own]).tolist()}, {*kept.nodes.tolist()}

    for own, kept in results(on_ranks(2, work)):
        assert kept == most - own


def test_parts_are_dealt_out_in_runs(folder):
    def work(team: Team) -> list[int]:
        return [len(part.nodes) for part in opened(folder, team).held.parts[:-1]]

    sizes = [nodes for nodes, _ in parted_at(folder / "parts").parts]
    assert results(on_ranks(2, work)) == [sizes[:2], sizes[2:]]


def test_a_rank_needs_no_part_but_its_own(folder, copied):
    def work(team: Team) -> int:
        return len(OpenParts(parted_at(copied.parent / str(team.rank)), team).held.parts)

    for rank, numbers in enumerate([(0, 1), (2, 3, 4)]):
        there = copied.parent / str(rank)
        there.mkdir()
        for name in ("meta.json", "places.npy", "statistics.npy", "node_ids.npy"):
            (there / name).write_bytes((copied / name).read_bytes())
        for number in numbers:
            (there / name_of_part(number)).symlink_to(copied / name_of_part(number))
    assert results(on_ranks(2, work)) == [3, 4]


# ---- what is refused -----------------------------------------------------------------------------


def test_fewer_parts_than_ranks_are_refused_on_all(folder):
    for error in on_ranks(6, lambda team: opened(folder, team)):
        assert isinstance(error, SettingsError)
        assert str(error).endswith(
            "5 parts for 6 processes; cut it into 6 parts or more, or start 5 at most"
        )


def test_ranks_with_different_cuts_are_refused(folder, tmp_path):
    write_parts(tmp_path / "parts", PARTS - 1, lambda there: open_store(folder / "whole"))
    for error in on_ranks(2, lambda team: opened((folder, tmp_path)[team.rank], team)):
        assert isinstance(error, SettingsError)
        assert str(error).startswith("data: parts: rank 1 has ")


def test_a_part_that_is_missing_is_named_with_whose_it_is(copied):
    (copied / name_of_part(3)).rename(copied.parent / "gone")
    for error in on_ranks(2, lambda team: opened(copied.parent, team), hosts=("node1", "node2")):
        assert isinstance(error, DataError)
        assert str(error).startswith(
            f"{copied / 'part-003'}: no such part, but rank 1 on node2 trains with it; copy it"
        )


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), encoding="utf-8")


def swapped(folder: Path) -> None:
    a, b = folder / name_of_part(1), folder / name_of_part(2)
    a.rename(folder / "other")
    b.rename(a)
    (folder / "other").rename(b)


def of_another_cut(folder: Path) -> None:
    whole = write_whole(folder.parent / "other", small_arrays())
    write_parts(folder.parent / "cut", PARTS, lambda there: whole)
    (folder / name_of_part(1)).rename(folder.parent / "gone")
    (folder.parent / "cut" / name_of_part(1)).rename(folder / name_of_part(1))


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, tuple[Any, str]] = {
    "swapped": (swapped, "part-001: not part 1 of the store at .*, but part 2 of another"),
    "of another cut": (of_another_cut, "part-001: not part 1 of the store .* part 1 of another"),
    "a version to come": (
        lambda f: change(f / "part-001/meta.json", version=2),
        "part-001/meta.json: version 2 where this gaancore reads 1; convert the data again",
    ),
    "no part": (lambda f: change(f / "part-001/meta.json", format="x"), "describes no part"),
    "no files": (lambda f: change(f / "part-001/meta.json", files={}), "files is missing or"),
    "no meta.json": (lambda f: (f / "part-001/meta.json").unlink(), "part-001/meta.json: No such"),
    "a file less": (lambda f: (f / "part-001/labels.npy").unlink(), "labels.npy: No such file"),
    "cut off": (
        lambda f: (f / "part-001/features.npy").write_bytes(b"x"),
        "features.npy: 1 bytes where meta.json says .*: truncated",
    ),
    "a bit": (lambda f: flipped(f / "part-001/indices.npy"), "indices.npy: its checksum is "),
    "a bit of the places": (lambda f: flipped(f / "places.npy"), "places.npy: its checksum is "),
    "the whole's version": (
        lambda f: change(f / "meta.json", version=7),
        "meta.json: version 7 where this gaancore reads 2",
    ),
    "the whole's counts": (
        lambda f: change(f / "meta.json", parts=[{"nodes": 1, "arcs": 2}]),
        "meta.json: its counts do not fit together",
    ),
    "the whole's facts": (
        lambda f: change(f / "meta.json", facts={}),
        "meta.json: its counts do not fit together",
    ),
    "the whole's ids": (
        lambda f: rewritten(f, "node_ids", np.arange(3)),
        "meta.json: its counts do not fit together",
    ),
    "the whole's labels": (
        lambda f: change(f / "meta.json", label_counts=None),
        "meta.json: label_counts is missing or malformed",
    ),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_line_that_names_the_file(copied, damage, words):
    damage(copied)
    with pytest.raises(DataError, match=words):
        OpenParts(parted_at(copied))


def rewritten(folder: Path, name: str, array: np.ndarray) -> None:
    """Another array, of which meta.json knows."""
    from gaancore.data.nodes.store.writer import StoreWriter

    writer = StoreWriter(folder)
    writer.save(name, array)
    files = json.loads((folder / "meta.json").read_text("utf-8"))["files"]
    change(folder / "meta.json", files=files | writer.described([name]))


@pytest.mark.parametrize("name", ["nodes", "indptr", "indices", "features", "labels"])
def test_arrays_that_do_not_belong_to_a_part_are_refused_by_name(copied, name):
    part = copied / name_of_part(1)
    array = np.load(part / f"{name}.npy")
    rewritten(part, name, array[::-1] if name != "indptr" else np.append(array, array[-1]))
    if name in ("features", "labels"):  # in any order they are as good as others
        rewritten(part, name, array[1:])
    with pytest.raises(DataError, match=rf"{name}\.npy: not the {name} of this part"):
        open_part(parted_at(copied), 1)


def test_an_id_outside_of_the_graph_is_refused(copied):
    array = np.load(copied / "part-001" / "indices.npy")
    array[3] = NODES
    rewritten(copied / "part-001", "indices", array)
    with pytest.raises(DataError, match=r"part-001: indices.npy\[3\] .* is out of range"):
        open_part(parted_at(copied), 1)


def test_every_byte_of_a_large_file_is_compared_by_check_alone(copied, monkeypatch):
    monkeypatch.setattr("gaancore.data.nodes.store.reader.COMPARED", 100)
    flipped(copied / "part-001" / "features.npy")
    dataset = parted_at(copied)
    open_part(dataset, 1)
    check_part(dataset, 0)
    with pytest.raises(DataError, match=r"features\.npy: its checksum is"):
        check_part(dataset, 1)


def test_a_store_in_parts_is_no_store_to_those_who_want_the_whole(folder):
    with pytest.raises(DataError, match="a store in parts, which train, predict, embed, "):
        open_store(folder / "parts")


def test_what_is_no_store_in_parts_stays_as_it_is(folder):
    for other in (None, 3, str(folder / "whole"), folder / "none", str(folder)):
        assert parted_at(other) == other


@pytest.mark.parametrize("count", [0, NODES + 1])
def test_a_number_of_parts_that_makes_no_sense_leaves_nothing(folder, tmp_path, count):
    with pytest.raises(SettingsError, match=f"parts: expected 1 to {NODES}"):
        write_parts(tmp_path / "parts", count, lambda there: open_store(folder / "whole"))
    assert not [*tmp_path.iterdir()]


def test_what_is_not_cut_yet_is_refused(folder, tmp_path):
    whole = open_store(folder / "whole")
    few = replace(whole, features=sparse.csr_array(whole.features))
    with pytest.raises(UserError, match="not cut"):
        write_parts(tmp_path / "parts", 2, lambda there: few)
    assert not [*tmp_path.iterdir()]


def test_parts_without_arcs_can_be_read(tmp_path):
    """As many parts as nodes, some of which have no neighbour."""
    write_both(tmp_path, small_arrays(), NODES)
    whole, parts = open_store(tmp_path / "whole"), opened(tmp_path)
    assert 0 in [arcs for _, arcs in parts.dataset.parts]
    block = PartedRows(parts, NODES).block_of(np.arange(NODES))
    assert_array_equal(block.indices, whole.graph.indices)
