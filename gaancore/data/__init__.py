"""Files to arrays: every layout ends in a NodeDataset or a TrafficDataset; no tensors here."""

from gaancore.data.dataset import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
)
from gaancore.data.features import Features, feature_statistics
from gaancore.data.load import find_dataset
from gaancore.data.metr_la import load_metr_la
from gaancore.data.ppi import load_ppi
from gaancore.data.reddit import load_reddit
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
    "Features",
    "NodeDataset",
    "Scaler",
    "TrafficDataset",
    "WindowBatches",
    "Windows",
    "check_store",
    "feature_statistics",
    "find_dataset",
    "load_metr_la",
    "load_ppi",
    "load_reddit",
    "open_store",
    "split_windows",
    "synthetic_ppi",
    "synthetic_reddit",
    "synthetic_traffic",
]
