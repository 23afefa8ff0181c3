"""The README's program does what the README says of it."""

import re
from pathlib import Path

import pytest
from scipy.stats import norm

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def test_its_program_runs_and_is_about_as_good_as_it_says(capsys: pytest.CaptureFixture[str]):
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(program, "README.md", "exec"), {"__name__": "__main__"})
    accuracy = float(capsys.readouterr().out.removeprefix("test accuracy "))
    printed = re.search(r"It prints (0\.\d+)", README)
    guess = re.search(r"is right in (\d+) % of cases", README)
    assert printed is not None
    assert abs(accuracy - float(printed[1])) <= 0.01
    # Four numbers of each group, 1 apart, with deviation 2: the groups are 1 deviation apart
    assert guess is not None
    assert int(guess[1]) == round(100 * norm.cdf(1 / 2))
