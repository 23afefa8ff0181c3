"""How files of any layout are read: what to do where they leave a choice."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from gaancore.data.files.columns import AUTO, NONE
from gaancore.errors import SettingsError, expect_choice

UnknownEdges = Literal["error", "drop"]
MadeFeatures = Literal["file", "degree", "ones", "spectral", "learned"]


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
