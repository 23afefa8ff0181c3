"""Errors for people: one line, whatever a file or a user gave."""

import pickle

import pytest

from gaancore import errors

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("kind", [k for k in KINDS if issubclass(k, errors.UserError)])
def test_an_error_is_one_line_that_can_be_printed(kind):
    error = kind("nodes.csv: the column a\nb\x0bc\x1b[2J\u2028d\udcff of größe")
    assert str(error) == r"nodes.csv: the column a\nb\x0bc\x1b[2J\u2028d\udcff of größe"
    assert len(str(kind("9" * 5000))) < 2000
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
