"""Numbers that are learned for each node by itself."""

import numpy as np

from gaancore.nn.module import Module, Parameter
from gaancore.ops import sparse_matmul
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Tensor

# Chosen between 0.03, 0.1, 0.3 and 1 on validation nodes of Cora-ML, two seeds with a split each: 0.1
# and 0.3 are alike (0.849 on average and 0.85), so it is not delicate. See docs/measured.md.
DEVIATION = 0.1


class Embedding(Module):
    """A row E_i of `dim` numbers for each of `count` nodes; they start with deviation 0.1.

    Called with one-hot rows it gives the rows of E that they name, and so takes the place of a
    Linear layer of features. Its gradient is the sum of what arrives at each row. There is nothing
    in it for a node that was not there in training (Hamilton et al., "Inductive representation
    learning on large graphs", NIPS 2017, call such a method transductive).

    >>> layer = Embedding(3, 2, np.random.default_rng(0))
    >>> which = CSRMatrix([0, 1, 2], [2, 0], np.ones(2, np.float32), num_columns=3)
    >>> bool((layer(which).data == layer.weight.data[[2, 0]]).all())
    True
    """

    def __init__(self, count: int, dim: int, rng: np.random.Generator) -> None:
        self.weight: Tensor = Parameter(DEVIATION * rng.standard_normal((count, dim), np.float32))

    def __call__(self, x: CSRMatrix) -> Tensor:
        """One-hot rows (n, count) -> (n, dim)."""
        return sparse_matmul(x.values, self.weight, matrix=x)
