"""Features of edges in files: two CSV tables and an .npz, chosen, checked and told."""

import numpy as np
import pytest
from small_files import write_graphsaint

from gaancore.data import Reading, load_nodes
from gaancore.data.nodes.inputs import read_inputs
from gaancore.errors import DataError, SettingsError

NODES = "id,x,label,split\na,1,0,train\nb,2,1,train\nc,3,0,val\nd,4,1,test\n"
EDGES = "src,dst,amount,kind\na,b,1.5,card\nc,b,2,wire\nc,d,-3,card\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "edges.csv").write_text(EDGES)
    return tmp_path


def rows(data) -> dict[tuple[str, str], list[float]]:
    src, dst = data.graph.edges()
    ids = data.node_ids
    pairs = zip(ids[src].tolist(), ids[dst].tolist(), strict=True)
    return dict(zip(pairs, data.graph.edge_attr.tolist(), strict=True))


def load(folder, choice="auto", unknown_edges="error", **options):
    reading = Reading(edge_features=choice, unknown_edges=unknown_edges)
    return load_nodes(folder, name="mine", reading=reading, **options)


def test_further_columns_are_features_text_by_its_categories(folder):
    data = load(folder)
    assert data.edge_names == ("amount", "kind=card", "kind=wire")
    assert data.graph.edge_attr.dtype == np.float32
    card, wire, back = [1.5, 1, 0], [2, 0, 1], [-3, 1, 0]
    assert rows(data) == {
        ("a", "b"): card, ("b", "a"): card, ("c", "b"): wire, ("b", "c"): wire,
        ("c", "d"): back, ("d", "c"): back,
    }  # fmt: skip
    assert "edges.csv: 3 features of edges: amount, kind=card, kind=wire" in data.notes
    said = "edges.csv: column kind is text: 2 categories, a feature each: card, wire"
    assert said in data.notes
    assert data.facts()["edge_names"] == list(data.edge_names)


def test_columns_are_chosen_by_name_or_left_out(folder):
    assert load(folder, "kind").edge_names == ("kind=card", "kind=wire")
    assert load(folder, "kind, amount").edge_names == ("kind=card", "kind=wire", "amount")
    none = load(folder, "none")
    assert none.graph.edge_attr is None
    assert none.edge_names is None
    assert "edges.csv: column(s) amount, kind ignored" in none.notes
    assert none.facts()["checksum"] != load(folder).facts()["checksum"]
    with pytest.raises(
        DataError, match="edge_features: no column 'weight'; there are amount, kind"
    ):
        load(folder, "weight")


@pytest.mark.parametrize("cell", ["nan", "", "inf", "1e39", "-1e308"])
def test_a_number_that_is_none_is_refused_by_its_line(folder, cell):
    (folder / "edges.csv").write_text(EDGES.replace("2,wire", f"{cell},wire"))
    message = rf"edges.csv: line 3, column amount: '{cell}' is no finite number; correct it"
    with pytest.raises(DataError, match=message):
        load(folder)
    assert load(folder, "kind").graph.edge_dim == 2


@pytest.mark.parametrize(
    ("was", "cell", "words"),
    [
        ("2,", "0x10,", "line 3, column amount: '0x10' is not a number; make all of the"),
        ("1.5,", "1_5,", "line 2, column amount: '1_5' is not a number; make all of the"),
        ("wire", "10", "line 3, column kind: '10' is a number among text; make all of"),
    ],
)
def test_one_damaged_number_does_not_make_categories_of_a_column(folder, was, cell, words):
    (folder / "edges.csv").write_text(EDGES.replace(was, cell))
    with pytest.raises(DataError, match=f"edges.csv: {words}"):
        load(folder)


def test_too_many_categories_are_refused_and_a_constant_is_told(folder):
    lines = "\n".join(f"a,b,1,word{n}" for n in range(60))
    (folder / "edges.csv").write_text(f"src,dst,amount,kind\n{lines}\n")
    with pytest.raises(
        DataError, match="kind: 60 different texts in 60 rows, such as 'word0', are"
    ):
        load(folder)
    data = load(folder, "amount", repeated_edges="first")
    assert "feature of edges amount: the same on every edge, so of no use" in data.notes


