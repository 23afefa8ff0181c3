"""`gaancore download`: what it says. What it does is held by tests/data/test_download.py."""

import pytest

from gaancore.data.download import SOURCES, Source


@pytest.fixture
def no_server(monkeypatch):
    """Addresses at which nobody answers."""
    for task, source in SOURCES.items():
        monkeypatch.setitem(SOURCES, task, Source("http://127.0.0.1:9/x", "0" * 64, source.files))


@pytest.fixture
def ppi_is_there(no_server, gaancore, tmp_path):
    folder = tmp_path / "no data" / "ppi"  # where the command's data folder is
    folder.mkdir(parents=True)
    for name in SOURCES["ppi"].files:
        (folder / name).touch()
    return folder


def test_without_a_connection_one_line_says_so_and_nothing_is_left(no_server, refused, tmp_path):
    line = refused("download", "reddit", "--to", "here")
    assert line.startswith("http://127.0.0.1:9/x: cannot be fetched (no connection); try again")
    assert list(tmp_path.iterdir()) == []


def test_where_the_data_are_and_how_they_are_used_is_said(ppi_is_there, gaancore, tmp_path):
    outcome = gaancore("download", "ppi")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        f"{ppi_is_there}: the files of http://127.0.0.1:9/x are there; --task ppi finds it\n"
    )
    (tmp_path / "copy").mkdir()
    for path in ppi_is_there.iterdir():
        (tmp_path / "copy" / path.name).touch()
    assert gaancore("download", "ppi", "--to", "copy").out.endswith("; use it with --data copy\n")


def test_data_that_cannot_be_downloaded_are_not_offered(gaancore):
    outcome = gaancore("download", "metr-la")
    assert outcome.code == 2
    assert "'metr-la' is not one of 'ppi', 'reddit'" in outcome.err
