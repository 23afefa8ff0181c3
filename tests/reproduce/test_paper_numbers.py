"""The paper's numbers in the rows of its tables, typed here a second time."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from printed_numbers import TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6

from gaancore.data.paper import paper_data
from gaancore.errors import SettingsError
from gaancore.reproduce.claims import claim_of, most_telling_first
from gaancore.reproduce.report.data import data_kind
from gaancore.reproduce.sampling import PAPER_SIZES, PRINTED
from gaancore.reproduce.tables import (
    ORDER,
    SEEDS,
    TABLES,
    TRAINED,
    Row,
    read_rows,
    rows_in,
    rows_of,
    rows_taken,
    tables_with,
)
from gaancore.tasks import TASKS, task_named

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "gaancore" / "reproduce" / "rows"

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
COUNTS = {
    "ppi": {
        "num_nodes": 56_944,
        "num_features": 50,
        "num_classes": 121,
        "nodes_per_split": [44_906, 6_514, 5_524],
        "arcs": [2 * 793_632],
    },
    "reddit": {
        "num_nodes": 232_965,
        "num_features": 602,
        "num_classes": 41,
        "nodes_per_split": [153_431, 23_831, 55_703],
        "arcs": [114_615_892],
    },
    "metr-la": {"num_sensors": 207, "num_steps": 34_272, "arcs": [1_515, 2_626]},
}
TOML = {name: ROWS / f"{name}.toml" for name in TRAINED}

Cells = dict[tuple[str, ...], str]


def second_copy() -> Cells:
    """(row, task, score) -> what is printed there, of Tables 3, 4 and 5."""
    found = {}
    for name, ppi, reddit in cells(TABLE_3):
        found["main", name, "ppi", "micro_f1"] = ppi
        found["main", name, "reddit", "micro_f1"] = reddit
    for name, *sizes in cells(TABLE_4):
        reddit_size, ppi_size, ppi, *by_sample = sizes
        found["ablation", name, "reddit", "#Param"] = reddit_size
        found["ablation", name, "ppi", "#Param"] = ppi_size
        found["ablation", name, "ppi", "micro_f1"] = ppi
        for sample, cell in zip(("", "-s50-20", "-s100-40", "-s200-80"), by_sample, strict=True):
            found["ablation", name + sample, "reddit", "micro_f1"] = cell
    for name, *numbers in cells(TABLE_5):
        places = product(("mae", "rmse", "mape"), ("15 min", "30 min", "60 min", "mean"))
        for (error, ahead), number in zip(places, numbers, strict=True):
            found["traffic", name, "metr-la", f"{ahead} {error}"] = number
    return {place: text for place, text in found.items() if text != "-"}


def cells(text: str) -> list[list[str]]:
    """The cells of lines; `a ± b` is one."""
    lines = text.replace(" ± ", "±").strip().splitlines()
    return [[cell.replace("±", " ± ") for cell in line.split()] for line in lines]


def first_copy(rows_of_table: Callable[[str], list[Row]] = read_rows) -> Cells:
    """The same from gaancore's own files."""
    found = {}
    for table in TRAINED:
        for row in rows_of_table(table):
            for task, printed in row.paper.items():
                place = (table, row.name, task)
                found |= {(*place, score): text for score, text in printed.scores.items()}
                if printed.parameters:
                    found[*place, "#Param"] = printed.parameters
    return found


def test_both_copies_of_tables_3_4_and_5_have_the_same_numbers():
    assert first_copy() == second_copy()


def test_the_second_copy_is_whole():
    """As many numbers as the page of the paper has cells."""
    counted = Counter(place[0] for place in second_copy())
    assert counted == {"main": 18, "ablation": 13 * 2 + 13 + 12 * 4 + 1, "traffic": 9 * 12}


@pytest.mark.parametrize("table", ["main", "ablation", "traffic"])
def test_one_changed_digit_is_noticed(table):
    """Each digit of each printed number in the TOML file, turned into the next one."""
    text = TOML[table].read_text(encoding="utf-8")
    expected = {place: cell for place, cell in second_copy().items() if place[0] == table}
    of_table = {place: cell for place, cell in first_copy().items() if place[0] == table}
    assert of_table == expected
    changed = 0
    for quoted in re.finditer(PRINTED_TEXT, text):
        for at in range(*quoted.span(1)):
            if text[at].isdigit():
                other = f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
                line = text.count("\n", 0, at)
                assert _cells_of(table, other) != expected, text.splitlines()[line]
                changed += 1
    assert changed == sum(c.isdigit() for cell in expected.values() for c in cell)


