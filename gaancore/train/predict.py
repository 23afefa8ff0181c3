"""Outputs of a finished run for the nodes of any graph with the same features."""

import numpy as np
from scipy.special import expit, softmax

from gaancore.array import resolve_device
from gaancore.data.features import Features
from gaancore.data.inputs import NodeInputs
from gaancore.errors import DataError, SettingsError
from gaancore.train.build import build_model
from gaancore.train.checkpoint import belongs_to_the_run, load_checkpoint
from gaancore.train.inference import infer
from gaancore.train.record import RunFolder
from gaancore.train.settings import Settings


def predict(folder: RunFolder, inputs: NodeInputs, device: str = "cpu") -> np.ndarray:
    """Logits (N, classes) of the nodes of `inputs`, by the best weights of the run.

    Features are standardised as in training, by the statistics kept with the weights;
    neighbourhoods are whole, in the memory of `infer`.
    Raises SettingsError for a run that does not classify nodes, DataError if the run cannot be
    read or the features are not as many as it was trained on.
    """
    settings, _ = folder.read_settings()
    if not isinstance(settings, Settings):
        raise SettingsError(
            f"{folder.path}: a run of task {settings.task} has no nodes to classify; "
            f"gaancore forecast --run {folder.path} is for it"
        )
    groups, _ = load_checkpoint(folder.best)
    with belongs_to_the_run(folder.best):
        weights, statistics = groups["model"], groups["features"]
        num_features, num_classes = len(weights["embed.weight"]), weights["head.bias"].size
        model = build_model(settings, num_features, num_classes)
        model.load_state(weights)
    if inputs.features.shape[1] != num_features:
        raise DataError(
            f"{inputs.path}: features: the run was trained on {num_features:,} a node, "
            f"here are {inputs.features.shape[1]:,}"
        )
    features = Features(inputs.features, statistics["mean"], statistics["scale"])
    model = model.to(resolve_device(device))
    return infer(model, inputs.graph, features, np.arange(inputs.graph.num_nodes))


def probabilities(logits: np.ndarray, multi_label: bool) -> np.ndarray:
    """Of each label by itself, sigmoid(logit), where nodes have several; else softmax over the
    classes of a node. (N, C) as `logits`.
    """
    return expit(logits) if multi_label else softmax(logits, axis=1)
