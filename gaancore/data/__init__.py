"""Files to arrays: every layout ends in a NodeDataset or a TrafficDataset; no tensors here."""

from gaancore.choices import (
    GraphFrom,
    GraphKind,
    Kernel,
    MadeFeatures,
    Missing,
    Nan,
    Normalize,
    Reading,
    RepeatedEdges,
    RoadChoices,
    ScalerKind,
    Unflagged,
    UnknownEdges,
    WindowSplit,
)
from gaancore.data.kind import DataKind, look
from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.features.standardised import Features, feature_statistics
from gaancore.data.nodes.load import find_dataset, load_nodes
from gaancore.data.nodes.ppi import load_ppi
from gaancore.data.nodes.reddit import load_reddit
from gaancore.data.nodes.store.reader import check_store, open_store
from gaancore.data.synthetic.ppi import synthetic_ppi
from gaancore.data.synthetic.reddit import synthetic_reddit
from gaancore.data.synthetic.traffic import synthetic_traffic
from gaancore.data.synthetic.trust import synthetic_trust
from gaancore.data.traffic.batches import Scaler, WindowBatches
from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.data.traffic.metr_la import load_metr_la
from gaancore.data.traffic.windows import split_windows
from gaancore.graph import SelfLoops

__all__ = [
    "TEST",
    "TRAIN",
    "VALIDATION",
    "DataKind",
    "Features",
    "GraphFrom",
    "GraphKind",
    "Kernel",
    "MadeFeatures",
    "Missing",
    "Nan",
    "NodeDataset",
    "Normalize",
    "Reading",
    "RepeatedEdges",
    "RoadChoices",
    "Scaler",
    "ScalerKind",
    "SelfLoops",
    "TrafficDataset",
    "Unflagged",
    "UnknownEdges",
    "WindowBatches",
    "WindowSplit",
    "Windows",
    "check_store",
    "feature_statistics",
    "find_dataset",
    "load_metr_la",
    "load_nodes",
    "load_ppi",
    "load_reddit",
    "look",
    "open_store",
    "split_windows",
    "synthetic_ppi",
    "synthetic_reddit",
    "synthetic_traffic",
    "synthetic_trust",
]
