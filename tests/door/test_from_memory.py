"""Graphs in memory become the datasets that the same graphs in files become."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

import gaancore
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.errors import DataError, GraphError, SettingsError, UserError

N = 10
RING = sparse.coo_array((np.ones(N), (np.arange(N), np.roll(np.arange(N), 1))), shape=(N, N))
ENDS = np.array([np.arange(N), np.roll(np.arange(N), 1)])
FEATURES = np.arange(20.0).reshape(N, 2)
CLASSES = np.arange(N) % 2
SPLIT = np.repeat([0, 1, 2], [6, 2, 2])


class Tensor:
    """As much of a tensor of torch as is used: it refuses to become an array by itself."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return SimpleNamespace(cpu=lambda: SimpleNamespace(numpy=lambda: self.values))

    def __array__(self, *args, **kwargs):
        raise TypeError("a tensor on a GPU")


class Frame:
    """As much of a data frame as is used."""

    def __init__(self, index=None, **columns):
        self.columns = list(columns)
        self._columns = columns
        if index is not None:
            self.index = np.array(index)

    def __getitem__(self, name):
        values = self._columns[name]
        return SimpleNamespace(to_numpy=lambda: np.array(values))


class Graph:
    """As much of a networkx graph as is used."""

    class Nodes(dict):
        def __call__(self, data):
            return self.items()

    def __init__(self, nodes, edges, directed=False):
        self.nodes = self.Nodes(nodes)
        self._edges = edges
        self.is_directed = lambda: directed

    def edges(self, data=False):
        return [edge if data else edge[:2] for edge in self._edges]


def friends(**first):
    nodes = {
        "anna": {"x": [1.0, 0.0], "job": "cook", **first},
        "bert": {"x": [0.0, 1.0], "job": "smith"},
        "cleo": {"x": [1.0, 1.0], "job": "cook"},
        "dora": {"x": [2.0, 1.0]},
    }
    edges = [("anna", "bert", {}), ("bert", "cleo", {"weight": 2}), ("cleo", "anna", {})]
    return Graph(nodes, edges)


PARTS = {"anna": "train", "bert": "val", "cleo": "test"}


def test_a_matrix_is_the_graph_of_its_entries_in_both_directions():
    data = gaancore.from_scipy(RING, FEATURES, CLASSES, SPLIT)
    assert data.num_edges == 20
    assert data.graph.indices[:2].tolist() == [1, 9]
    assert data.features.tolist() == FEATURES.tolist()
    assert data.labels.tolist() == CLASSES.tolist()
    assert data.split.tolist() == SPLIT.tolist()
    assert data.class_names is None
    assert data.path is None


def test_a_dense_matrix_and_sparse_features_are_the_same_graph():
    data = gaancore.from_scipy(RING.toarray(), sparse.csr_array(FEATURES), CLASSES, SPLIT)
    assert data.facts() == gaancore.from_scipy(RING, FEATURES, CLASSES, SPLIT).facts()


def test_names_of_nodes_classes_and_features_are_kept():
    data = gaancore.from_scipy(
        RING,
        FEATURES,
        CLASSES,
        SPLIT,
        node_ids=list("abcdefghij"),
        class_names=["even", "odd"],
        feature_names=["u", "v"],
    )
    assert data.node_ids.tolist() == list("abcdefghij")
    assert data.class_names == ("even", "odd")
    assert data.feature_names == ("u", "v")


def test_a_split_that_nobody_gave_is_drawn_and_said():
    data = gaancore.from_scipy(RING, FEATURES, CLASSES, split_shares=(40, 30, 30), split_seed=1)
    assert data.counts()["nodes_per_split"] == [4, 3, 3]
    assert any("40/30/30 drawn with seed 1" in note for note in data.notes)


@pytest.mark.parametrize("none", [-1, np.nan])
def test_nodes_without_a_label_stay_as_neighbours(none):
    labels = CLASSES.astype(float)
    labels[3] = none
    data = gaancore.from_scipy(RING, FEATURES, labels)
    assert data.num_nodes == N
    assert data.split[3] == UNFLAGGED
    assert (data.split == UNFLAGGED).sum() == 1


