"""What a finished run says of nodes, of its own graph and of new ones."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_reddit import small_reddit_run
from small_run import small_dataset, small_run

from gaancore.data import NodeDataset
from gaancore.data.nodes.inputs import inputs_of
from gaancore.errors import DataError
from gaancore.tasks import open_run


def test_the_outputs_of_the_test_nodes_are_those_that_the_record_scores(tmp_path):
    dataset = small_dataset()
    run = small_run(tmp_path, dataset)
    record = run.train()
    said = open_run(run.folder.path).classifier.logits(inputs_of(dataset)) > 0
    hits = misses = 0
    for node in np.flatnonzero(dataset.split == 2):
        for label, truth in enumerate(dataset.labels[node]):
            hits += 2 * (said[node, label] and truth)
            misses += said[node, label] != truth
    assert record["test"]["micro_f1"] == pytest.approx(hits / (hits + misses) if hits else 0)


@pytest.mark.parametrize("make", [small_run, small_reddit_run])
def test_a_new_graph_is_standardised_by_the_training_nodes_of_the_run(tmp_path, make):
    """So a node's outputs depend on what is two hops around it, and on no other node at hand."""
    run = make(tmp_path, normalize="standard")
    run.train()
    dataset = run.dataset
    whole = open_run(run.folder.path).classifier.logits(inputs_of(dataset))
    around = {node: two_hops(dataset, node) for node in range(dataset.num_nodes)}
    node = min((n for n in around if len(around[n]) > 1), key=lambda n: len(around[n]))
    ids = np.array(sorted(around[node]))
    assert ids.size < dataset.num_nodes
    alone = open_run(run.folder.path).classifier.logits(inputs_of(dataset.induced(ids)))
    assert_allclose(alone[ids.tolist().index(node)], whole[node], rtol=1e-5)


def two_hops(dataset: NodeDataset, node: int) -> set[int]:
    graph, reached = dataset.graph, {node}
    for _ in range(2):
        for i in list(reached):
            reached |= set(graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist())
    return reached


@pytest.mark.parametrize(
    ("make", "expected"), [(small_reddit_run, [0.25, 0.75]), (small_run, [0.5, 0.75])]
)
def test_probabilities_by_hand(tmp_path, make, expected):
    run = make(tmp_path)
    run.train()
    found = open_run(run.folder.path).classifier.probabilities(np.log([[1.0, 3.0]]))
    assert found[0] == pytest.approx(expected)


def test_other_features_are_refused(tmp_path):
    run = small_run(tmp_path)
    run.train()
    inputs = inputs_of(run.dataset)
    width = inputs.features.shape[1]
    narrow = replace(inputs, features=np.ascontiguousarray(inputs.features[:, 1:]))
    with pytest.raises(DataError, match=f"trained on {width} a node, here are {width - 1}$"):
        open_run(run.folder.path).classifier.logits(narrow)


def test_a_run_without_weights_is_refused(tmp_path):
    run = small_run(tmp_path)
    with pytest.raises(DataError, match=r"best\.safetensors"):
        open_run(run.folder.path).predict()
