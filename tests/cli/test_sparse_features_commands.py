"""Sparse features at the command line: kept so, and said."""

import re

import numpy as np
import pytest
from scipy import sparse

N, F = 60, 50
SIZES = {"embed_dim": 4, "out_dim": 6, "num_heads": 2, "key_dim": 3, "gate_dim": 3, "epochs": 3}
OPTIONS = [f"--set={name}={value}" for name, value in SIZES.items()]


@pytest.fixture
def words(tmp_path) -> np.ndarray:
    """Features (N, F) of words.npz, which holds them and the arcs as sparse matrices."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=N)
    x = (rng.random((N, F)) < 0.04).astype(np.float32)
    x[np.arange(N), y] = 1
    arcs = sparse.coo_array((np.ones(150), rng.integers(N, size=(2, 150))), shape=(N, N))
    arrays = {"labels": y}
    for prefix, matrix in (("adj_matrix", arcs), ("attr_matrix", x)):
        rows = sparse.csr_array(matrix)
        arrays |= {f"{prefix}.{part}": np.array(getattr(rows, part))
                   for part in ("data", "indices", "indptr", "shape")}  # fmt: skip
    np.savez(tmp_path / "words.npz", **arrays)
    return x


def test_the_commands_keep_them_sparse_and_say_so(gaancore, words):
    share = f"{np.count_nonzero(words) / words.size:.2%} are not 0"

    def said(*arguments: str) -> str:
        outcome = gaancore(*arguments)
        assert outcome.code == 0, outcome.err
        return re.sub(r"[\s│]+", " ", outcome.out + outcome.err)

    assert f"features 50, sparse: {share}" in said("info", "words.npz")
    said("convert", "words.npz", "store", "--split", "60,20,20")
    assert f"sparse: {share}" in said("info", "store")
    out = said("train", "--data", "words.npz", "--out", "run", *OPTIONS)
    assert f"50 features (sparse: {share})" in out
    assert f"sparse features as they are ({share})" in out
    said("predict", "run", "--data", "store", "--out", "found.csv")
    out = said("train", "--data", "store", "--out", "std", "--normalize", "standard", *OPTIONS)
    assert "divided by their deviation over the training nodes but not centred" in out
    said("train", "--resume", "std", "--epochs", "4")