# the text of a score or of #Param: in quotes, of digits alone
PRINTED_TEXT = re.compile(r'= "(\(?\d[\d.()KM ±/]*)"')


def _cells_of(table: str, text: str) -> Cells:
    return first_copy(lambda name: rows_in(text) if name == table else [])


def exact(table: str, task: str) -> dict[str, int]:
    """Row -> the count that its #Param pins."""
    rows = [row for row in rows_of(table, task) if task in row.paper]
    counts = {row.name: row.paper[task].num_parameters for row in rows}
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("task", ["ppi", "reddit"])
def test_the_parameter_counts(task):
    rows = {row.name: row.paper.get(task) for row in rows_of("ablation", task)}
    counts = exact("ablation", task)
    assert {name: (count, rows[name].parameters) for name, count in counts.items()} == (
        NUM_PARAMETERS[task]
    )
    assert exact("main", task) == {}  # Table 3 prints none


@pytest.mark.parametrize("task", COUNTS)
def test_the_counts_of_the_data(task):
    facts = dict(paper_data(task))
    assert facts.pop("place") == (
        "Table 6, section 5.2" if task == "metr-la" else "Table 2, section 4.2"
    )
    facts.pop("printed")
    assert facts == COUNTS[task]


def test_the_printed_counts_of_the_data():
    for line in [*TABLE_2.strip().splitlines(), TABLE_6]:
        task, *rest = re.split(r"  +", line)
        expected = dict(part.split(" ", 1) for part in rest)
        printed = paper_data(task)["printed"]
        assert {name.removeprefix("num_"): text for name, text in printed.items()} == expected


def test_the_sizes_of_the_merge_table():
    rows = [re.split(r"  +", line) for line in TABLE_1.strip().splitlines()]
    assert {name == "merged": tuple(sizes) for name, *sizes in rows} == PRINTED
    assert PAPER_SIZES[True] == [512, 7_500, 70_700, 200_000]
    assert PAPER_SIZES[False] == [512, 7_800, 124_400, 1_900_000]


def test_every_row_says_where_it_is_printed_or_that_it_is_an_extension():
    places = {
        "main": "Table 3, section 4.4",
        "ablation": "Table 4, section 4.5",
        "traffic": "Table 5, section 5.3",
        "out-dim": "figure of output dimensions, section 4.5",
        "gates": "figure of gate values, section 4.5",
    }
    for table in TRAINED:
        for row in read_rows(table):
            assert (row.place == "") == row.extension
            assert row.place in ("", places.get(table))


def test_the_papers_widths_are_64_96_and_128_and_others_are_marked():
    ours = {row.settings["out_dim"]: row.extension for row in read_rows("out-dim")}
    assert ours == {32: True, 64: False, 96: False, 128: False, 256: True}
    assert [row.name for row in read_rows("traffic") if row.extension] == ["fnn"]


def test_rows_from_other_papers_are_not_run():
    taken = {table: [row.name for row in read_rows(table) if row.taken_from] for table in TRAINED}
    assert taken == {
        "main": ["GraphSAGE", "GAT", "FastGCN"],
        "traffic": ["FC-LSTM", "GCRNN", "DCRNN"],
        "ablation": [], "out-dim": [], "gates": [], "edges": [],
    }  # fmt: skip
    assert [row.name for row in rows_taken("main", "reddit")] == ["GraphSAGE", "FastGCN"]
    assert [row.name for row in rows_taken("main", "classes")] == []
    assert {row.name for row in rows_of("main", "ppi")} == set(ORDER)
    with pytest.raises(SettingsError, match="GAT: the paper prints this row from another one"):
        rows_of("main", "ppi", ["gaan", "GAT"])


def test_the_papers_claims_are_those_of_its_numbers():
    """Each pair of rows stands in the claimed order in what is printed."""
    for table, task in product(("main", "ablation", "traffic"), ("ppi", "reddit", "metr-la")):
        claim = claim_of(table, task)
        if task not in TABLES[table].tasks:
            continue
        numbers = {
            row.name: row.paper[task].numbers[claim.metric][0]
            for row in rows_of(table, task)
            if task in row.paper
        }
        for better, worse in claim.pairs:
            gap = numbers[better] - numbers[worse]
            assert (gap if claim.metric == "micro_f1" else -gap) >= 0, (table, task, better, worse)