def test_without_labels_it_is_a_graph_to_predict_on():
    data = gaancore.from_scipy(RING, FEATURES, feature_names=["u", "v"])
    assert isinstance(data, gaancore.NodeInputs)
    assert data.graph.num_edges == 20
    assert data.feature_names == ("u", "v")


def test_classes_with_gaps_are_named_by_their_numbers():
    data = gaancore.from_scipy(RING, FEATURES, np.where(CLASSES, 7, 30), SPLIT)
    assert data.class_names == ("7", "30")
    assert data.labels.tolist() == (1 - CLASSES).tolist()


def test_several_labels_by_row_and_by_name_are_the_same():
    rows = np.array([[1, 1], [0, 1]] * 5)
    named = [["a", "b"] if row[0] else {"b"} for row in rows]
    by_row = gaancore.from_scipy(RING, FEATURES, rows, SPLIT, class_names=["a", "b"])
    by_name = gaancore.from_scipy(RING, FEATURES, named, SPLIT)
    assert by_row.labels.tolist() == by_name.labels.tolist() == rows.tolist()
    assert by_row.class_names == by_name.class_names == ("a", "b")


def test_several_labels_by_node_name_in_a_networkx_graph():
    labels = {"anna": {"x", "y"}, "bert": {"y"}, "cleo": {"x"}, "dora": None}
    data = gaancore.from_networkx(friends(), "x", labels, PARTS)
    assert data.labels[:3].tolist() == [[1, 1], [0, 1], [1, 0]]
    assert data.class_names == ("x", "y")


def test_a_networkx_graph_keeps_the_names_of_its_nodes():
    data = gaancore.from_networkx(friends(), "x", "job", PARTS)
    assert data.node_ids.tolist() == ["anna", "bert", "cleo", "dora"]
    assert data.class_names == ("cook", "smith")
    assert data.labels[:3].tolist() == [0, 1, 0]
    assert data.split.tolist() == [TRAIN, VALIDATION, TEST, UNFLAGGED]
    assert data.num_edges == 6
    assert "attributes of edges are not used: weight" in data.notes


def test_features_of_a_networkx_graph_by_attribute_by_mapping_and_in_order_are_the_same():
    nodes = {name: {"a": at, "b": -at} for at, name in enumerate("pqr")}
    graph = Graph(nodes, [("p", "q", {})])
    rows = [[0, 0], [1, -1], [2, -2]]
    found = [
        gaancore.from_networkx(graph, given)
        for given in (["a", "b"], dict(zip("pqr", rows, strict=True)), np.array(rows))
    ]
    assert all(data.features.tolist() == rows for data in found)
    assert found[0].feature_names == ("a", "b")
    assert gaancore.from_networkx(graph, "a").features.tolist() == [[0], [1], [2]]


def pyg(**more):
    return SimpleNamespace(x=Tensor(FEATURES), edge_index=Tensor(ENDS), y=Tensor(CLASSES), **more)


def masks(split=SPLIT):
    names = ("train_mask", "val_mask", "test_mask")
    return {name: Tensor(split == part) for part, name in enumerate(names)}


def test_data_of_pytorch_geometric_is_the_same_graph_as_its_matrix():
    data = gaancore.from_pyg(pyg(**masks()))
    assert data.facts() == gaancore.from_scipy(RING, FEATURES, CLASSES, SPLIT).facts()


def test_masks_of_several_splits_give_the_first_and_say_so():
    several = {name: Tensor(np.stack([m.values, ~m.values], 1)) for name, m in masks().items()}
    data = gaancore.from_pyg(pyg(**several))
    assert data.split.tolist() == SPLIT.tolist()
    assert any("2 columns" in note for note in data.notes)


def test_a_batch_of_pytorch_geometric_keeps_its_graphs_apart():
    batch = np.repeat([0, 1], 5)
    assert gaancore.from_pyg(pyg(batch=Tensor(batch))).graph_ids.tolist() == batch.tolist()