def test_edges_that_repeat_ask_how_to_merge(folder):
    (folder / "edges.csv").write_text(EDGES + "a,b,4,wire\n")
    message = r"1 edges repeat another one, and have features; say what becomes of these \(repeat"
    with pytest.raises(DataError, match=message):
        load(folder)
    assert rows(load(folder, repeated_edges="sum"))["a", "b"] == [5.5, 1, 1]
    assert rows(load(folder, repeated_edges="max"))["b", "a"] == [4, 1, 1]
    assert load(folder, "none").num_edges == 6  # nothing to merge but the edges


def test_edges_to_unknown_nodes_take_their_features_along(folder):
    (folder / "edges.csv").write_text("src,dst,amount\nzz,b,7\n" + EDGES.partition("\n")[2].replace(
        ",card", "").replace(",wire", ""))  # fmt: skip
    assert rows(load(folder, unknown_edges="drop"))["c", "d"] == [-3]


@pytest.mark.parametrize("name", ["edge_attr", "e"])
@pytest.mark.parametrize("width", [None, 2])
def test_an_npz_has_them_beside_its_arcs(tmp_path, name, width):
    values = np.arange(3.0) if width is None else np.arange(6.0).reshape(3, 2)
    path = tmp_path / "mine.npz"
    arrays = {"x": np.eye(4), "y": [0, 1, 0, 1], "split": [0, 0, 1, 2], name: values}
    np.savez(path, edge_index=[[2, 1, 0], [3, 0, 2]], **arrays)
    data = load(path)
    src, dst = data.graph.edges()
    found = data.graph.edge_attr[(src == 1) & (dst == 0)]
    assert found.tolist() == [[1.0]] if width is None else [[2.0, 3.0]]
    assert load_nodes(path, name="mine").graph.edge_attr is None
    assert read_inputs(path, reading=Reading(edge_features="auto")).graph.edge_dim == (width or 1)


def test_an_infinite_feature_of_an_npz_is_refused(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, x=np.eye(2), y=[0, 1], split=[0, 1], src=[0], dst=[1], e=[np.inf])
    with pytest.raises(
        DataError, match="features of edges: 1 values are not finite in float32, first inf in"
    ):
        load(path)


def test_a_layout_that_has_none_refuses_their_names_alone(tmp_path):
    write_graphsaint(tmp_path)
    assert load(tmp_path).graph.edge_attr is None
    with pytest.raises(SettingsError, match=r"edge_features: the files at .* leave nothing to"):
        load(tmp_path, "weight")


def test_nodes_and_edges_read_their_columns_by_the_same_rule(tmp_path):
    """Numbers, truth values, categories with a gap, vectors: the same cells give the same numbers
    and notes, and the same damage the same words."""
    header, cells = "n,ok,kind,v", ["1.5,true,card,1 2", "2,False,,3 -4.5", "-3,true,wire,0 1e2"]
    nodes = [f"{name},{row},{label}" for name, row, label in zip("abc", cells, "xyx", strict=True)]
    edges = [f"{ends},{row}" for ends, row in zip(("a,b", "b,c", "c,c"), cells, strict=True)]

    def read(damage=("", "")):
        for name, head, lines in (
            ("nodes.csv", f"id,{header},label", nodes), ("edges.csv", f"src,dst,{header}", edges)
        ):  # fmt: skip
            text = "\n".join([head, *(line.replace(*damage) for line in lines)])
            (tmp_path / name).write_text(text)
        return load(tmp_path, split_shares=(34, 33, 33))

    data = read()
    assert data.edge_names == data.feature_names
    assert data.edge_names == ("n", "ok", "kind=card", "kind=wire", "v[0]", "v[1]")
    by_arc = rows(data)
    found = [by_arc["a", "b"], by_arc["b", "c"], by_arc["c", "c"]]
    assert found == data.features.tolist() == [
        [1.5, 1, 1, 0, 1, 2], [2, 0, 0, 0, 3, -4.5], [-3, 1, 0, 1, 0, 100]
    ]  # fmt: skip
    told = {name: [n for n in data.notes if n.startswith(f"{name}: col")] for name in
            ("nodes.csv", "edges.csv")}  # fmt: skip
    assert len(told["nodes.csv"]) == 2
    assert [n.partition(": ")[2] for n in told["nodes.csv"]] == [
        n.partition(": ")[2] for n in told["edges.csv"]
    ]
    with pytest.raises(DataError, match=r"nodes.csv: line 2, column n: '1,5' is not a number"):
        read(("1.5", '"1,5"'))


def test_a_category_may_be_empty_and_a_number_may_not(folder):
    (folder / "edges.csv").write_text(EDGES.replace("wire", ""))
    assert rows(load(folder))["c", "b"] == [2, 0]
