"""What a user may choose among, by name; what a choice does is said where it is used.

Light to import: help lists these words, and comes at once.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from gaancore.errors import SettingsError, expect_choice

if TYPE_CHECKING:
    import numpy as np

PAPERS = {"ppi": "PPI", "reddit": "Reddit", "metr-la": "METR-LA"}  # its tasks, its names of them
TASKS = (*PAPERS, "labels", "classes", "forecast")
AGGREGATORS = (
    "gaan", "attention", "avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh"
)  # fmt: skip
MODELS = (*AGGREGATORS, "fnn")
VARIANTS = ("paper", "released")

# Graphs and nodes
SelfLoops = Literal["keep", "drop", "add"]
RepeatedEdges = Literal["error", "sum", "mean", "max", "first"]
UnknownEdges = Literal["error", "drop"]
MadeFeatures = Literal["file", "degree", "ones", "spectral", "learned"]
Normalize = Literal["none", "standard", "row"]
Nan = Literal["error", "zero", "mean"]
Unflagged = Literal["drop", "train", "context", "error"]
SPLITS = ("train", "validation", "test")
AUTO, NONE = "auto", "none"  # instead of names of columns

# Sensors on roads
WindowSplit = Literal["windows", "rows"]
Missing = Literal["zero", "nan", "interpolate"]
ScalerKind = Literal["global", "per-sensor"]
ScalerMissing = Literal["leave-out", "zero"]
WIDTHS = {"time_of_day": 1, "day_of_week": 7, "coordinates": 2}  # inputs beside the speed
LatestMissing = Literal["refuse", "mean", "interpolate", "keep"]
GraphKind = Literal["undirected", "directed"]
GraphFrom = Literal["file", "knn", "radius", "correlation", "none"]
Kernel = Literal["dcrnn", "stgcn", "none"]
THRESHOLDS = {"dcrnn": 0.1, "stgcn": 0.5, "none": 0.0}
STGCN_SIGMA = 10_000 * 0.1**0.5  # metres: exp(-(d / 10000)^2 / 0.1)


@dataclass(frozen=True)
class Reading:
    """unknown_edges : edges that name an id no node has: refused (`error`), or `drop` them.

    label        : the column or attribute that is the label; "" for its usual name.
    split_column : the column or the number of the split, where files have several; "" for the
                   usual name.
    features     : those of the `file`, or what stands for them: see `with_features`.
    edge_features : of two tables the columns of edges.csv that are features of edges, of an `.npz`
                   its edge_attr, of networkx's files the attributes that all edges have: all
                   (`auto`), `none`, or names with commas between. Of a list of edges the third
                   cell, `weight`, if it is named.
    needed       : whether what is chosen must be there. If not, as for a graph to predict on, a
                   chosen column is no feature where it is there, and is not missed where it is not.
    Raises SettingsError for a value that is not one of these.

    >>> import numpy as np
    >>> from gaancore.data import Reading, load_nodes
    >>> np.savez("bare.npz", y=[0, 1, 0], split=[0, 1, 2], edge_index=[[0, 1], [1, 2]])
    >>> load_nodes("bare.npz", name="bare", reading=Reading(features="degree")).feature_names
    ('degree',)
    """

    unknown_edges: UnknownEdges = "error"
    label: str = ""
    split_column: str = ""
    features: MadeFeatures = "file"
    edge_features: str = NONE
    needed: bool = True

    def __post_init__(self) -> None:
        expect_choice("unknown_edges", self.unknown_edges, get_args(UnknownEdges))
        expect_choice("features", self.features, get_args(MadeFeatures))

    @property
    def chosen(self) -> list[str]:
        """What was chosen by name, and must be there."""
        choices = {
            "label": self.label,
            "split_column": self.split_column,
            "edge_features": self.edge_features not in (AUTO, NONE),
        }
        return [name for name, given in choices.items() if given and self.needed]

    def expect_of_store(self, where: Path | str) -> None:
        """Raises SettingsError if something is chosen that a store has settled."""
        made = self.features not in ("file", "learned")
        for name in (*self.chosen, *(["features"] if made else [])):
            raise SettingsError(
                f"{name}: {where} is a store, in which this is settled; choose it when the files "
                "are converted, and leave it out here"
            )


AS_IT_IS = Reading()


@dataclass(frozen=True)
class RoadChoices:
    """How arcs are chosen.

    graph_from : `file`, the file of the graph; `knn` or `radius`, the places of the sensors;
                 `correlation`, the readings; `none`, no arcs.
    neighbours : of each sensor, for `knn` and `correlation`. radius: in kilometres.
    kernel     : weights of lengths, see `road_weights`. sigma, threshold: 0 for the kernel's own.
    max_pairs  : share of all pairs of sensors above which a graph that was made here is refused.
    Raises SettingsError for a choice that cannot be.

    >>> from gaancore.data import RoadChoices
    >>> RoadChoices(kernel="stgcn").least_weight
    0.5
    """

    graph_from: GraphFrom = "file"
    neighbours: int = 8
    radius: float = 2.0
    kernel: Kernel = "dcrnn"
    sigma: float = 0.0
    threshold: float = 0.0
    max_pairs: float = 0.25

    def __post_init__(self) -> None:
        expect_choice("graph_from", self.graph_from, get_args(GraphFrom))
        expect_choice("kernel", self.kernel, get_args(Kernel))
        if self.neighbours < 1:
            raise SettingsError(f"neighbours: expected 1 or more, got {self.neighbours}")
        if not 0 < self.radius < math.inf:
            raise SettingsError(f"radius: expected kilometres above 0, got {self.radius}")
        if not 0 <= self.sigma < math.inf:
            raise SettingsError(f"sigma: expected a length above 0, or 0, got {self.sigma}")
        for name in ("threshold", "max_pairs"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name}: expected 0 to 1, got {getattr(self, name)}")

    @property
    def least_weight(self) -> float:
        """Of an arc."""
        return self.threshold or THRESHOLDS[self.kernel]

    def width(self, lengths: "np.ndarray") -> float:
        """s of the kernel, in the unit of `lengths`; 0 where every weight is 1."""
        if self.kernel == "none":
            return 0.0
        if self.sigma or self.kernel == "stgcn":
            return self.sigma or STGCN_SIGMA
        return float(lengths.std()) if lengths.size else 0.0