def test_both_rows_of_every_pair_exist():
    of = {"ablation": ("reddit",), "out-dim": ("ppi", "labels"), "edges": ("metr-la", "forecast")}
    for table, task in ((table, task) for table, tasks in of.items() for task in tasks):
        names = {row.name for row in rows_of(table, task)}
        assert names >= {name for pair in claim_of(table, task).pairs for name in pair}


def test_the_rows_that_claims_compare_first_come_first():
    def order(table, task):
        return [row.name for row in most_telling_first(table, task, rows_of(table, task))]

    assert order("main", "ppi") == [
        "gaan", "attention", "pairwise-sigmoid", "pairwise-tanh", "max-pool", "avg-pool", "fnn",
    ]  # fmt: skip
    assert order("ablation", "ppi")[:4] == ["gaan-k8", "attention-k8", "gaan-k4", "attention-k4"]
    assert order("ablation", "labels")[-1] == "pairwise-tanh"  # which no claim names
    assert order("gates", "reddit") == ["gaan-k8"]


def test_seeds_are_the_papers():
    assert (SEEDS["ppi"], SEEDS["reddit"]) == (3, 5)


def test_rows_change_only_what_their_names_say():
    for table in ("main", "traffic"):
        for row in rows_of(table):
            assert row.settings == {"model": row.name}
            two_heads = (table, row.name) == ("main", "attention")
            assert row.on_task == ({"reddit": {"num_heads": 2}} if two_heads else {})
    for row in (*rows_of("ablation"), *rows_of("gates")):
        model, heads, first, second = re.fullmatch(
            r"([a-z-]+?)(?:-k(\d))?(?:-s(\d+)-(\d+))?", row.name
        ).groups()
        expected = {"model": model}
        if heads:
            expected["num_heads"] = int(heads)
        if first:
            expected |= {"task": "reddit", "fanouts": [int(first), int(second)]}
        assert row.settings == expected
    for row in rows_of("edges"):
        model, choice = re.fullmatch("(gaan|avg-pool)-(with|without)", row.name).groups()
        edges = {"with": "auto", "without": "none"}[choice]
        assert row.settings == {"model": model, "edge_features": edges}
        assert row.extension
    for row in rows_of("out-dim"):
        model, dim = row.name.rsplit("-d", 1)
        assert row.settings == {"model": model, "out_dim": int(dim)}


def test_attention_of_the_main_table_on_reddit_is_the_row_of_two_heads():
    def settings(table, name):
        (row,) = rows_of(table, "reddit", [name])
        return task_named("reddit").settings((row.name, row.settings))

    assert settings("main", "attention") == settings("ablation", "attention-k2")
    assert settings("main", "gaan") == settings("ablation", "gaan-k4")


@pytest.mark.parametrize("name", TASKS)
def test_rows_of_one_name_are_one_run_in_every_table(name):
    """Tables share a folder of runs: a name with two meanings would be refused."""
    task, seen = task_named(name), {}
    for table in tables_with(name):
        for row in rows_of(table, name):
            settings = task.settings((row.name, row.settings))
            assert seen.setdefault(row.name, settings) == settings, (table, row.name)


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
    assert data_kind(TASKS["ppi"], FULL_PPI | changes) == kind


def test_a_sparser_reddit_is_another_data_set():
    reddit = {
        "kind": "real",
        "num_nodes": 232_965,
        "num_features": 602,
        "num_classes": 41,
        "nodes_per_split": [153_431, 23_831, 55_703],
    }
    assert data_kind(TASKS["reddit"], reddit | {"num_edges": 114_615_892}) == "full"
    assert data_kind(TASKS["reddit"], reddit | {"num_edges": 23_213_838}) == "part"


def test_an_installation_has_every_table():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = config["tool"]["setuptools"]
    assert "gaancore.reproduce" in setuptools["packages"]
    folder = ROOT / "gaancore" / "reproduce"
    patterns = setuptools["package-data"]["gaancore.reproduce"]
    installed = {path for pattern in patterns for path in folder.glob(pattern)}
    assert installed == set(folder.rglob("*.toml"))
    assert {path.stem for path in installed} == set(TRAINED)
