"""Runs on a store in parts: the weights and scores of a run on the store as a whole, bit for bit,
on any number of ranks. The ranks are threads here; tests/cli/test_parts.py has processes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ranks import on_ranks, results
from small_parts import with_edge_features, write_both
from small_reddit import small_classes, small_reddit_settings
from small_run import contents, small_arrays, small_settings

from gaancore.data import open_store
from gaancore.data.parts.dataset import parted_at
from gaancore.parallel import ALONE, Team
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.run_folder import RunFolder

PARTS = 4


def run_on(data: Any, folder: Path, team: Team = ALONE, **changes: Any) -> ClassifierRun:
    make = small_settings if data.multi_label else small_reddit_settings
    settings = make(**({"shares": 3, "epochs": 2, "dropout": 0.3} | changes))
    return ClassifierRun(settings, data, RunFolder(folder), team=team)


def trained(run: ClassifierRun) -> None:
    run.team.from_first(run.start)
    run.train()


def outcome(folder: Path) -> dict[str, Any]:
    """What a run leaves, without what it says of its data, or of guesses, which parts have not."""
    found = contents(folder)
    for name in ("data", "baselines", "baselines_notes", "versions"):
        found["record.json"].pop(name, None)
    found.pop("settings.json")
    return found


EDGES = "edges with features"
WAYS: dict[str, tuple[bool | str, dict[str, Any]]] = {
    "whole neighbourhoods": (True, {"normalize": "standard"}),
    "sampled": (False, {"fanouts": (4, 3), "eval_fanouts": (3, 2), "edge_dropout": 0.2}),
    "sampled, scored on whole neighbourhoods": (False, {"eval_fanouts": (-1,)}),
    "edges with features": (EDGES, {"edge_features": "auto", "eval_fanouts": (-1,)}),
}
MORE_WAYS: dict[str, tuple[bool | str, dict[str, Any]]] = {
    "edges with features, sampled": (
        EDGES,
        {"edge_features": "auto", "eval_fanouts": (3, 2), "edge_dropout": 0.2, "model": "max-pool"},
    ),
    "features of edges that are not read": (EDGES, {"edge_features": "none"}),
    "everything in a step": (True, {"batch_size": 0}),
    "features alone": (True, {"model": "fnn", "normalize": "row"}),
    "one share": (False, {"shares": 1}),
    "more shares than seeds": (True, {"shares": 30}),
    "weights of classes": (True, {"class_weight": "balanced", "label_smoothing": 0.1}),
    "transductive": (False, {"transductive": True}),
    "another network": (False, {"model": "max-pool"}),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The folders of a graph whose nodes have several labels, of one whose nodes have a class, some
    of them in no split, and of one whose edges have features.
    """
    folders = {kind: tmp_path_factory.mktemp("stores") for kind in (True, False, EDGES)}
    write_both(folders[True], small_arrays(), PARTS)
    split = small_classes()["split"].copy()
    split[::9] = -1
    write_both(folders[False], small_classes(split=split), PARTS, unflagged="context")
    write_both(folders[EDGES], with_edge_features(small_classes()), PARTS)
    return folders


def same_on_ranks(stores: Path, tmp_path: Path, sizes: tuple[int, ...], **changes: Any) -> None:
    trained(run_on(open_store(stores / "whole"), tmp_path / "whole", **changes))
    expected = outcome(tmp_path / "whole")
    for size in sizes:
        folder = tmp_path / str(size)

        def work(team: Team, folder: Path = folder) -> None:
            data = replace(parted_at(stores / "parts"), cache=0.1)
            trained(run_on(data, folder, team, **changes))

        results(on_ranks(size, work))
        assert outcome(folder) == expected, f"{size} ranks"


@pytest.mark.parametrize(("several", "changes"), WAYS.values(), ids=WAYS)
def test_a_run_on_parts_has_the_bits_of_one_on_the_whole(stores, tmp_path, several, changes):
    same_on_ranks(stores[several], tmp_path, (1, 3), **changes)


@pytest.mark.slow
@pytest.mark.parametrize(("several", "changes"), (WAYS | MORE_WAYS).values(), ids=WAYS | MORE_WAYS)
def test_a_run_on_parts_has_the_same_bits_on_any_number_of_ranks(
    stores, tmp_path, several, changes
):
    same_on_ranks(stores[several], tmp_path, (1, 2, 3, 4), **changes)
