"""Paths as people write them."""

from pathlib import Path

import pytest

from gaancore.errors import SettingsError
from gaancore.system.paths import user_path


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/anna")
    assert user_path("~/x") == Path("/home/anna/x")
    assert user_path("a/~b") == Path("a/~b")


def test_a_user_who_is_not_there_is_refused_in_one_line():
    with pytest.raises(SettingsError, match=r"^~no\.such\.user/x: [^\n]*; write the path in full$"):
        user_path("~no.such.user/x")
