"""Bugs put into the texts of cuda/, to see that something reports them."""

import pytest

from gaancore.kernels.cuda import launcher


def damage_text(monkeypatch: pytest.MonkeyPatch, file: str, right: str, wrong: str) -> None:
    """From here on `right` in cuda/`file`.cu, or in what is put before it, reads `wrong`.

    No file: all texts stay as they are.
    """
    source = launcher.source

    def damaged(name: str, *args) -> str:
        text = source(name, *args)
        if name != file:
            return text
        assert text.count(right) == 1, "the text has changed: damage it elsewhere"
        return text.replace(right, wrong)

    monkeypatch.setattr(launcher, "source", damaged)
