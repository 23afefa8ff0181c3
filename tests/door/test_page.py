"""docs/from-python.md does what it says, block by block."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "from-python.md"


def test_every_block_of_the_page_runs_and_is_as_good_as_one_would_hope(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("networkx")
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    said = capsys.readouterr().out
    for words in ("test micro-F1", "right on hidden nodes:", "right over three folds:"):
        found = re.search(rf"^{words} (\d\.\d+)$", said, re.MULTILINE)
        assert found is not None
        assert float(found[1]) > 0.8  # a guess is right in a third of cases
    assert "from_networkx: features: no node has an attribute 'age'" in said


def test_the_page_is_short():
    assert PAGE.read_text(encoding="utf-8").count("\n") <= 150
