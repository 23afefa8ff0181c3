"""Every picture is shown, and the page that shows it says by which command it is made."""

import re

import pytest
from pages import CHECKOUT, DOCS, NAMES, TEXTS

PICTURES = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for path in (DOCS / "pictures").rglob("*")
    if path.suffix in (".svg", ".png")
)
SHOWN = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^|`)(?:gaancore|python) \w", re.MULTILINE)


def sections_with(picture: str) -> list[str]:
    """The sections, from one heading of level 2 to the next, of the pages that show a picture."""
    found = []
    for name in NAMES:
        for section in re.split(r"^## ", TEXTS[name], flags=re.MULTILINE):
            for words, target in SHOWN.findall(section):
                shown = (CHECKOUT / name).parent.joinpath(target).resolve()
                if shown == CHECKOUT / picture:
                    assert words, f"{name}: {target} has no words for those who cannot see it"
                    found.append(section)
    return found


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_shown_beside_the_command_that_makes_it(picture):
    sections = sections_with(picture)
    assert sections, f"{picture}: no page shows it"
    assert any(COMMAND.search(section) for section in sections), f"{picture}: by which command?"


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_small(picture):
    assert (CHECKOUT / picture).stat().st_size < 150_000


def test_every_picture_that_is_shown_is_there():
    assert PICTURES
    for name in NAMES:
        for _, target in SHOWN.findall(TEXTS[name]):
            assert (CHECKOUT / name).parent.joinpath(target).is_file(), f"{name}: {target}"
