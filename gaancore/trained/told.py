"""What is said of a graph that a run is asked about and that it was not trained on."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gaancore.data.nodes.features.far import far_from_training
from gaancore.data.nodes.inputs import NodeInputs, match_categories
from gaancore.data.parts.dataset import PartedDataset, parted_at
from gaancore.data.parts.part import open_part
from gaancore.errors import SettingsError
from gaancore.parallel import Team
from gaancore.training.nodes.predict import Classifier
from gaancore.training.same_data import data_differences, expect_same_data, joined_by_position


def told_of_features(
    inputs: NodeInputs, classifier: Classifier, facts: Mapping[str, Any]
) -> NodeInputs:
    """`inputs` with the run's categories; notes say so if features, of nodes or of edges, can only
    be joined by their position, if they are far from those of training, and if those of nodes
    belong to one graph.

    facts : what the run wrote down about its data.
    """
    known = facts.get("feature_names")
    of_edges = facts.get("edge_names") if classifier.edges else None
    inputs = match_categories(inputs, known, of_edges)
    rows = (inputs.features, inputs.graph.edge_attr)
    notes = _joined(classifier, facts, inputs) + _far(classifier, rows, inputs)
    return replace(inputs, notes=(*inputs.notes, *notes))


def parts_at(data: Any, run: Path, facts: Mapping[str, Any]) -> PartedDataset | None:
    """The store in parts that `data` are, if they are one. None: the run's own data; then raises
    SettingsError if they have changed since.
    """
    found = parted_at(facts["path"] if data is None else data)
    if not isinstance(found, PartedDataset):
        return None
    if data is None:
        expect_same_data(run, facts, found.facts())
    return found


def expect_own(dataset: PartedDataset, facts: Mapping[str, Any]) -> None:
    """Raises SettingsError unless a store in parts is the run's own data."""
    if differ := data_differences(facts, dataset.facts()):
        raise SettingsError(
            f"{dataset.path}: not the data that the run was trained on ({'; '.join(differ)}): "
            "another graph is predicted in parts, but scored whole; give the store that was cut"
        )


def told_of_parts(
    dataset: PartedDataset, classifier: Classifier, facts: Mapping[str, Any], team: Team
) -> PartedDataset:
    """The same of a store in parts, if it is not the run's data. Its first part is compared with
    the features of training. Its categories have to be the run's.

    Raises DataError, in all ranks of `team`, for other features than the run's.
    """
    if not data_differences(facts, dataset.facts()):
        return dataset
    classifier.expect_features(dataset.path, dataset.num_features, dataset.feature_names)
    classifier.expect_edges(dataset.path, dataset.edge_dim, dataset.edge_names)

    def far() -> list[str]:
        part = open_part(dataset, 0)
        rows = (part.features, part.edge_attr)
        return _far(classifier, rows, dataset, seen=" (in the first part, the only one compared)")

    return dataset.with_notes(*_joined(classifier, facts, dataset), *team.from_first(far))


def _joined(
    classifier: Classifier, facts: Mapping[str, Any], asked: NodeInputs | PartedDataset
) -> list[str]:
    """What is to be said of how the features were joined with those of training."""
    notes = [joined_by_position(facts.get("feature_names"), asked.feature_names)]
    if classifier.edges:
        line = joined_by_position(facts.get("edge_names"), asked.edge_names)
        notes.append(line and f"of edges: {line}")
    if classifier.settings.features == "spectral":
        notes.append(
            "warning: eigenvectors of one graph say nothing about another: only if this is the "
            "graph of training do the outputs mean anything"
        )
    return [note for note in notes if note]


def _far(
    classifier: Classifier, rows: tuple[Any, Any], asked: NodeInputs | PartedDataset, seen: str = ""
) -> list[str]:
    """Warnings of features, of nodes and of edges, that are far from those of training."""
    trained = (((classifier.mean, classifier.scale), ""), (classifier.edges, "of edges: "))
    names, found = (asked.feature_names, asked.edge_names), []
    for x, (statistics, whose), called in zip(rows, trained, names, strict=True):
        if x is None or statistics is None or x.shape[1] != statistics[0].size:
            continue
        if far := far_from_training(x, *statistics, called):
            found.append(f"warning: {whose}{far}{seen}; do they have the same units?")
    return found
