"""How files of any layout are read: what to do where they leave a choice."""

from dataclasses import dataclass
from typing import Literal

UnknownEdges = Literal["error", "drop"]
MadeFeatures = Literal["file", "degree", "ones", "spectral"]


@dataclass(frozen=True)
class Reading:
    """unknown_edges : edges that name an id no node has: refused (`error`), or `drop` them.

    label        : the column or attribute that is the label; "" for its usual name.
    split_column : the column or the number of the split, where files have several; "" for the
                   usual name.
    features     : those of the `file`, or what stands for them: see `with_features`.
    """

    unknown_edges: UnknownEdges = "error"
    label: str = ""
    split_column: str = ""
    features: MadeFeatures = "file"


AS_IT_IS = Reading()
