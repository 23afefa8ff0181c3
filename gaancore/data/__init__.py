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
from gaancore.data.synthetic import synthetic_ppi

__all__ = [
    "TEST",
    "TRAIN",
    "VALIDATION",
    "NodeDataset",
    "apply_normalization",
    "find_ppi",
    "load_ppi",
    "normalize",
    "synthetic_ppi",
]
