"""One graph through every door and layout that takes weights: each arc has the weight that is its.

Two directions with weights of their own, a loop, an edge that is there one way, an arc given twice.
"""

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import gaancore
from gaancore.data import Reading, load_nodes
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.split import with_random_split
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError

IDS = list("abcde")
SRC, DST = np.array([3, 0, 2, 1, 2, 3]), np.array([4, 1, 2, 0, 3, 4])
WEIGHTS = np.array([5.0, 1.0, 3.0, 2.0, 4.0, 7.0])
EXPECTED = {
    (0, 1): 1, (1, 0): 2, (2, 2): 3, (2, 3): 4, (3, 2): 4, (3, 4): 12, (4, 3): 12
}  # fmt: skip
X, Y = np.arange(5.0)[:, None], [0, 1, 0, 1, 0]
LOADED = {"repeated_edges": "sum", "split_shares": (60, 20, 20)}


def load(path: Path, choice: str = "auto"):
    return load_nodes(path, name="mine", reading=Reading(edge_features=choice), **LOADED)


def write_nodes(folder: Path) -> None:
    rows = [f"{name},{x:g},{'xy'[y]}" for name, (x,), y in zip(IDS, X, Y, strict=True)]
    (folder / "nodes.csv").write_text("\n".join(["id,f,label", *rows]))


def lines(between: str) -> str:
    rows = zip(SRC, DST, WEIGHTS, strict=True)
    return "\n".join(between.join([IDS[a], IDS[b], f"{w:g}"]) for a, b, w in rows)


def two_tables(folder: Path):
    write_nodes(folder)
    (folder / "edges.csv").write_text(f"src,dst,weight\n{lines(',')}")
    return load(folder)


def list_beside_nodes(folder: Path):
    write_nodes(folder)
    (folder / "toy.edgelist").write_text(lines(" "))
    return load(folder, "weight")


def list_and_labels(folder: Path):
    (folder / "toy.edges").write_text(lines("\t"))
    (folder / "toy.labels").write_text("\n".join(f"{i} {y}" for i, y in zip(IDS, Y, strict=True)))
    reading = Reading(edge_features="weight", features="ones")
    return load_nodes(folder / "toy.edges", name="mine", reading=reading, **LOADED)


def npz(folder: Path, **arrays):
    np.savez(folder / "toy.npz", x=X, y=Y, **arrays)
    return load(folder / "toy.npz")


def csr_npz(folder: Path):
    order = np.argsort(DST, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(DST, minlength=5))])
    return npz(folder, indptr=indptr, indices=SRC[order], edge_attr=WEIGHTS[order])


def store(folder: Path):
    write_nodes(folder)
    (folder / "edges.csv").write_text(f"src,dst,weight\n{lines(',')}")
    raw = read_layout(folder, Reading(edge_features="auto"))
    raw = with_random_split(raw, (60, 20, 20), seed=0)
    write_store(raw, folder / "store", name="mine", repeated_edges="sum")
    return load_nodes(folder / "store", name="mine")


def networkx_graph():
    nx = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph()
    for name, (x,), y in zip(IDS, X, Y, strict=True):
        graph.add_node(name, f=float(x), label="xy"[y], kind="xy"[y])
    for a, b, w in zip(SRC, DST, WEIGHTS, strict=True):
        graph.add_edge(IDS[a], IDS[b], weight=float(w))
    return nx, graph


def from_networkx(folder: Path):
    _, graph = networkx_graph()
    return gaancore.from_networkx(graph, "f", "label", edge_attrs=["weight"], **LOADED)


def written_by_networkx(kind: str):
    def made(folder: Path):
        nx, graph = networkx_graph()
        getattr(nx, f"write_{kind}")(graph, folder / f"toy.{kind}")
        reading = Reading(edge_features="auto", label="kind")
        return load_nodes(folder / f"toy.{kind}", name="mine", reading=reading, **LOADED)

    return made


def from_scipy(folder: Path):
    matrix = sparse.coo_array((WEIGHTS, (DST, SRC)), shape=(5, 5))
    return gaancore.from_scipy(matrix, X, Y, edge_values=True, **LOADED)


def from_pyg(folder: Path, **fields):
    data = SimpleNamespace(x=X, y=np.array(Y), edge_index=np.stack([SRC, DST]), **fields)
    return gaancore.from_pyg(data, **LOADED)


