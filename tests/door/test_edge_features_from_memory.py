"""Features of edges of graphs in memory: networkx, matrices, PyG's and DGL's graphs."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import gaancore
from gaancore.errors import DataError

X, Y = np.eye(5), [0, 1, 0, 1, 0]


def feature_of(data, src: int, dst: int) -> list[float]:
    sources, targets = data.graph.edges()
    (row,) = data.graph.edge_attr[(sources == src) & (targets == dst)]
    return row.tolist()


def test_values_of_a_matrix_in_both_directions():
    matrix = sparse.coo_array(([2.0, 5.0, 7.0], ([0, 1, 3], [1, 0, 4])), shape=(5, 5))
    data = gaancore.from_scipy(matrix, X, Y, edge_values=True)
    assert data.edge_names == ("value",)
    # A[i, j] is an edge j -> i
    assert [feature_of(data, *arc) for arc in ((1, 0), (0, 1), (4, 3), (3, 4))] == [
        [2], [5], [7], [7]
    ]  # fmt: skip
    assert gaancore.from_scipy(matrix, X, Y).graph.edge_attr is None
    twice = sparse.coo_array(([2.0, 5.0], ([0, 0], [1, 1])), shape=(5, 5))
    with pytest.raises(DataError, match="1 edges repeat another one, and have features"):
        gaancore.from_scipy(twice, X, Y, edge_values=True)
    merged = gaancore.from_scipy(twice, X, Y, edge_values=True, repeated_edges="sum")
    assert feature_of(merged, 1, 0) == [7]


def test_attributes_of_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_nodes_from("abcde")
    graph.add_edge("a", "b", weight=2, road="main", name="x")
    graph.add_edge("d", "c", weight=0.5, road="side", name="y")
    data = gaancore.from_networkx(graph, X, Y, edge_attrs=["road", "weight"])
    assert data.edge_names == ("road=main", "road=side", "weight")
    assert feature_of(data, 1, 0) == [1, 0, 2]
    assert feature_of(data, 2, 3) == [0, 1, 0.5]
    assert "attributes of edges are not used: name" in data.notes
    graph.add_edge("a", "e")
    with pytest.raises(DataError, match="edge_attrs: the edge 'a' - 'e' has no attribute 'weight'"):
        gaancore.from_networkx(graph, X, Y, edge_attrs=["weight"])


def test_edge_attr_and_edge_weight_of_pyg():
    data = SimpleNamespace(
        x=X, y=np.array(Y), edge_index=np.array([[0, 2], [1, 3]]),
        edge_attr=np.array([[1.0, 2.0], [3.0, 4.0]]), edge_weight=np.array([9.0, 8.0]),
    )  # fmt: skip
    made = gaancore.from_pyg(data)
    assert made.edge_names == ("edge_attr 1", "edge_attr 2", "edge_weight")
    assert feature_of(made, 0, 1) == feature_of(made, 1, 0) == [1, 2, 9]
    assert "features of edges: edge_attr, edge_weight" in made.notes
    without = gaancore.from_pyg(data, edge_attr=False)
    assert without.graph.edge_attr is None
    assert "not used: edge_attr, edge_weight" in without.notes
    data.edge_attr = np.ones((3, 1))
    with pytest.raises(DataError, match=r"from_pyg: edge_attr: expected numbers \(2,\) or"):
        gaancore.from_pyg(data)


def test_columns_of_a_frame_of_edges():
    pd = pytest.importorskip("pandas")
    nodes = pd.DataFrame({"id": list("abcde"), "x": range(5), "label": Y})
    edges = pd.DataFrame(
        {"src": ["a", "c"], "dst": ["b", "d"], "km": [2, 3], "road": ["m", "s"], "z": [0, 0]}
    )
    made = gaancore.from_pandas(nodes, edges, edge_features=["km", "road"])
    assert made.edge_names == ("km", "road=m", "road=s")
    assert made.graph.edge_attr.dtype == np.float32
    assert feature_of(made, 3, 2) == [3, 0, 1]
    assert "columns of edges are not used: z" in made.notes
    with pytest.raises(DataError, match="edge_features: no column 'miles'; there are src, dst"):
        gaancore.from_pandas(nodes, edges, edge_features=["miles"])


def test_fields_of_dgl():
    graph = SimpleNamespace(
        num_nodes=lambda: 5, edges=lambda: (np.array([0, 2]), np.array([1, 3])),
        ndata={"feat": X, "label": np.array(Y)}, edata={"w": np.array([3.0, 4.0])},
    )  # fmt: skip
    made = gaancore.from_dgl(graph, edge_features=["w"])
    assert made.edge_names == ("w",)
    assert feature_of(made, 3, 2) == [4]
    assert gaancore.from_dgl(graph).graph.edge_attr is None
    with pytest.raises(DataError, match="edge_features: edata has no 'z'; it has w"):
        gaancore.from_dgl(graph, edge_features=["z"])
