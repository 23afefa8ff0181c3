"""What a summary of a dataset counts, by plain loops over its nodes, arcs and readings."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from small_files import write_npz
from small_reddit import small_reddit
from small_run import small_dataset
from small_traffic_run import small_roads
from strategies import graphs, seeds

from gaancore.data import NodeDataset, load_ppi
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.data.summary import SPLITS, summarize_nodes, summarize_traffic


def drawn(graph, seed: int) -> NodeDataset:
    rng = np.random.default_rng(seed)
    n = graph.num_nodes
    labels, split = rng.integers(0, 2, (n, 3)), rng.integers(-1, 3, n)
    labels[0], split[0] = 1, 0
    features = rng.integers(0, 2, (n, 2)).astype(np.float32)
    sources = dict.fromkeys(("features", "labels", "split"), "drawn")
    raw = RawDataset("drawn", graph, features, labels, split, np.arange(n), sources)
    return make_dataset(raw, name="drawn", multi_label=True, unflagged="context")


def neighbours(dataset: NodeDataset, node: int) -> list[int]:
    graph = dataset.graph
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist()


@given(graph=graphs(max_nodes=8, max_edges=20).filter(lambda g: g.num_nodes), seed=seeds())
def test_nodes_arcs_and_degrees(graph, seed):
    dataset = drawn(graph, seed)
    found, n = summarize_nodes(dataset), dataset.num_nodes
    rows = [neighbours(dataset, node) for node in range(n)]
    split = dataset.split.tolist()
    assert found["nodes"] == n
    assert found["nodes_per_split"] == {name: split.count(s) for s, name in enumerate(SPLITS)}
    assert found["unflagged"] == split.count(-1)
    assert found["arcs"] == sum(map(len, rows))
    assert found["self_loops"] == sum(node in row for node, row in enumerate(rows))
    assert found["isolated"] == sum(not set(row) - {node} for node, row in enumerate(rows))
    degrees = sorted(map(len, rows))
    assert found["degree"]["min"] == degrees[0]
    assert found["degree"]["max"] == degrees[-1]
    assert found["degree"]["median"] == (degrees[(n - 1) // 2] + degrees[n // 2]) / 2
    assert found["degree"]["mean"] == pytest.approx(sum(degrees) / n)
    for number, name in enumerate(SPLITS):
        seen = [node for node in range(n) if split[node] <= number]
        arcs = sum(split[j] <= number for i in seen for j in rows[i])
        assert found["arcs_seen"][name] == arcs
        assert found["mean_degree"][name] == pytest.approx(arcs / len(seen))


@given(graph=graphs(max_nodes=8, max_edges=20).filter(lambda g: g.num_nodes), seed=seeds())
def test_features_and_several_labels(graph, seed):
    dataset = drawn(graph, seed)
    found = summarize_nodes(dataset)
    columns, rows = dataset.features.T.tolist(), dataset.features.tolist()
    constant = sum(len(set(column)) == 1 for column in columns)
    zero_rows = sum(not any(row) for row in rows)
    assert found["features"] == {"count": 2, "constant": constant, "zero_rows": zero_rows}
    known = [row for row, s in zip(dataset.labels.tolist(), dataset.split, strict=True) if s >= 0]
    counts = [sum(row[label] for row in known) for label in range(3)]
    labels = found["labels"]
    assert labels["commonest"] == [counts.index(max(counts)), max(counts)]
    assert labels["rarest"] == [counts.index(min(counts)), min(counts)]
    assert labels["per_node"] == pytest.approx(sum(counts) / len(known))
    assert labels["nodes_without"] == sum(not any(row) for row in known)


def test_one_class_a_node():
    dataset = small_reddit()
    counts = Counter(dataset.labels.tolist())
    sizes = [counts[c] for c in range(dataset.num_classes)]
    found = summarize_nodes(dataset)["labels"]
    assert found == {
        "count": dataset.num_classes,
        "rarest": [sizes.index(min(sizes)), min(sizes)],
        "commonest": [sizes.index(max(sizes)), max(sizes)],
    }


def test_graphs_are_counted_where_the_files_name_them(tmp_path):
    dataset = small_dataset()
    assert summarize_nodes(dataset)["graphs"] == len(set(dataset.graph_ids.tolist()))
    assert summarize_nodes(load_ppi(write_npz(tmp_path)))["graphs"] is None


def test_a_part_of_the_features_at_a_time_gives_the_same_counts(monkeypatch):
    whole = summarize_nodes(small_dataset())
    monkeypatch.setattr("gaancore.data.summary.VALUES_AT_A_TIME", 1)
    assert summarize_nodes(small_dataset()) == whole


def test_speeds_and_roads():
    dataset = small_roads()
    found = summarize_traffic(dataset)
    readings = [
        (float(dataset.speeds[t, n]), n)
        for t in range(dataset.num_steps)
        for n in range(dataset.num_sensors)
        if dataset.valid[t, n]
    ]
    speeds = [speed for speed, _ in readings]
    all_of_them = dataset.num_steps * dataset.num_sensors
    assert (found["sensors"], found["steps"], found["step_seconds"]) == (6, 576, 300)
    assert found["missing"] == pytest.approx(1 - len(readings) / all_of_them)
    there = Counter(n for _, n in readings)
    worst = min(range(6), key=there.__getitem__)
    share = 1 - there[worst] / dataset.num_steps
    assert found["most_missing"] == [dataset.sensor_ids[worst], pytest.approx(share)]
    assert found["speeds"]["min"] == min(speeds)
    assert found["speeds"]["max"] == max(speeds)
    assert found["speeds"]["mean"] == pytest.approx(sum(speeds) / len(speeds))
    assert found["isolated"] == sum(
        not set(dataset.graph.indices[a:b].tolist()) - {i}
        for i, (a, b) in enumerate(
            zip(dataset.graph.indptr[:-1], dataset.graph.indptr[1:], strict=True)
        )
    )
    assert (found["first"], found["last"]) == (str(dataset.times[0]), str(dataset.times[-1]))
