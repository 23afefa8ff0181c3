"""Features that come sparse: they stay so up to the rows of a step, and say what dense ones say."""

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from small_public import attributed, csr_matrix, old_pickle, write_planetoid

import gaancore
from gaancore.data import TRAIN, Features, NodeDataset, check_store, feature_statistics, load_nodes
from gaancore.data.nodes.checks import feature_rows
from gaancore.data.nodes.features.far import far_from_training
from gaancore.data.nodes.inputs import inputs_of, match_categories
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.layouts.matlab import PEOPLE
from gaancore.data.nodes.missing import fill_missing
from gaancore.data.nodes.store.convert import write_store
from gaancore.data.summary import summarize_nodes
from gaancore.errors import DataError
from gaancore.sparse import CSRMatrix

N, F = 12, 40


def words(seed: int = 0) -> np.ndarray:
    """Counts of words: node 3 has none, nobody has the last word, everybody has word 1."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((N, F)) < 0.1, rng.integers(1, 5, (N, F)), 0).astype(np.float32)
    x[:, 1], x[3], x[:, -1] = 2, 0, 0
    return x


def graph(features, **options) -> NodeDataset:
    ends = np.random.default_rng(1).integers(N, size=(2, 30))
    arcs = sparse.coo_array((np.ones(30), ends), shape=(N, N))
    split = [0] * 6 + [1] * 3 + [2] * 3
    labels = ["a", "b"] * (N // 2)
    found = gaancore.from_scipy(arcs, features, labels, split, **options)
    assert isinstance(found, NodeDataset)
    return found


def both(**options) -> tuple[NodeDataset, NodeDataset]:
    """The same graph with dense features and with sparse ones."""
    x = words()
    return graph(x, **options), graph(sparse.coo_array(x), **options)


def test_a_sparse_matrix_of_any_kind_becomes_rows_with_each_number_once():
    x = words()
    for kind in ("csr", "csc", "coo", "lil", "dok"):
        found = feature_rows("here", "x", sparse.coo_matrix(x).asformat(kind), N)
        assert isinstance(found, sparse.csr_array)
        assert (found.dtype, found.toarray().tolist()) == (np.float32, x.tolist())
    # numbers of one place, one that is stored as 0, columns in no order
    twice = sparse.csr_array(([1.0, 5, 0, 2], [7, 2, 3, 7], [0, 4]), shape=(1, 40))
    given = twice.copy()
    found = feature_rows("here", "x", given, 1)
    assert (found.indices.tolist(), found.data.tolist()) == ([2, 7], [5, 3])
    assert given.indices.tolist() == twice.indices.tolist()  # what the user holds stays


@pytest.mark.parametrize(("filled", "kind"), [(8, sparse.csr_array), (9, np.ndarray)])
def test_one_of_which_more_than_a_fifth_is_not_0_becomes_dense(filled, kind):
    x = np.zeros((4, 10))
    x.ravel()[:filled] = 1
    found = feature_rows("here", "x", sparse.csr_array(x), 4)
    assert isinstance(found, kind)
    assert (found if kind is np.ndarray else found.toarray()).tolist() == x.tolist()


def test_a_dense_matrix_stays_dense_whatever_is_in_it():
    assert isinstance(graph(words()).features, np.ndarray)


def test_too_many_columns_for_their_weights_are_refused():
    wide = sparse.csr_array(([1.0], [5], [0, 1]), shape=(1, 2**40))
    with pytest.raises(DataError, match="x: 1 x 1,099,511,627,776 their weights take 1,125,900 GB"):
        feature_rows("here", "x", wide, 1)


def wide_planetoid(folder: Path) -> Path:
    write_planetoid(folder)
    for name, rows in (("x", range(2)), ("tx", (8, 6)), ("allx", range(5))):
        x = [[float(j == 3 * row) for j in range(30)] for row in rows]
        old_pickle(folder / f"ind.toy.{name}", csr_matrix(x))
    return folder


def wide_attributed(folder: Path) -> Path:
    x = np.zeros((4, 30), np.float32)
    x[[0, 2], [7, 29]] = 1.5, 2
    matrix = sparse.csr_array(x)
    parts = {f"attr_matrix.{n}": np.array(getattr(matrix, n))
             for n in ("data", "indices", "indptr", "shape")}  # fmt: skip
    np.savez(folder / "g.npz", **attributed(("adj_matrix.", "attr_matrix."), **parts))
    return folder / "g.npz"


def wide_matlab(folder: Path) -> Path:
    x = sparse.csc_matrix(([1.0, 2.0], ([0, 2], [3, 9])), shape=(3, 30))
    arcs = sparse.csc_matrix(np.eye(3)[[1, 2, 0]])
    savemat(folder / "g.mat", {"Network": arcs, "Attributes": x, "Label": [[1.0], [2], [1]]})
    return folder / "g.mat"


def people() -> np.ndarray:
    rng = np.random.default_rng(0)
    found = rng.integers(1, 60, (40, 7)).astype(float)
    found[rng.random(found.shape) < 0.2] = 0
    return found


def university(folder: Path) -> Path:
    savemat(folder / "g.mat", {"A": sparse.csc_matrix(np.eye(40)), "local_info": people()})
    return folder / "g.mat"


@pytest.mark.parametrize("make", [wide_planetoid, wide_attributed, wide_matlab, university])
def test_readers_that_meet_sparse_features_keep_them(make, tmp_path):
    reading = gaancore.data.Reading(label="year" if make is university else "")
    raw = read_layout(make(tmp_path), reading)
    assert isinstance(raw.features, sparse.csr_array)
    assert raw.features.has_canonical_format
    dense = raw.features.toarray()
    if make is wide_planetoid:
        assert np.argwhere(dense).tolist() == [[0, 0], [1, 3], [2, 6], [3, 9], [4, 12], [6, 18],
                                               [8, 24]]  # fmt: skip
    elif make is wide_attributed:
        assert (dense[0, 7], dense[2, 29], np.count_nonzero(dense)) == (1.5, 2, 2)
    elif make is wide_matlab:
        assert (dense[0, 3], dense[2, 9], np.count_nonzero(dense)) == (1, 2, 2)
    else:
        for at, name in enumerate(raw.feature_names):
            column, _, value = name.partition("=")
            is_so = people()[:, PEOPLE.index(column)] == float(value)
            assert dense[:, at].tolist() == is_so.tolist()


def test_views_and_subgraphs_have_the_rows_of_the_dense_ones():
    for ids in (np.arange(5), np.array([1, 4, 11])):
        dense, kept = (dataset.induced(ids) for dataset in both())
        assert kept.features.toarray().tolist() == dense.features.tolist()
    dataset = both()[1]
    view, _ = dataset.view(TRAIN)
    assert np.shares_memory(view.features.data, dataset.features.data)
    assert "features_filled" in dataset.facts()


@pytest.mark.parametrize("how", ["none", "row"])
def test_rows_of_a_step_are_those_of_dense_features(how):
    dense, kept = both()
    nodes = np.array([4, 0, 3, 4])
    rows = [
        Features(d.features, *feature_statistics(d, how), by_row=how == "row")[nodes]
        for d in (dense, kept)
    ]
    assert isinstance(rows[1], CSRMatrix)
    assert rows[1].toarray().tolist() == rows[0].tolist()


def test_standard_divides_by_the_deviation_of_training_nodes_and_keeps_zeros():
    dense, kept = both()
    _, scale = feature_statistics(dense, "standard")
    mean, own = feature_statistics(kept, "standard")
    assert not mean.any()
    np.testing.assert_allclose(own, scale, rtol=1e-12)
    rows = Features(kept.features, mean, own)[np.arange(N)].toarray()
    np.testing.assert_allclose(rows, words() / scale, rtol=1e-6)


def test_a_mean_is_subtracted_from_sparse_rows_as_from_dense_ones():
    """A run that was trained on dense features is asked about sparse ones."""
    dense, kept = both()
    statistics = feature_statistics(dense, "standard")
    nodes = np.array([4, 0, 3, 4])
    assert Features(kept.features, *statistics)[nodes].tobytes() == (
        Features(dense.features, *statistics)[nodes].tobytes()
    )


def test_features_far_from_training_are_told_of_sparse_ones_too():
    x = words() * 1000
    statistics = feature_statistics(graph(words()), "standard")
    told = far_from_training(x, *statistics)
    assert told is not None
    assert far_from_training(sparse.csr_array(x), *statistics) == told
    uncentred = feature_statistics(graph(sparse.csr_array(words())), "standard")
    assert far_from_training(x, *uncentred) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
def test_a_number_that_is_not_finite_is_named_by_row_and_column(value):
    x = words().astype(np.float64)
    x[5, 7] = value
    shown = "nan" if np.isnan(value) else "inf"
    message = f"first {shown} at row 5, column 7 (node id 5); correct them"
    with pytest.raises(DataError, match=re.escape(message)):
        graph(sparse.csr_array(x))


@pytest.mark.parametrize("nan", ["zero", "mean"])
def test_missing_numbers_are_filled_as_in_dense_features(nan):
    x = words()
    x[[0, 2, 10, 0], [1, 1, 1, 5]] = np.nan
    dense, kept = graph(x, nan=nan), graph(sparse.csr_array(x), nan=nan)
    np.testing.assert_allclose(kept.features.toarray(), dense.features, rtol=1e-6)
    assert kept.notes == dense.notes
    assert (kept.features.data != 0).all()


def test_a_mean_needs_a_split_for_sparse_features_too(tmp_path):
    x = words()
    x[0, 0] = np.nan
    raw = read_layout(wide_attributed(tmp_path))
    with pytest.raises(DataError, match="no training nodes to take a mean over"):
        fill_missing(replace(raw, features=sparse.csr_array(x)), "mean")


def test_categories_of_sparse_features_are_matched_as_those_of_dense_ones():
    names = [f"dorm={n}" for n in range(F)]
    known = ["dorm=99", *names[:20]]
    found = [match_categories(inputs_of(d), known, None) for d in both(feature_names=names)]
    assert found[1].features.toarray().tolist() == found[0].features.tolist()
    assert found[1].notes == found[0].notes
    assert any("left out, of" in note for note in found[1].notes)


def test_the_summary_says_how_much_is_not_0():
    dense, kept = (summarize_nodes(dataset)["features"] for dataset in both())
    assert kept.pop("filled") == np.count_nonzero(words()) / words().size
    assert kept == dense


def test_a_store_keeps_them_sparse_and_maps_them(tmp_path):
    dataset = both()[1]
    raw = replace(read_layout(wide_attributed(tmp_path)), features=dataset.features[:4])
    raw = replace(raw, split=np.array([2, 0, 1, 0]))
    write_store(raw, tmp_path / "store", name="words")
    assert not (tmp_path / "store" / "features.npy").exists()
    store = check_store(tmp_path / "store")
    order = [1, 3, 2, 0]
    assert store.node_ids.tolist() == order
    assert store.features.toarray().tolist() == words()[order].tolist()
    owner = store.features.data
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    assert isinstance(owner, np.memmap)
    again = load_nodes(tmp_path / "store", name="words")
    assert again.facts()["checksum"] == store.facts()["checksum"]
    view, _ = store.view(TRAIN)
    assert np.shares_memory(view.features.data, store.features.data)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("feature_indices", np.array([99], np.int32), "feature_indices.npy[0] (row 0): 99 is out"),
        ("feature_indptr", np.array([0, 2, 1, 1, 1]), "feature_indptr.npy: offsets must not"),
        ("feature_values", np.array([1], np.int32), "feature_values.npy: int32 (1,) where"),
        ("feature_values", None, "feature_values.npy: No such file"),
    ],
)
def test_damaged_sparse_features_of_a_store_are_refused(name, array, message, tmp_path):
    raw = read_layout(wide_attributed(tmp_path))
    few = sparse.csr_array(([1.0], [3], [0, 1, 1, 1, 1]), shape=(4, 30), dtype=np.float32)
    raw = replace(raw, features=few, split=np.array([0, 0, 1, 2]))
    write_store(raw, tmp_path / "store", name="words")
    path = tmp_path / "store" / f"{name}.npy"
    if array is None:
        path.unlink()
    else:
        np.save(path, array)
    with pytest.raises(DataError, match=re.escape(message)):
        check_store(tmp_path / "store")


def test_a_pickle_of_a_dense_matrix_stays_dense(tmp_path):
    wide_planetoid(tmp_path)
    for name, rows in (("x", 2), ("tx", 2), ("allx", 5)):
        (tmp_path / f"ind.toy.{name}").write_bytes(pickle.dumps(np.eye(30)[:rows], protocol=2))
    assert isinstance(read_layout(tmp_path).features, np.ndarray)
