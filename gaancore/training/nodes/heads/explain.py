"""What the heads of a run do at chosen nodes of any graph: their gates and attention weights."""

from dataclasses import dataclass

import numpy as np

from gaancore.data.nodes.inputs import NodeInputs
from gaancore.errors import SettingsError
from gaancore.graph.ordered_rows import places_of_rows, some_rows
from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.nn.aggregators import Attention, GatedAttention
from gaancore.nn.observe import Observer, Seen, observing
from gaancore.training.nodes.heads.values import ArcWeights, HeadValues, gate_values
from gaancore.training.nodes.inference import infer_hidden
from gaancore.training.nodes.predict import Classifier


@dataclass(frozen=True)
class ArcAttention:
    """The attention weights of the arcs into some nodes, node after node.

    targets : (E,) the node i that gathers, a row of the inputs.
    sources : (E,) its neighbour j, likewise; those of a node in the order of the graph.
    layers  : layer number, from 1 -> w_ij^k (E, K); they sum to 1 over the arcs into a node.
    edge_attr : (E, B) the features of these arcs as the data have them; None if they have none.
    """

    targets: np.ndarray
    sources: np.ndarray
    layers: dict[int, np.ndarray]
    edge_attr: np.ndarray | None = None


def node_gates(
    classifier: Classifier, inputs: NodeInputs, rows: np.ndarray, layer: int | None = None
) -> dict[int, np.ndarray]:
    """Layer number, from 1 -> the gates g_i^k (len(rows), K) of the nodes in `rows`, in order.

    From whole neighbourhoods, in the memory of `infer`; of `layer` alone if one is named. A node
    without neighbours has gates too: their maximum and mean are 0 in equation 3.
    Raises SettingsError for a model without gates or such a layer, DataError for other features.
    """
    _expect(classifier, GatedAttention, "gates, which only gaan has")
    distinct, places = _each_once(rows)
    values = HeadValues(distinct, inputs.graph.num_nodes, gate_values)
    numbers = _observe(classifier, inputs, distinct, layer, values)
    # as they were computed
    layers = (gates.astype(np.float32)[places] for gates in values.layers)
    return dict(zip(numbers, layers, strict=True))


def arc_attention(
    classifier: Classifier, inputs: NodeInputs, rows: np.ndarray, layer: int | None = None
) -> ArcAttention:
    """The attention weights of every arc into the nodes in `rows`, in their order.

    As `node_gates`, and K numbers for each of these arcs and layers. A node without neighbours has
    no arcs. Raises SettingsError for a model without attention or such a layer.
    """
    _expect(classifier, Attention, "attention weights, which only gaan and attention have")
    distinct, places = _each_once(rows)
    weights = ArcWeights(inputs.graph, distinct)
    numbers = _observe(classifier, inputs, distinct, layer, weights)
    indptr, arcs = some_rows(weights.indptr, np.arange(weights.neighbours.size), places)
    targets = np.repeat(rows, np.diff(indptr))
    layers = dict(zip(numbers, (values[arcs] for values in weights.layers), strict=True))
    edges = inputs.graph.edge_attr
    if edges is not None:
        edges = edges[places_of_rows(inputs.graph.indptr, rows)]
    return ArcAttention(targets, weights.neighbours[arcs], layers, edges)


def _each_once(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows in the order of their first mention, and where each of `rows` is there."""
    found, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return found[order], place[inverse]


def _expect(classifier: Classifier, kind: type[Attention], what: str) -> None:
    model = classifier.model
    if isinstance(model, FeedForward) or not all(isinstance(x, kind) for x in model.layers):
        raise SettingsError(f"{classifier.path}: {classifier.settings.model} has no {what}")


def _observe(
    classifier: Classifier,
    inputs: NodeInputs,
    rows: np.ndarray,
    layer: int | None,
    observer: Observer,
) -> list[int]:
    """Show `observer` the layers that lead to the nodes in `rows`; returns their numbers."""
    classifier.expect_layer(layer)
    model, features = classifier.model, classifier.features(inputs)
    assert isinstance(model, NodeClassifier)
    numbers = list(range(1, model.num_layers + 1)) if layer is None else [layer]
    shown = [model.layers[number - 1] for number in numbers]

    def look(seen: Seen) -> None:
        if seen.layer in shown:
            observer(seen)

    with observing(look):
        infer_hidden(model, classifier.graph(inputs), features, rows, numbers[-1])
    return numbers
