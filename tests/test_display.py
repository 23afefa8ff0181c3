"""What objects show of themselves: the same facts in a line and in a notebook's table."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from small_run import WIDTHS, small_dataset, small_run
from small_traffic_run import SMALL, small_roads

import gaancore
from gaancore.data import synthetic_ppi
from gaancore.display import html_table
from gaancore.graph import Block
from gaancore.nn import Linear, Module
from gaancore.training.run_folder import RunFolder

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'&amp;", "x" * 10_000,
           "\u202egnp.exe", "", "two\nlines"]  # fmt: skip


class Table(HTMLParser):
    """Reads a table back: its caption, its rows of cells, and every tag and attribute in it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.caption, self.rows, self.tags, self.attributes = "", [], set(), set()
        self._cell: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td", "caption"):
            self._cell = []

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self.rows[-1].append("".join(self._cell or []))
        if tag == "caption":
            self.caption = "".join(self._cell or [])


def table_of(thing: Any) -> dict[str, str]:
    read = Table(thing._repr_html_())
    assert read.tags <= {"table", "caption", "tr", "th", "td"}
    assert read.attributes <= {"scope"}  # no colours, so that dark pages stay dark
    return {row[0]: row[1] for row in read.rows}


def test_a_dataset_shows_its_shapes_and_counts():
    data = small_dataset()
    shown = table_of(data)
    assert shown == {
        "name": "small", "kind": "real", "path": "small.npz",
        "num_nodes": "120", "num_edges": str(data.num_edges),
        "features": "float32(120, 6)", "labels": "uint8(120, 5)", "num_classes": "5",
        "split": "train 72, validation 24, test 24",
    } | ({"notes": str(len(data.notes))} if data.notes else {})  # fmt: skip
    assert repr(data).startswith("NodeDataset(name='small', kind='real', path='small.npz', num_no")
    assert "split=(train 72, validation 24, test 24)" in repr(data)
    large = synthetic_ppi(num_graphs=3, nodes_per_graph=400)
    assert table_of(large)["num_nodes"] == "1,200"
    assert "num_nodes=1200," in repr(large)


def test_inputs_blocks_and_sensors_show_theirs():
    inputs = gaancore.from_scipy([[0, 1], [1, 0]], [[0.5], [1.5]])
    assert table_of(inputs)["features"] == "float32(2, 1)"
    assert "\n" not in repr(inputs)
    block = Block([0, 2, 3], [2, 1, 2], num_src=3, edge_attr=np.ones((3, 2), np.float32))
    assert table_of(block) == {
        "num_dst": "2", "num_src": "3", "num_edges": "3", "edge_attr": "float32(3, 2)"
    }  # fmt: skip
    assert repr(block).endswith("num_edges=3, edge_attr=float32(3, 2))")
    roads = small_roads()
    shown = table_of(roads)
    assert shown["speeds"] == f"float32({roads.num_steps}, {roads.num_sensors})"
    assert shown["missing"] == f"{100 * np.mean(~roads.valid):.3g} %"
    assert re.fullmatch(r"TrafficDataset\(kind='synthetic', .*\)", repr(roads))


class Two(Module):
    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(0)
        self.layers = [Linear(30, 40, rng) for _ in range(count)]


def test_a_model_shows_each_parameter_and_a_large_one_the_first_of_them():
    model = Two(2)
    assert repr(model) == "Two(num_parameters=2480, arrays=4, dtype='float32')"
    read = Table(model._repr_html_())
    assert read.caption == repr(model)
    assert read.rows[:3] == [
        ["parameter", "shape", "numbers"],
        ["layers.0.weight", "(30, 40)", "1,200"],
        ["layers.0.bias", "(40,)", "40"],
    ]
    read = Table(Two(100)._repr_html_())
    assert read.rows[-1] == ["140 more", "", f"{70 * 1240:,}"]
    assert len(read.rows) == 62
    assert repr(Two(0)) == "Two(num_parameters=0, arrays=0)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("runs")
    quiet = {"verbose": False, "device": "cpu"}
    node = gaancore.train(small_dataset(), "ppi", out=folder / "a", epochs=1, **WIDTHS, **quiet)
    roads = gaancore.train(small_roads(), out=folder / "b", **SMALL | {"epochs": 1}, **quiet)
    return {"nodes": node, "traffic": roads}


@pytest.mark.parametrize("kind", ["nodes", "traffic"])
def test_a_run_shows_what_its_record_says(kind, runs):
    run, shown = runs[kind], table_of(runs[kind])
    record = run.record
    if kind == "nodes":
        assert shown["result"] == f"test micro-F1 {record['test']['micro_f1']:.4f}"
    else:
        assert f"test MAE {record['test']['mean']['mae']:.3f}" in shown["result"]
    assert shown["num_parameters"] == f"{record['num_parameters']:,}"
    assert shown["path"] == str(run.path)
    line = repr(run)
    assert f"num_parameters={record['num_parameters']}" in line
    assert "\n" not in line


def test_a_run_that_is_under_way_or_damaged_can_be_looked_at(tmp_path):
    small_run(tmp_path / "new")
    run = gaancore.open_run(tmp_path / "new", device="cpu")
    assert table_of(run)["result"] == "not finished"
    for text in ("{", "[]", "{}", '{"test": 3, "settings": {}}'):
        RunFolder(run.path).record_file.write_text(text, encoding="utf-8")
        assert table_of(run)["result"] == "record.json is damaged"
        assert "result='record.json is damaged'" in repr(run)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_data_are_shown_and_nothing_else(text):
    for place in ("caption", "name", "value", "part"):
        given = {"caption": "c", "name": "n", "value": "v", "part": "p"} | {place: text}
        row = (given["name"], given["value"], {given["part"]: 1})
        read = Table(html_table(given["caption"], [row]))
        assert read.tags == {"table", "caption", "tr", "th", "td"}
        assert read.attributes == {"scope"}
        found = [read.caption, *read.rows[0]]
        assert all(len(cell) <= 90 and cell.isprintable() for cell in found)
        if text.isprintable() and len(text) <= 80:
            assert text in " ".join(found)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_dataset_with_a_hostile_name_stays_one_table_and_one_line(text):
    data = replace(small_dataset(), path=text, name=text)
    assert {"name", "path", "num_nodes"} <= table_of(data).keys()
    assert repr(data).isprintable()
