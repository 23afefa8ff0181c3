"""How a gradient that all edges add to is summed: in parts of edges, and blocks of registers."""

from typing import NamedTuple

import numpy as np

PARTS = 64  # of the edges, at most: each leaves a sum, and these are added in order
EDGES_PER_PART = 1024
RUN = 32  # edges whose gradients are kept in the L1 cache, to meet all features
ROWS, COLUMNS = 5, 16  # of a block of sums that stays in registers, at most


def cut_into_parts(t_indptr: np.ndarray) -> np.ndarray:
    """Bounds of the rows of each part: by the number of edges alone, never by that of threads."""
    E = int(t_indptr[-1])
    parts = min(PARTS, 1 + E // EDGES_PER_PART)
    bounds = np.searchsorted(t_indptr, [E * part // parts for part in range(parts)])
    bounds = np.append(bounds, t_indptr.size - 1)
    bounds[0] = 0
    return bounds


class Cut(NamedTuple):
    """How 1 + B sums of D numbers are cut into blocks: groups of `rows`, strips of `width`."""

    rows: int
    groups: int
    width: int
    strips: int

    @classmethod
    def of(cls, D: int, B: int) -> "Cut":
        rows = min(ROWS, 1 + B)
        widths = [w for w in range(min(D, COLUMNS), 0, -1) if D % w == 0] or [1]
        width = widths[0] if 2 * widths[0] > min(D, COLUMNS) else max(1, D)
        return cls(rows, -(-(1 + B) // rows), width, D // width)
