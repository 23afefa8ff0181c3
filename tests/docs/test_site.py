"""The documentation site builds without a warning and fetches nothing when it is read.

The gate installs the extra `docs` and runs this; elsewhere it is skipped where that is missing.
"""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import CHECKOUT

import gaancore.ops

pytest.importorskip("mkdocs", reason="needs the extra `docs`")
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=[\"']?(?:https?:)?//"
    r"|<link[^>]* rel=[\"']?(?:stylesheet|preload|preconnect)[^>]* href=[\"']?(?:https?:)?//"
    r"|url\([\"']?(?:https?:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=CHECKOUT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # the theme's advertisement
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_nothing_is_fetched_from_elsewhere(site):
    assert FETCHED.search('<script src="https://elsewhere.example/a.js">')
    for page in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = FETCHED.search(page.read_text(encoding="utf-8"))
        assert found is None, f"{page.relative_to(site)}: {found}"


def test_the_reference_has_every_op_with_its_words_and_says_that_it_takes_tensors(site):
    page = (site / "api" / "ops.html").read_text(encoding="utf-8")
    for name in gaancore.ops.__all__:
        assert f'id="gaancore.ops.{name}"' in page
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert "out[i, k] = sum_{e in segment(i)} weights[e, k] * values[src(e), k]" in words
    assert "segment_softmax(scores: Tensor, *, block: Block) -> Tensor" in words
