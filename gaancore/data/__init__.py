"""Files to arrays: every layout ends in a NodeDataset or a TrafficDataset; no tensors here."""

from gaancore.data.dataset import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
    apply_normalization,
    normalize,
)
from gaancore.data.folder import find_data
from gaancore.data.metr_la import load_metr_la
from gaancore.data.ppi import load_ppi
from gaancore.data.synthetic import synthetic_ppi
from gaancore.data.synthetic_traffic import synthetic_traffic
from gaancore.data.traffic import TrafficDataset, Windows
from gaancore.data.traffic_batches import Scaler, WindowBatches
from gaancore.data.windows import split_windows

__all__ = [
    "TEST",
    "TRAIN",
    "VALIDATION",
    "NodeDataset",
    "Scaler",
    "TrafficDataset",
    "WindowBatches",
    "Windows",
    "apply_normalization",
    "find_data",
    "load_metr_la",
    "load_ppi",
    "normalize",
    "split_windows",
    "synthetic_ppi",
    "synthetic_traffic",
]
