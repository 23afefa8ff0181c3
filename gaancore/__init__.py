"""Gated Attention Networks (GaAN) on graphs and on road traffic, written from scratch.

A graph of your own, from memory or from files, to predictions:

    import gaancore

    data = gaancore.from_networkx(graph, features="x", label="club")
    run = gaancore.train(data, epochs=100)
    run.predict()           # a class for each node
    run.predict_proba()     # and how likely each class is
    run.evaluate()          # F1 on validation and test nodes
    run.explain(nodes=[3])  # gates and attention of some nodes

Data
    load            a path in any layout: tables, .npz, .mat, public sets, speeds of sensors
    from_networkx   a networkx graph
    from_scipy      a sparse matrix and arrays
    from_pyg        PyTorch Geometric's Data
    from_dgl        a DGL graph
    from_pandas     a frame of nodes and a frame of edges

Training
    train           data and settings to a finished run in a folder of its own
    open_run        a run that is there already
    GaANClassifier  fit, predict and score as in scikit-learn

What they give
    NodeDataset     a graph whose nodes have features, labels and a split
    NodeInputs      a graph without labels, to predict on
    TrafficDataset  speeds of sensors on a road graph
    NodeRun         a run that classifies nodes: predict, evaluate, explain, embed, plot
    TrafficRun      a run that forecasts speeds: forecast, evaluate, plot

Every name has help of its own, with an example: help(gaancore.train). What was assumed, dropped or
drawn is in the `notes` of a dataset. Errors that a user can mend are one line, of UserError.

For networks of your own, use the layers in gaancore.nn, the ops in gaancore.ops, gaancore.tensor,
gaancore.optim, and CSR graphs and the neighbour sampler in gaancore.graph.

Reading order of the source: tensor.py (the engine), kernels/ (segments), ops/ (op beside gradient),
graph/ (CSR and sampler), nn/ and models/ (the paper's equations), training/ (one step, a line for
each part).
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaancore.data.nodes.dataset import NodeDataset
    from gaancore.data.nodes.inputs import NodeInputs
    from gaancore.data.traffic.dataset import TrafficDataset
    from gaancore.door.classifier import GaANClassifier
    from gaancore.door.frames import from_pandas
    from gaancore.door.matrices import from_scipy
    from gaancore.door.networkx_graphs import from_networkx
    from gaancore.door.reading import load
    from gaancore.door.tensors import from_dgl, from_pyg
    from gaancore.door.training import train
    from gaancore.errors import UserError
    from gaancore.tasks import open_run
    from gaancore.trained.nodes import NodeRun
    from gaancore.trained.traffic import TrafficRun

__all__ = [
    "GaANClassifier",
    "NodeDataset",
    "NodeInputs",
    "NodeRun",
    "TrafficDataset",
    "TrafficRun",
    "UserError",
    "from_dgl",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "load",
    "open_run",
    "train",
]
__version__ = "0.1.0"

# Numba and SciPy take a second to import, so each name is fetched when it is first asked for.
_HOMES = {
    "GaANClassifier": "door.classifier",
    "NodeDataset": "data.nodes.dataset",
    "NodeInputs": "data.nodes.inputs",
    "NodeRun": "trained.nodes",
    "TrafficDataset": "data.traffic.dataset",
    "TrafficRun": "trained.traffic",
    "UserError": "errors",
    "from_dgl": "door.tensors",
    "from_networkx": "door.networkx_graphs",
    "from_pandas": "door.frames",
    "from_pyg": "door.tensors",
    "from_scipy": "door.matrices",
    "load": "door.reading",
    "open_run": "tasks",
    "train": "door.training",
}

# In a checkout, `gaancore.cli` lives beside the package in `cli/` (pyproject maps it when built).
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").is_file() and (_checkout / "cli" / "main.py").is_file():
    __path__.append(str(_checkout))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
