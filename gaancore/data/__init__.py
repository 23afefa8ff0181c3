"""Files to arrays: every layout ends in one NodeDataset; nothing here knows of tensors."""

from gaancore.data.dataset import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
)
from gaancore.data.features import Features, feature_statistics
from gaancore.data.ppi import find_ppi, load_ppi
from gaancore.data.reddit import find_reddit, load_reddit
from gaancore.data.store import check_store, open_store
from gaancore.data.synthetic import synthetic_ppi
from gaancore.data.synthetic_reddit import synthetic_reddit

__all__ = [
    "TEST",
    "TRAIN",
    "VALIDATION",
    "Features",
    "NodeDataset",
    "check_store",
    "feature_statistics",
    "find_ppi",
    "find_reddit",
    "load_ppi",
    "load_reddit",
    "open_store",
    "synthetic_ppi",
    "synthetic_reddit",
]