def from_dgl(folder: Path):
    graph = SimpleNamespace(
        num_nodes=lambda: 5, edges=lambda: (SRC, DST), edata={"w": WEIGHTS},
        ndata={"feat": X, "label": np.array(Y)},
    )  # fmt: skip
    return gaancore.from_dgl(graph, edge_features=["w"], **LOADED)


def from_pandas(folder: Path):
    pd = pytest.importorskip("pandas")
    nodes = pd.DataFrame({"id": IDS, "f": X[:, 0], "label": Y})
    names = np.array(IDS)
    edges = pd.DataFrame({"src": names[SRC], "dst": names[DST], "weight": WEIGHTS})
    return gaancore.from_pandas(nodes, edges, edge_features=["weight"], **LOADED)


DOORS = {
    "two tables": two_tables,
    "a list beside nodes.csv": list_beside_nodes,
    "a list and labels": list_and_labels,
    "npz, src dst e": lambda folder: npz(folder, src=SRC, dst=DST, e=WEIGHTS),
    "npz, edge_index edge_attr": lambda folder: npz(
        folder, edge_index=np.stack([SRC, DST]), edge_attr=WEIGHTS[:, None].astype("f4")
    ),
    "npz, integers": lambda folder: npz(folder, src=SRC, dst=DST, e=WEIGHTS.astype("i8")),
    "npz, indptr indices": csr_npz,
    "a store": store,
    "from_networkx": from_networkx,
    **({kind: written_by_networkx(kind) for kind in ("graphml", "gml", "gexf")}
       if find_spec("networkx") else {}),
    "from_scipy": from_scipy,
    "from_pyg, edge_attr": lambda folder: from_pyg(folder, edge_attr=WEIGHTS[:, None]),
    "from_pyg, edge_weight": lambda folder: from_pyg(folder, edge_weight=WEIGHTS),
    "from_dgl": from_dgl,
    "from_pandas": from_pandas,
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_each_arc_has_its_own_weight(door, tmp_path):
    data = DOORS[door](tmp_path)
    src, dst = data.graph.edges()
    ids = [str(name) for name in data.node_ids.tolist()]
    row = {name: IDS.index(name) if name in IDS else int(name) for name in ids}
    arcs = [(row[ids[a]], row[ids[b]]) for a, b in zip(src, dst, strict=True)]
    assert data.graph.edge_attr.dtype == np.float32
    assert data.graph.edge_attr.shape == (7, 1)
    assert dict(zip(arcs, data.graph.edge_attr[:, 0].tolist(), strict=True)) == EXPECTED


def test_what_follows_the_ids_of_a_list_is_taken_by_name_alone(tmp_path):
    write_nodes(tmp_path)
    (tmp_path / "toy.edgelist").write_text("a b 2 x\nb c 3 y\nd e 4 x\n")
    data = load(tmp_path)
    assert data.graph.edge_attr is None
    assert "toy.edgelist: what follows the two ids of a line is not used" in data.notes
    assert load(tmp_path, "column4,column3").edge_names == ("column4=x", "column4=y", "column3")
    with pytest.raises(DataError, match=r"no column 'weight'; there are column3, column4"):
        load(tmp_path, "weight")
    (tmp_path / "toy.edgelist").write_text("a b 2\nb c\nd e 4\n")
    message = r"toy.edgelist: line 2 has 2 cells, the first 3; features of edges need as many"
    with pytest.raises(DataError, match=message):
        load(tmp_path, "weight")
    (tmp_path / "toy.edgelist").write_text("a b 2\nb c {'weight':\nd e 4\n")
    with pytest.raises(DataError, match=r"line 2, column weight: .* is not a number; make all"):
        load(tmp_path, "weight")


def test_attributes_that_some_edges_lack_are_told_and_refused_by_name(tmp_path):
    nx, graph = networkx_graph()
    graph.add_edge("a", "e", weight=1.0, lanes=2)
    nx.write_graphml(graph, tmp_path / "toy.graphml")

    def read(choice):
        reading = Reading(edge_features=choice, label="kind")
        return load_nodes(tmp_path / "toy.graphml", name="mine", reading=reading, **LOADED)

    data = read("auto")
    assert data.edge_names == ("weight",)
    assert "attributes that some edges lack, not used: lanes" in data.notes
    assert "1 features of edges: weight" in data.notes
    assert "attributes of edges not used: lanes, weight" in read("none").notes
    with pytest.raises(DataError, match=r"edge 'a' - 'b' has no attribute 'lanes'; give it"):
        read("lanes")
