"""The pictures of the reading course are what docs/pictures/draw.py draws."""

import importlib.util
import re

import matplotlib
import pytest
from pages import DOCS

FOLDER = DOCS / "pictures"
COMMITTED = sorted(FOLDER.glob("*.svg"))


@pytest.fixture(scope="module")
def draw():
    spec = importlib.util.spec_from_file_location("draw", FOLDER / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_drawing_twice_gives_the_same_bytes(draw, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for one, other in zip(draw.draw(tmp_path / "a"), draw.draw(tmp_path / "b"), strict=True):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()


def test_the_pictures_that_are_kept_are_the_ones_that_are_drawn(draw, tmp_path):
    drawn = draw.draw(tmp_path)
    assert sorted(path.name for path in drawn) == [path.name for path in COMMITTED]
    for path in drawn:
        kept = (FOLDER / path.name).read_bytes()
        (version,) = re.findall(rb"Matplotlib v([\w.]+)", kept)
        if version.decode() != matplotlib.__version__:
            pytest.skip(f"drawn with Matplotlib {version.decode()}, which places text by itself")
        assert kept == path.read_bytes(), f"{path.name}: run python docs/pictures/draw.py"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_a_picture_has_no_date(path):
    assert b"<dc:date>" not in path.read_bytes()
