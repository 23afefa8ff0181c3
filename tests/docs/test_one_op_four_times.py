"""docs/one-op-four-times.md: its code is the files' code, and the four versions agree."""

import re
from doctest import DocTestParser, DocTestRunner
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages import CHECKOUT, FENCE, TEXTS, fenced
from strategies import blocks, seeds

from gaancore.array import resolve_device, to_device, to_numpy
from gaancore.doctor import plain_loops
from gaancore.kernels import cpu, cuda

PAGE = "docs/one-op-four-times.md"
SECTIONS = {text.splitlines()[0]: text for text in re.split(r"^## ", TEXTS[PAGE], flags=re.M)[1:]}
FAST = ["In Numba", "In CUDA"]


def quotes(section: str) -> list[tuple[str, str]]:
    """(file, code) of each quoted piece: the file is the last one that was named before it."""
    found = []
    for match in FENCE.finditer(SECTIONS[section]):
        if match[1] in ("python", "cuda"):
            before = SECTIONS[section][: match.start()]
            file = re.findall(r"[Ff]rom `([\w/.]+)`", before)[-1]
            found += [(file, piece) for piece in match[2].split("...\n")]
    return found


@pytest.mark.parametrize("section", ["As plain loops", *FAST])
def test_every_line_of_code_is_in_the_file_that_the_page_names(section):
    assert quotes(section)
    for file, piece in quotes(section):
        source = (CHECKOUT / file).read_text(encoding="utf-8")
        assert len(piece.splitlines()) > 2
        assert f"\n{dedent(piece)}" in source, f"{file} no longer has:\n{piece}"


@pytest.mark.parametrize("section", FAST)
def test_every_line_that_is_explained_is_quoted(section):
    code = " ".join(" ".join(piece for _, piece in quotes(section)).split())
    explained = re.findall(r"^\| `([^`]+)` \|", SECTIONS[section], re.MULTILINE)
    assert len(explained) >= 10
    for line in explained:
        assert line.replace("...)", "").strip() in code, line


@pytest.mark.parametrize("move", ["fill", "larger", "subtract", "add", "divide"])
def test_the_moves_that_the_page_speaks_of_stand_beside_their_meaning(move):
    moves = (CHECKOUT / "gaancore/kernels/cpu/vector/moves.py").read_text(encoding="utf-8")
    assert re.search(rf"^    {move}\([\w, ]+\) +\S", moves, re.MULTILINE)


def test_its_examples_say_what_python_says():
    text = "\n".join(fenced(PAGE, "pycon"))
    examples = DocTestParser().get_doctest(text, {}, "page", PAGE, 0)
    assert len(examples.examples) > 10
    assert DocTestRunner().run(examples).failed == 0


@given(block=blocks(), heads=st.integers(1, 5), seed=seeds())
def test_the_equation_and_all_three_programs_agree(emulated, block, heads, seed):
    rng = np.random.default_rng(seed)
    scores = 5 * rng.standard_normal((block.num_edges, heads))
    grad = rng.standard_normal(scores.shape)
    weights, by_scores = np.zeros(scores.shape), np.zeros(scores.shape)  # the page's equations
    for i in range(block.num_dst):
        e = slice(block.indptr[i], block.indptr[i + 1])
        m = scores[e].max(axis=0, initial=-np.inf)
        weights[e] = np.exp(scores[e] - m) / np.exp(scores[e] - m).sum(axis=0)
        by_scores[e] = weights[e] * (grad[e] - (weights[e] * grad[e]).sum(axis=0))
    same = {"rtol": 1e-10, "atol": 1e-12}
    assert_allclose(plain_loops.softmax(scores, block), weights, **same)
    assert_allclose(plain_loops.softmax_gradient(weights, grad, block), by_scores, **same)
    assert_allclose(cpu.segment_softmax_forward(scores, block.indptr), weights, **same)
    numba = cpu.segment_softmax_backward(weights, grad, block.indptr)
    assert_allclose(numba, by_scores, **same)
    with emulated["checked"].installed():
        device = resolve_device("cuda")
        there = [to_device(x, device) for x in (scores, weights, grad, block.indptr)]
        forward = to_numpy(cuda.segment_softmax_forward(there[0], there[3]))
        backward = to_numpy(cuda.segment_softmax_backward(there[1], there[2], there[3]))
    assert_allclose(forward, weights, **same)
    assert_allclose(backward, by_scores, **same)
