"""The README is one page, and its program runs."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def test_it_is_one_page_with_the_two_lines_of_the_gate():
    assert len(README.splitlines()) <= 150
    assert len(re.findall(r"^python3 -m venv ", README, re.MULTILINE)) == 2


def test_its_program_runs(any_threads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(program, "README.md", "exec"), {"__name__": "__main__"})