def dgl(**more):
    fields = {"feat": Tensor(FEATURES), "label": Tensor(CLASSES), **masks(), **more}
    return SimpleNamespace(
        num_nodes=lambda: N, edges=lambda: (Tensor(ENDS[0]), Tensor(ENDS[1])), ndata=fields
    )


def test_a_dgl_graph_is_the_same_graph_as_its_matrix():
    data = gaancore.from_dgl(dgl(other=Tensor(CLASSES)))
    expected = gaancore.from_scipy(RING, FEATURES, CLASSES, SPLIT).facts()
    assert data.facts() == expected | {"notes": ["not used: other"]}


def test_a_batched_dgl_graph_keeps_its_graphs_apart():
    graph = dgl()
    graph.batch_num_nodes = lambda: Tensor([4, 6])
    assert gaancore.from_dgl(graph).graph_ids.tolist() == [0] * 4 + [1] * 6


PEOPLE = {
    "id": ["a", "b", "c", "d"],
    "age": [31, 27, 45, 38],
    "label": ["x", "y", "x", None],
    "split": ["train", "val", "test", None],
}
KNOWS = {"src": ["a", "b"], "dst": ["b", "c"], "since": [1, 2]}


def test_two_frames_are_a_graph_under_their_ids():
    data = gaancore.from_pandas(Frame(**PEOPLE), Frame(**KNOWS))
    assert data.node_ids.tolist() == ["a", "b", "c", "d"]
    assert data.feature_names == ("age",)
    assert data.class_names == ("x", "y")
    assert data.split.tolist() == [TRAIN, VALIDATION, TEST, UNFLAGGED]
    assert data.graph.indices.tolist() == [1, 0, 2, 1]
    assert "columns of edges are not used: since" in data.notes


def test_the_index_names_the_nodes_where_no_column_does():
    nodes = Frame(index=[7, 5, 3], age=[1, 2, 3])
    data = gaancore.from_pandas(nodes, Frame(source=[7], target=[3]))
    assert data.node_ids.tolist() == [7, 5, 3]
    assert data.graph.indices.tolist() == [2, 0]


def test_columns_of_labels_are_several_labels_a_node():
    columns = {"label:red": [1, 0, 1], "label:old": [1, 1, 0], "w": [1.0, 2, 3]}
    nodes = Frame(id=[0, 1, 2], split=["train", "val", "test"], **columns)
    data = gaancore.from_pandas(nodes, Frame(src=[0], dst=[1]))
    assert data.labels.tolist() == [[1, 1], [0, 1], [1, 0]]
    assert data.class_names == ("red", "old")
    assert data.feature_names == ("w",)


def test_pandas_frames_with_missing_values_are_read():
    pd = pytest.importorskip("pandas")
    nodes = pd.DataFrame(PEOPLE).convert_dtypes()
    nodes["city"] = pd.array([1, None, 3, 4], dtype="Int64")
    data = gaancore.from_pandas(nodes, pd.DataFrame(KNOWS), nan="zero")
    assert data.features.tolist() == [[31, 1], [27, 0], [45, 3], [38, 4]]
    assert data.class_names == ("x", "y")
    assert "1 features that are NaN replaced by 0" in data.notes


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_real_networkx_graphs_of_every_kind_are_read(kind):
    nx = pytest.importorskip("networkx")
    graph = getattr(nx, kind)()
    graph.add_edges_from([("a", "b"), ("b", "c"), ("a", "b")])
    data = gaancore.from_networkx(graph, np.eye(3))
    assert data.graph.indices.tolist() == [1, 0, 2, 1]
    assert data.node_ids.tolist() == ["a", "b", "c"]
    assert graph.is_directed() == ("directed edges count in both directions" in data.notes)


@given(st.lists(st.sampled_from([None, "red", "blue", "green", "2", "10"]), min_size=N, max_size=N))
def test_a_class_by_name_comes_back_by_name(names):
    known = [row for row, name in enumerate(names) if name]
    assume(len(known) >= 3)
    split = np.full(N, -1)
    split[known] = np.arange(len(known)) % 3
    data = gaancore.from_scipy(RING, FEATURES, names, split)
    back = [data.class_names[data.labels[row]] if row in known else None for row in range(N)]
    assert back == names


