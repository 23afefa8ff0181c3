from pathlib import Path

import numpy as np
import pytest
from gaancore.cli.synth import Count

from gaancore.data import TEST, TRAIN, VALIDATION, NodeDataset, check_store
from gaancore.data.synthetic.large import write_synthetic_graph
from gaancore.errors import SettingsError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> NodeDataset:
    folder = tmp_path_factory.mktemp("graph") / "store"
    write_synthetic_graph(folder, num_nodes=20_000, num_arcs=200_000, num_features=16)
    return check_store(folder)


def test_it_has_the_size_that_was_asked_for(data: NodeDataset) -> None:
    assert (data.num_nodes, data.num_features, data.num_classes) == (20_000, 16, 41)
    assert data.num_edges == pytest.approx(200_000, rel=0.05)
    assert data.graph.is_symmetric()
    assert (data.graph.num_self_loops, data.graph.num_repeats) == (0, 0)
    assert [data.nodes(split).size for split in (TRAIN, VALIDATION, TEST)] == [218, 22, 38]
    assert data.features.dtype == np.float16
    degrees = data.graph.degrees
    assert np.median(degrees) < 0.7 * degrees.mean()
    assert degrees.max() > 10 * degrees.mean()


def test_neighbours_reveal_a_class_and_features_a_topic(data: NodeDataset) -> None:
    src, dst = data.graph.edges()
    shares = np.bincount(data.labels[src], minlength=41) / src.size
    assert np.mean(data.labels[src] == data.labels[dst]) > 5 * np.sum(shares**2)
    means = np.stack([data.features[data.labels == c].mean(axis=0, dtype=float) for c in range(41)])
    distances = ((data.features[:, None].astype(np.float32) - means) ** 2).sum(axis=2)
    assert np.mean(distances.argmin(axis=1) == data.labels) > 0.15


def test_the_same_seed_gives_the_same_bytes_and_another_one_another_draw(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_synthetic_graph(
            tmp_path / name, seed, num_nodes=2_000, num_arcs=9_000, num_features=2
        )
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
        if path.name != "split.npy":
            assert path.read_bytes() != (tmp_path / "c" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"num_nodes": 1_999}, "nodes: expected 2,000 to 2,147,483,647, got 1,999"),
        ({"num_nodes": 2**31}, "nodes: expected 2,000 to 2,147,483,647, got 2,147,483,648"),
        ({"num_arcs": 1}, "arcs: expected 2 to"),
        ({"num_features": 0}, "features: expected 1 to"),
    ],
)
def test_sizes_that_cannot_be_are_refused(
    tmp_path: Path, asked: dict[str, int], message: str
) -> None:
    sizes = {"num_nodes": 2_000, "num_arcs": 9_000, **asked}
    with pytest.raises(SettingsError, match=f"synthetic graph: {message}"):
        write_synthetic_graph(tmp_path / "store", **sizes)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "number"), [("3e7", 30_000_000), ("1_000", 1_000), ("12", 12), ("1e9", 10**9)]
)
def test_a_count_may_be_written_with_an_exponent(text: str, number: int) -> None:
    assert Count().convert(text, None, None) == number


@pytest.mark.parametrize("text", ["1.5", "many", "inf", "nan", ""])
def test_what_is_no_whole_number_is_no_count(text: str) -> None:
    with pytest.raises(Exception, match="is not a whole number such as 30000000 or 3e7"):
        Count().convert(text, None, None)
