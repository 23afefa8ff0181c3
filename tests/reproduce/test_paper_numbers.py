"""The paper's numbers in the rows of its tables, typed here a second time."""

import tomllib
from pathlib import Path

import pytest
from gaancore.reproduce.data_facts import data_kind, paper_data

from gaancore.reproduce.tables import SEEDS, TRAINED, read_rows, rows_of

ROOT = Path(__file__).parents[2]

# row -> test micro-F1 in percent, deviation; a number that could not be confirmed is not here
F1 = {
    "ppi": {
        "gaan": [98.71, 0.02],
        "attention": [98.46, 0.09],
        "max-pool": [98.39, 0.05],
        "pairwise-sigmoid": [98.39, 0.05],
        "pairwise-tanh": [98.32, 0.18],
    },
    "reddit": {"gaan": [96.36, 0.03]},
}
BY_HEADS = {"ppi": {"gaan-k8": [98.71, 0.02]}, "reddit": {"gaan-k4": [96.36, 0.03]}}
NUM_PARAMETERS = {
    "ppi": {
        "fnn": (1_225_849, "1.23M"),
        "avg-pool": (274_105, "274K"),
        "max-pool": (274_105, "274K"),
        "pairwise-sigmoid": (348_601, "349K"),
        "pairwise-tanh": (348_601, "349K"),
        "attention-k1": (168_217, "168K"),
        "attention-k2": (177_529, "178K"),
        "attention-k4": (196_153, "196K"),
        "attention-k8": (233_401, "233K"),
        "gaan-k1": (201_371, "201K"),
        "gaan-k2": (210_813, "211K"),
        "gaan-k4": (229_697, "230K"),
        "gaan-k8": (267_465, "267K"),
    },
    "reddit": {
        "fnn": (1_709_097, "1.71M"),
        "avg-pool": (866_473, "866K"),
        "max-pool": (866_473, "866K"),
        "pairwise-sigmoid": (965_289, "965K"),
        "pairwise-tanh": (965_289, "965K"),
        "attention-k1": (562_473, "562K"),
        "attention-k2": (570_729, "571K"),
        "attention-k4": (587_241, "587K"),
        "attention-k8": (620_265, "620K"),
        "gaan-k1": (620_203, "620K"),
        "gaan-k2": (628_524, "629K"),
        "gaan-k4": (645_166, "645K"),
        "gaan-k8": (678_450, "678K"),
    },
}
DATA = {
    "ppi": {
        "num_nodes": 56_944,
        "edges": "806.2K",
        "num_features": 50,
        "num_classes": 121,
        "nodes_per_split": [44_906, 6_514, 5_524],
        "arcs": 2 * 793_632,
    },
    "reddit": {
        "num_nodes": 232_965,
        "edges": "114.6M",
        "num_features": 602,
        "num_classes": 41,
        "nodes_per_split": [153_431, 23_831, 55_703],
        "arcs": 114_615_892,
    },
    "metr-la": {"num_sensors": 207, "edges": "1,515", "num_steps": 34_272, "arcs": None},
}


def printed(table: str, task: str, key: str) -> dict:
    """Row -> what its file says the paper prints."""
    rows = rows_of(table, task)
    return {row.name: row.paper[task][key] for row in rows if key in row.paper.get(task, {})}


@pytest.mark.parametrize("task", ["ppi", "reddit"])
def test_the_scores_of_the_main_table(task):
    assert printed("main", task, "micro_f1") == F1[task]


@pytest.mark.parametrize("task", ["ppi", "reddit"])
def test_the_scores_by_heads(task):
    assert printed("ablation", task, "micro_f1") == BY_HEADS[task]


@pytest.mark.parametrize("task", ["ppi", "reddit"])
def test_the_parameter_counts(task):
    exact = printed("main", task, "num_parameters") | printed("ablation", task, "num_parameters")
    rounded = printed("main", task, "printed") | printed("ablation", task, "printed")
    assert {name: (exact[name], rounded[name]) for name in exact} == NUM_PARAMETERS[task]
    assert rounded.keys() == exact.keys()


def test_the_error_of_traffic_forecasts():
    assert printed("traffic", "metr-la", "mean mae") == {"gaan": [3.16]}
    others = {key for row in read_rows("traffic") for key in row.paper.get("metr-la", {})}
    assert others == {"mean mae"}


@pytest.mark.parametrize("task", DATA)
def test_the_counts_of_the_data(task):
    facts = paper_data(task)
    assert facts.pop("place")
    assert facts == DATA[task]


def test_every_printed_number_says_where():
    for table in TRAINED:
        for row in read_rows(table):
            assert "section" in row.place or "Table" in row.place


def test_seeds_are_the_papers():
    assert (SEEDS["ppi"], SEEDS["reddit"]) == (3, 5)


def test_rows_change_only_what_their_names_say():
    for table in ("main", "gates"):
        for row in read_rows(table):
            assert row.settings == {"model": row.name}
    for row in read_rows("traffic"):
        assert row.settings == {"task": "metr-la", "model": row.name}
    for row in read_rows("ablation"):
        model, heads, *sizes = row.name.split("-k")[0:1] + row.name.split("-k")[1].split("-")
        expected = {"model": model, "num_heads": int(heads)}
        if sizes:
            fanouts = [int(sizes[0].removeprefix("s")), int(sizes[1])]
            expected |= {"task": "reddit", "fanouts": fanouts}
        assert row.settings == expected
    for row in read_rows("out-dim"):
        model, dim = row.name.rsplit("-d", 1)
        assert row.settings == {"task": "ppi", "model": model, "out_dim": int(dim)}


FULL_PPI = {
    "kind": "real",
    "num_nodes": 56_944,
    "num_edges": 1_612_348,
    "num_features": 50,
    "num_classes": 121,
    "nodes_per_split": [44_906, 6_514, 5_524],
}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "full"),
        ({"num_edges": 1_587_264}, "full"),  # without self-loops
        ({"num_edges": 1_587_264 + 56_944}, "full"),  # one for each node
        ({"num_edges": 1_587_263}, "part"),
        ({"num_edges": 1_587_264 + 56_945}, "part"),
        ({"num_nodes": 14_755}, "part"),
        ({"nodes_per_split": [44_907, 6_513, 5_524]}, "part"),
        ({"kind": "synthetic"}, "synthetic"),
    ],
)
def test_only_data_with_the_papers_counts_are_its_data(changes, kind):
    assert data_kind("ppi", FULL_PPI | changes) == kind


def test_a_sparser_reddit_is_another_data_set():
    reddit = {
        "kind": "real",
        "num_nodes": 232_965,
        "num_features": 602,
        "num_classes": 41,
        "nodes_per_split": [153_431, 23_831, 55_703],
    }
    assert data_kind("reddit", reddit | {"num_edges": 114_615_892}) == "full"
    assert data_kind("reddit", reddit | {"num_edges": 23_213_838}) == "part"


def test_an_installation_has_every_table():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = config["tool"]["setuptools"]
    assert "gaancore.reproduce" in setuptools["packages"]
    folder = ROOT / "gaancore" / "reproduce"
    patterns = setuptools["package-data"]["gaancore.reproduce"]
    installed = {path for pattern in patterns for path in folder.glob(pattern)}
    assert installed == set(folder.rglob("*.toml"))
    assert {path.stem for path in installed} == set(TRAINED)
