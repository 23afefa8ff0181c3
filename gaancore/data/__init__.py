"""Files to arrays: every layout ends in one NodeDataset; nothing here knows of tensors."""

from gaancore.data.dataset import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
    apply_normalization,
    normalize,
)
from gaancore.data.ppi import find_ppi, load_ppi
from gaancore.data.reddit import find_reddit, load_reddit
from gaancore.data.store import check_store, open_store
from gaancore.data.synthetic import synthetic_ppi
from gaancore.data.synthetic_reddit import synthetic_reddit

__all__ = [
    "TEST",
    "TRAIN",
    "VALIDATION",
    "NodeDataset",
    "apply_normalization",
    "check_store",
    "find_ppi",
    "find_reddit",
    "load_ppi",
    "load_reddit",
    "normalize",
    "open_store",
    "synthetic_ppi",
    "synthetic_reddit",
]
