"""The examples of the contract, run on every backend."""

import doctest
import io

from gaancore import kernels as contract
from gaancore.kernels import cpu

(EXAMPLES,) = (
    found
    for found in doctest.DocTestFinder(recurse=False).find(contract, "the contract")
    if found.examples
)


def test_every_backend_gives_what_the_examples_say(kernels):
    here = {**vars(contract), "kernels_for": lambda array: kernels}
    examples = doctest.DocTest(EXAMPLES.examples, here, EXAMPLES.name, None, None, None)
    complaints = io.StringIO()
    outcome = doctest.DocTestRunner().run(examples, out=complaints.write)
    assert outcome.failed == 0, complaints.getvalue()


def test_every_kernel_has_an_example():
    sources = " ".join(example.source for example in EXAMPLES.examples)
    assert [name for name in cpu.__all__ if f"kernels.{name}(" not in sources] == []
