"""Links between pages lead somewhere, on GitHub and on the site alike."""

import re
import unicodedata

import pytest
from pages import CHECKOUT, DOCS, HEADING, NAMES, TEXTS, prose

LINK = re.compile(r"\]\(([^)\s]+)\)")
SITE = [name for name in NAMES if name.startswith("docs/")]


def links_of(name: str) -> list[str]:
    """Targets in the checkout."""
    return [target for target in LINK.findall(prose(name)) if "://" not in target]


def words_of(heading: str) -> str:
    return re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).strip()


def on_github(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", words_of(heading).lower()).replace(" ", "-")


def on_site(heading: str) -> str:
    """The anchor that Python-Markdown gives a heading."""
    text = unicodedata.normalize("NFKD", words_of(heading)).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def test_anchors_are_made_as_the_two_renderers_make_them():
    assert on_github("The `ops`: sum & mean") == "the-ops-sum--mean"
    assert on_site("The `ops`: sum & mean") == "the-ops-sum-mean"
    assert on_github("5. Ask the [network](x.md)") == on_site("5. Ask the network")


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(name):
    for target in links_of(name):
        path, _, anchor = target.partition("#")
        file = (CHECKOUT / name).parent.joinpath(path).resolve() if path else CHECKOUT / name
        assert file.is_file(), f"{name}: {target}: there is no such file"
        if anchor:
            headings = HEADING.findall(prose(file.relative_to(CHECKOUT).as_posix()))
            assert anchor in map(on_github, headings), f"{name}: {target}: no such heading"
            assert anchor in map(on_site, headings), f"{name}: {target}: no such heading"


@pytest.mark.parametrize("name", SITE)
def test_pages_of_the_site_link_to_nothing_outside_of_it(name):
    for target in links_of(name):
        path = target.partition("#")[0]
        assert (CHECKOUT / name).parent.joinpath(path).resolve().is_relative_to(DOCS), target


def test_the_changelog_which_the_site_includes_has_no_relative_links():
    assert "CHANGELOG.md" in TEXTS["docs/changelog.md"]
    assert links_of("CHANGELOG.md") == []
