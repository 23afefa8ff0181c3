"""Files are replaced whole or not at all, and what comes back is what was saved."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.errors import DataError, TrainingError
from gaancore.system.disk import read_json, read_json_lines, write_json, write_whole, writing_whole
from gaancore.training.checkpoint import load_checkpoint, save_checkpoint

GROUPS = {
    "model": {"head.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.zeros(0)},
    "adam": {"moment1.head.weight": np.arange(6.0).reshape(3, 2).T},  # not in C order
}
FACTS = {"step": 7, "loss": 0.1 + 0.2, "tiny": 5e-324, "stopped": False}


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / "last.safetensors"
    save_checkpoint(path, GROUPS, FACTS)
    return path


def expect_saved(loaded) -> None:
    groups, facts = loaded
    assert facts == FACTS
    assert groups.keys() == GROUPS.keys()
    for group, arrays in GROUPS.items():
        assert groups[group].keys() == arrays.keys()
        for name, array in arrays.items():
            assert_array_equal(groups[group][name], array)
            assert groups[group][name].dtype == array.dtype


def test_what_is_loaded_is_what_was_saved_bit_for_bit(saved):
    expect_saved(load_checkpoint(saved))


def test_a_file_that_was_cut_off_anywhere_is_refused_in_one_line(saved):
    content = saved.read_bytes()
    for length in (0, 1, 7, 8, 100, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"last.safetensors: damaged") as refusal:
            load_checkpoint(saved)
        assert "\n" not in str(refusal.value)


def test_a_wrong_byte_is_noticed_wherever_it_changes_what_is_loaded(saved):
    content, refused = bytearray(saved.read_bytes()), 0
    for at in range(8, len(content)):
        content[at] ^= 1
        saved.write_bytes(content)
        content[at] ^= 1
        try:
            expect_saved(load_checkpoint(saved))
        except DataError:
            refused += 1
    assert refused > 0.9 * len(content)  # all but spaces of the header and the like


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04}q\x00.", b"\xff" * 64])
def test_what_is_no_checkpoint_is_refused_by_name(tmp_path, content):
    path = tmp_path / "best.safetensors"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"best.safetensors: damaged or not written by gaancore"):
        load_checkpoint(path)


def test_a_file_that_is_missing_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match=r"best.safetensors: no such file; is .* the folder of a"):
        load_checkpoint(tmp_path / "best.safetensors")
    with pytest.raises(DataError, match=r"settings.json: No such file"):
        read_json(tmp_path / "settings.json")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_array_that_is_not_finite_never_reaches_the_disk(saved, bad):
    before = saved.read_bytes()
    broken = {"model": {"head.weight": np.array([1.0, bad], np.float32)}}
    with pytest.raises(TrainingError, match=r"model.head.weight is not finite; the file keeps"):
        save_checkpoint(saved, broken, FACTS)
    assert saved.read_bytes() == before


class FullDisk:
    """A file that takes `room` bytes and no more."""

    def __init__(self, file, room: int) -> None:
        self.file, self.room = file, room

    def write(self, content: bytes) -> int:
        self.file.write(content[: self.room])
        raise OSError(errno.ENOSPC, "No space left on device")

    def fileno(self) -> int:
        return self.file.fileno()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()


def refuse(code: int):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return fail


FAILURES = {
    "no room for a byte": ("pathlib.Path.open", refuse(errno.ENOSPC), "No space left"),
    "a file system that became read-only": ("pathlib.Path.open", refuse(errno.EROFS), "Read-only"),
    "no room at the flush": ("os.fsync", refuse(errno.ENOSPC), "No space left"),
    "a failing disk": ("os.fsync", refuse(errno.EIO), "Input/output error"),
    "a rename that fails": ("pathlib.Path.replace", refuse(errno.EACCES), "Permission denied"),
}


@pytest.mark.parametrize(("target", "failure", "reason"), FAILURES.values(), ids=FAILURES)
def test_a_save_that_fails_leaves_the_old_file_and_nothing_beside_it(
    saved, monkeypatch, target, failure, reason
):
    before = saved.read_bytes()
    monkeypatch.setattr(target, failure)
    with pytest.raises(DataError, match=f"last.safetensors: cannot be written .{reason}"):
        save_checkpoint(saved, GROUPS, FACTS | {"step": 8})
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_disk_that_is_full_in_the_middle_leaves_nothing_half_written(saved, monkeypatch):
    before, original = saved.read_bytes(), Path.open
    monkeypatch.setattr(Path, "open", lambda *args: FullDisk(original(*args), 10))
    with pytest.raises(DataError, match=r"No space left on device.; what was there before"):
        write_whole(saved, b"x" * 100)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_an_interrupt_in_the_middle_of_a_save_leaves_the_old_file(saved, monkeypatch):
    def interrupt(file: int) -> None:
        raise KeyboardInterrupt

    before = saved.read_bytes()
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(saved, b"x")
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_whose_writer_gives_up_in_the_middle_is_not_there(saved):
    def half(target: Path) -> None:
        with writing_whole(target) as file:
            file.write(b"node_id")
            raise ZeroDivisionError

    before = saved.read_bytes()
    for target in (saved, saved.with_name("new.csv")):
        with pytest.raises(ZeroDivisionError):
            half(target)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_json_is_written_for_people_and_refuses_numbers_that_json_lacks(tmp_path):
    write_json(tmp_path / "a.json", {"f1": 0.5})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "f1": 0.5\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"f1": float("nan")})
    assert read_json(tmp_path / "a.json") == {"f1": 0.5}


def test_a_last_line_that_was_cut_off_is_left_out_and_any_other_damage_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n{"ste')
    assert read_json_lines(path) == [{"step": 1}, {"step": 2}]
    for damage in (b'{"step": 1}\n{"st\n{"step": 3}\n', b"\xff\xfe\n", b"5\n"):
        path.write_bytes(damage)
        with pytest.raises(DataError, match=r"log.jsonl: line \d: damaged"):
            read_json_lines(path)


def test_what_a_killed_writer_left_beside_a_file_goes_with_the_next_write(tmp_path):
    target = tmp_path / "gates.csv"
    left, young, other, held = (
        tmp_path / f"{name}.part"
        for name in ("gates.csv.123", "gates.csv.124", "gates.csv.old", "gates.csv.125")
    )
    for part in (left, young, other, held):
        part.write_bytes(b"half")
    for part in (left, other, held):
        os.utime(part, (0, 0))
    with held.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(target, b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([target, young, other, held])


def test_while_a_file_is_written_nobody_takes_it_for_left_over(tmp_path):
    target = tmp_path / "gates.csv"
    with writing_whole(target) as file:
        file.write(b"slow")
        (part,) = tmp_path.iterdir()
        os.utime(part, (0, 0))
        other = "import sys, pathlib, gaancore.system.disk as d\n"
        other += "d.write_whole(pathlib.Path(sys.argv[1]), b'quick')"
        folder = Path(__file__).parents[2]
        subprocess.run([sys.executable, "-c", other, target], check=True, cwd=folder)
        assert target.read_bytes() == b"quick"
    assert target.read_bytes() == b"slow"
    assert list(tmp_path.iterdir()) == [target]
