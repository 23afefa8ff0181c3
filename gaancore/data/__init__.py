"""Files to arrays: every layout ends in a NodeDataset or a TrafficDataset; no tensors here."""

from gaancore.data.dataset import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
    apply_normalization,
    normalize,
)
from gaancore.data.load import find_dataset
from gaancore.data.metr_la import load_metr_la
from gaancore.data.ppi import find_ppi, load_ppi
from gaancore.data.reddit import find_reddit, load_reddit
from gaancore.data.store import check_store, open_store
from gaancore.data.synthetic import synthetic_ppi
from gaancore.data.synthetic_reddit import synthetic_reddit
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
    "check_store",
    "find_dataset",
    "find_ppi",
    "find_reddit",
    "load_metr_la",
    "load_ppi",
    "load_reddit",
    "normalize",
    "open_store",
    "split_windows",
    "synthetic_ppi",
    "synthetic_reddit",
    "synthetic_traffic",
]
