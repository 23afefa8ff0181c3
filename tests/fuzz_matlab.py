"""MATLAB files of graphs: see fuzzing.py."""

import contextlib
import io
import multiprocessing
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import Facts, Sample, UnclearError, by_bytes
from plain_nodes import load, load_undivided, with_labels
from small_files import CLASSES, FEATURES, write_matlab
from small_public import PEOPLE, write_groups, write_people

from gaancore.data import Reading
from gaancore.data.files.matlab import child, reader
from gaancore.data.nodes.layouts.matlab import PEOPLE as COLUMNS


def _forked(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[bytes]":
    """Stands for `subprocess.run`: the same child, forked, which spares the start of Python."""
    path, *rest = command[3:]
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_main, args=(sender, path, *rest))
    process.start()
    sender.close()
    try:
        output = receiver.recv_bytes()
    except EOFError:
        output = b""
    process.join()
    return subprocess.CompletedProcess(command, process.exitcode or 0, output, b"")


def _main(sender: Any, *arguments: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        child.main(*arguments)
    sender.send_bytes(out.getvalue().encode())


def _loads(load: Callable[..., Facts], **choices: Any) -> Callable[[Path], Facts]:
    def forked(folder: Path) -> Facts:
        reader.subprocess.run = _forked  # type: ignore[assignment]
        return load(folder / "toy.mat", **choices)

    return forked


ENTRIES = [(r, c) for c in range(2) for r in range(6) if FEATURES[r][c]]  # column by column
MATLAB = by_bytes(
    (np.array([FEATURES[r][c] for r, c in ENTRIES]), [(str(r), c) for r, c in ENTRIES]),
    (np.array(CLASSES, np.uint8) + 1, [(str(r), "label") for r in range(6)]),
)
MEMBERS = [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1), (3, 2)]  # (node, label), label by label
GROUPS = by_bytes((np.ones(len(MEMBERS)), [(str(r), f"label:{c}") for r, c in MEMBERS]))
CELLS = PEOPLE.tobytes(order="F")


def people(table: np.ndarray) -> Facts:
    """The gender is the label; each value but 0 of another column is a feature."""
    facts: Facts = {}
    for at, column in enumerate(COLUMNS):
        for row, value in enumerate(table[:, at].tolist()):
            if column == "gender":
                facts[str(row), "label"] = value
                continue
            values = {*table[:, at].tolist()} - {0}
            facts |= {(str(row), f"{column}={name:g}"): value == name for name in values}
    return facts


def _people_touched(whole: bytes, damaged: bytes) -> set[Any]:
    at = whole.index(CELLS)
    if len(whole) != len(damaged) or whole[:at] != damaged[:at]:
        raise UnclearError
    end = at + len(CELLS)
    if whole[end:] != damaged[end:]:
        raise UnclearError
    table = np.frombuffer(damaged[at:end], PEOPLE.dtype).reshape(PEOPLE.shape, order="F")
    before, after = people(PEOPLE), people(table)
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


SAMPLES = {
    "matlab": Sample(
        lambda f: write_matlab(f),
        _loads(load, split_shares=(50, 25, 25)),
        {"toy.mat": MATLAB},
    ),
    "matlab, node2vec": Sample(
        write_groups,
        _loads(load_undivided, reading=Reading(features="ones")),
        {"toy.mat": with_labels(GROUPS)},
    ),
    "matlab, facebook100": Sample(
        write_people,
        _loads(load_undivided, reading=Reading(label="gender")),
        {"toy.mat": _people_touched},
    ),
}