def bad_x():
    return FEATURES.copy() + np.where(np.arange(N)[:, None] == 4, np.nan, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaancore.from_scipy(RING, FEATURES[:9]), "from_scipy: features: .*10 nodes"),
        (lambda: gaancore.from_scipy(RING, bad_x()), "from_scipy: features: .*row 4"),
        (lambda: gaancore.from_scipy(RING, [["a"]] * N), "from_scipy: features: "),
        (lambda: gaancore.from_scipy(RING, object()), "from_scipy: features: "),
        (lambda: gaancore.from_scipy(RING, FEATURES, CLASSES[:9]), "from_scipy: labels: .*10 node"),
        (lambda: gaancore.from_scipy(RING, FEATURES, [None] * N), "labels: no node has a label"),
        (lambda: gaancore.from_scipy(RING, FEATURES, CLASSES, SPLIT + 1), "from_scipy: split: 3 "),
        (lambda: gaancore.from_scipy(RING, FEATURES, CLASSES, ["x"] * N), "split: 'x' at row 0"),
        (lambda: gaancore.from_scipy(np.eye(3, 4), FEATURES), "from_scipy: adjacency: "),
        (lambda: gaancore.from_scipy(sparse.eye_array(3, 4), FEATURES), "from_scipy: adjacency: "),
        (lambda: gaancore.from_scipy(RING, FEATURES, node_ids=[1] * N), "10 nodes are called 1"),
        (lambda: gaancore.from_scipy(RING, FEATURES, feature_names="u"), "expected 2 names, got 1"),
        (
            lambda: gaancore.from_scipy(RING, FEATURES, CLASSES, class_names="u"),
            "class_names: expected 2 names, got 1",
        ),
        (lambda: gaancore.from_scipy(RING, FEATURES, nan="mean"), "from_scipy: nan: "),
        (lambda: gaancore.from_scipy(RING, FEATURES, CLASSES, SPLIT, self_loops="x"), "self_loops"),
        (lambda: gaancore.from_networkx([], FEATURES), "from_networkx: graph: .*list"),
        (lambda: gaancore.from_networkx(friends(), "y"), "no node has an attribute 'y'; .*job, x"),
        (lambda: gaancore.from_networkx(friends(z=1), "z"), "3 of 4 nodes have none, first 'bert'"),
        (lambda: gaancore.from_pyg([1]), "from_pyg: data: .*this list has no x"),
        (lambda: gaancore.from_pyg(pyg(val_mask=Tensor([1]))), "from_pyg: val_mask: .*10 nodes"),
        (
            lambda: gaancore.from_pyg(pyg(train_mask=CLASSES == 0, val_mask=CLASSES == 0)),
            "from_pyg: val_mask: 5 nodes are in another",
        ),
        (lambda: gaancore.from_dgl(dgl(), features="x"), "ndata has no 'x'; it has feat, label"),
        (lambda: gaancore.from_dgl(1), "from_dgl: graph: "),
        (lambda: gaancore.from_pandas(Frame(**PEOPLE), Frame(a=[1])), "edges: expected columns"),
        (
            lambda: gaancore.from_pandas(Frame(**PEOPLE), Frame(src=["a"], dst=["z"])),
            "1 ends are ids of no node, first 'z'",
        ),
        (
            lambda: gaancore.from_pandas(Frame(city=["Rome"] * 4, **PEOPLE), Frame(**KNOWS)),
            "column 'city' is a feature, but not all",
        ),
        (
            lambda: gaancore.from_pandas(Frame(**PEOPLE), Frame(**KNOWS), label="job"),
            "label: no column 'job'",
        ),
    ],
)
def test_a_refusal_is_one_line_that_names_the_argument(call, message):
    with pytest.raises((DataError, GraphError, SettingsError), match=message) as caught:
        call()
    assert isinstance(caught.value, UserError)
    assert "\n" not in str(caught.value)
    assert "--" not in str(caught.value).replace("(see --nan)", "")
