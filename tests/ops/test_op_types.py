"""What an editor and `help` show of an op: Tensors in, Tensors out, its keywords by name."""

from inspect import Parameter, signature
from pathlib import Path

import pytest

from gaancore import ops
from gaancore.graph import Block
from gaancore.tensor import Tensor

EVERY_OP = pytest.mark.parametrize("op", [getattr(ops, name) for name in ops.__all__])
LISTS = {ops.split_rows, ops.split_columns, ops.linear_each}
PROGRAM = """
from gaancore.graph import Block
from gaancore.ops import segment_softmax, split_rows
from gaancore.tensor import Tensor

def program(scores: Tensor, block: Block) -> None:
    reveal_type(segment_softmax(scores, block=block))
    reveal_type(split_rows(scores, count=2))
    reveal_type(2.0 * scores - -scores @ scores)
    segment_softmax(scores, blocks=block)
    split_rows(scores, count="two")
"""


@EVERY_OP
def test_arrays_are_tensors_to_the_caller(op):
    seen = signature(op)
    for parameter in seen.parameters.values():
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            assert parameter.annotation is Tensor
    assert seen.return_annotation == (list[Tensor] if op in LISTS else Tensor)
    assert op.__annotations__["return"] == seen.return_annotation
    assert "needed" not in seen.parameters


def test_keywords_keep_their_names_types_and_defaults():
    seen = signature(ops.segment_attention).parameters
    assert list(seen) == ["queries", "keys", "values", "block", "scale", "dropout", "seed"]
    assert seen["block"].annotation is Block
    assert seen["scale"].default == 1.0


def test_a_type_checker_sees_tensors_and_wrong_keywords(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(Path(__file__).parents[2])
    options = ["--config-file=", "--ignore-missing-imports", f"--cache-dir={tmp_path}"]
    found, errors, _ = api.run([*options, str(tmp_path / "program.py")])
    assert not errors
    revealed = [line.partition("Revealed type is ")[2] for line in found.splitlines()]
    one, several = '"gaancore.tensor.Tensor"', '"list[gaancore.tensor.Tensor]"'
    assert [text for text in revealed if text] == [one, several, one]
    assert 'Unexpected keyword argument "blocks"' in found
    assert 'Argument "count" to "split_rows" has incompatible type "str"' in found
