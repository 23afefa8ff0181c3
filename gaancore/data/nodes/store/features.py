"""The features of a store: one dense file, or the three arrays of sparse rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from gaancore.data.nodes.checks import VALUES_AT_A_TIME, naming_file
from gaancore.data.nodes.features.matrix import FeatureMatrix, arrays_of
from gaancore.errors import DataError
from gaancore.graph.checks import columns, offsets
from gaancore.system.mapped import forget_pages

if TYPE_CHECKING:
    from gaancore.data.nodes.store.writer import StoreWriter

DENSE = ("features",)
SPARSE = ("feature_indptr", "feature_indices", "feature_values")
TYPES = (np.int64, np.int32, np.float32)


def write_features(writer: "StoreWriter", features: FeatureMatrix, order: np.ndarray) -> None:
    """The rows `order` of the features, dense or sparse as they are; float16 stays so."""
    if sparse.issparse(features):
        for name, array in zip(SPARSE, arrays_of(features[order]), strict=True):
            writer.save(name, array)
        return
    width = features.shape[1]
    kept = np.float16 if features.dtype == np.float16 else np.float32
    file = writer.create(*DENSE, (order.size, width), kept)
    step = max(1, VALUES_AT_A_TIME // width)
    for start in range(0, order.size, step):
        file[start : start + step] = features[order[start : start + step]]
        forget_pages(file)
        forget_pages(features)


def features_of(folder: Path, arrays: dict[str, np.ndarray], num_features: Any) -> FeatureMatrix:
    """The features among the memory-mapped arrays of a store; sparse ones are (N, num_features).

    Raises DataError if sparse ones are no such matrix: no damage can lead outside an array.
    """
    if DENSE[0] in arrays:
        return arrays[DENSE[0]]
    indptr, indices, values = (arrays[name] for name in SPARSE)
    for name, dtype in zip(SPARSE, TYPES, strict=True):
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise DataError(
                f"{folder / name}.npy: expected {np.dtype(dtype)} in one dimension, got "
                f"{arrays[name].dtype} {arrays[name].shape}; convert the data again"
            )
    with naming_file(str(folder)):
        indptr = offsets(f"{SPARSE[0]}.npy", indptr, indices.size)
        indices = columns(f"{SPARSE[1]}.npy", indices, indptr, num_features, np.int32)
    if values.size != indices.size:
        raise DataError(
            f"{folder / SPARSE[2]}.npy: {values.size:,} values for {indices.size:,} entries; "
            "convert the data again"
        )
    found = sparse.csr_array((values, indices, indptr), shape=(indptr.size - 1, num_features))
    found.has_canonical_format = True  # so it was written; else it is looked through, to find out
    return found
