"""The files that name a version name the same one."""

import re

from pages import CHECKOUT, TEXTS

import gaancore


def test_changelog_and_citation_are_of_this_version():
    releases = re.findall(r"^## (\d+\.\d+\.\d+)", TEXTS["CHANGELOG.md"], re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (CHECKOUT / "CITATION.cff").read_text("utf-8"), re.M)
    assert releases[0] == gaancore.__version__
    assert cited is not None
    assert cited[1] == gaancore.__version__
