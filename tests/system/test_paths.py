"""Paths as people write them, and names of files made from ids."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaancore.errors import SettingsError
from gaancore.system.paths import file_names, user_path


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/anna")
    assert user_path("~/x") == Path("/home/anna/x")
    assert user_path("a/~b") == Path("a/~b")


def test_a_user_who_is_not_there_is_refused_in_one_line():
    with pytest.raises(SettingsError, match=r"^~no\.such\.user/x: [^\n]*; write the path in full$"):
        user_path("~no.such.user/x")


@given(st.lists(st.text(max_size=200), max_size=12))
def test_names_from_ids_are_distinct_even_without_capitals_and_stay_in_their_folder(ids):
    names = file_names(ids)
    assert list(names) == list(dict.fromkeys(ids))
    assert len({name.casefold() for name in names.values()}) == len(names)
    folder = Path("/runs/plots")
    for name in names.values():
        assert os.path.normpath(folder / name) == f"{folder}/{name}"
        assert 0 < len(name) <= 100
        assert name.isascii()


@pytest.mark.parametrize(
    "name", ["x/../../../victim", "..", ".", "", "/etc/passwd", "a\0b", "a\nb", "~", "C:\\x", "ü"]
)
def test_an_id_that_is_no_file_name_gets_one_that_is(name):
    (made,) = file_names([name]).values()
    assert re.fullmatch(r"[A-Za-z0-9_.-]*-[0-9a-f]{10}", made)
    assert not made.startswith(".")


def test_ordinary_ids_name_their_files():
    ordinary = ["717446", "717.5", "north_2-b"]
    assert list(file_names(ordinary).values()) == ordinary


def test_an_id_that_looks_like_the_name_of_another_gets_a_name_of_its_own():
    (taken,) = file_names(["a/b"]).values()
    first, second = file_names(["a/b", taken]).values()
    assert first == taken != second


def test_ids_that_differ_in_capitals_alone_have_names_that_differ_without_them():
    first, second = file_names(["A1", "a1"]).values()
    assert first.casefold() != second.casefold()
