"""Features that are made of a graph, against NumPy's dense eigenvectors and counts by hand."""

import numpy as np
import pytest
from small_files import write_npz

import gaancore
from gaancore.data import Reading, load_nodes
from gaancore.data.nodes.inputs import read_inputs
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.layouts.without_features import leading_eigenvectors
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph


def random_graph(num_nodes: int, num_edges: int, seed: int) -> CSRGraph:
    src, dst = np.random.default_rng(seed).integers(num_nodes, size=(2, num_edges))
    graph = CSRGraph.from_edges(src, dst, num_nodes, duplicates="merge")
    return graph.undirected().self_loops("drop")


def dense_normalized(graph: CSRGraph) -> np.ndarray:
    adjacency = np.zeros((graph.num_nodes, graph.num_nodes))
    src, dst = graph.edges()
    adjacency[dst, src] = 1
    degrees = adjacency.sum(axis=1)
    roots = np.array([d**-0.5 if d else 0 for d in degrees])
    return roots[:, None] * adjacency * roots


@pytest.mark.parametrize(("num_nodes", "num_edges"), [(3, 2), (40, 60), (120, 400)])
def test_the_leading_eigenvectors_are_those_of_a_dense_solver(num_nodes, num_edges):
    graph = random_graph(num_nodes, num_edges, seed=1)
    matrix, count = dense_normalized(graph), min(5, num_nodes)
    found = leading_eigenvectors(graph, count)
    values = np.linalg.eigvalsh(matrix)[::-1][:count]
    lengths = np.linalg.norm(found, axis=0)
    np.testing.assert_allclose(lengths, np.sqrt(num_nodes), rtol=1e-9)
    quotients = np.einsum("ik,ij,jk->k", found, matrix, found) / num_nodes
    np.testing.assert_allclose(quotients, values, atol=2e-3)
    np.testing.assert_allclose(found.T @ found / num_nodes, np.eye(count), atol=1e-9)
    largest = found[np.abs(found).argmax(axis=0), np.arange(count)]
    assert (largest > 0).all()
    np.testing.assert_array_equal(found, leading_eigenvectors(graph, count))


def test_two_cliques_are_told_apart_by_the_second_vector():
    inside = [(a + c, b + c) for c in (0, 8) for a in range(8) for b in range(a)]
    src, dst = np.array([*inside, (0, 8)]).T
    graph = CSRGraph.from_edges(src, dst, 16, duplicates="merge").undirected()
    second = leading_eigenvectors(graph, 2)[:, 1]
    assert len({*np.sign(second[:8])}) == len({*np.sign(second[8:])}) == 1
    assert np.sign(second[0]) != np.sign(second[8])


def test_degrees_and_ones_are_counted_on_the_graph_without_loops(tmp_path):
    path = write_npz(tmp_path)  # 0-1-2, a loop at 2, 3 alone, 4-5
    degrees = load_nodes(path, name="mine", reading=Reading(features="degree"))
    np.testing.assert_allclose(degrees.features[:, 0], np.log([2, 3, 2, 1, 2, 2]), rtol=1e-6)
    assert "2 features of the files are not used" in degrees.notes
    assert "features: log(1 + degree) of the whole graph, in training too" in degrees.notes
    ones = load_nodes(path, name="mine", reading=Reading(features="ones"))
    assert ones.features.tolist() == [[1]] * 6
    spectral = load_nodes(path, name="mine", reading=Reading(features="spectral"))
    assert spectral.features.shape == (6, 6)
    with pytest.raises(SettingsError, match="features: expected one of file, degree, ones, spectr"):
        Reading(features="random")


def test_what_a_store_or_data_in_memory_has_settled_is_not_chosen_again(tmp_path):
    write_store(read_layout(write_npz(tmp_path)), tmp_path / "store", name="mine")
    for name, value in (("features", "ones"), ("label", "y"), ("split_column", "1")):
        with pytest.raises(SettingsError, match=f"{name}: .*store is a store, in which this is"):
            load_nodes(tmp_path / "store", name="mine", reading=Reading(**{name: value}))
        data = load_nodes(tmp_path / "store", name="mine")
        with pytest.raises(SettingsError, match=f"train: {name}: these data are read already"):
            gaancore.train(data, **{name: value})
    assert read_inputs(tmp_path / "store", reading=Reading(label="y", needed=False)).path
    with pytest.raises(SettingsError, match="features: "):
        read_inputs(tmp_path / "store", reading=Reading(features="ones", needed=False))
