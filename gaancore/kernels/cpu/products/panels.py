"""A matrix in panels: its columns in groups that fill a cache line, each group a run of rows.

A tile of a product reads the rows of one panel one after the other, from a few pages of memory,
where the rows of the matrix itself lie far apart.
"""

from gaancore.kernels.cpu.vector.tile_moves import load_tile, store_tile, tile
from gaancore.system.jit import jit


@jit(inline="always")
def panels_for(G, line):
    """How many panels hold G columns."""
    return (G + line - 1) // line


@jit
def fill_panels(matrix, panels, first):
    """From row `first` on, panels[first + p * K + k] = matrix[k, p * line : (p + 1) * line] of a
    (K, G) matrix, 0 behind column G.
    """
    (K, G), line = matrix.shape, panels.shape[1]
    for p in range(G // line):
        for k in range(K):
            row = tile(panels, 1)
            load_tile(row, matrix, k, p * line, 1)
            store_tile(row, panels, first + p * K + k, 0, 1)
    p, j = G // line, G // line * line
    for k in range(K if j < G else 0):
        panel = panels[first + p * K + k]
        panel[:] = 0
        for c in range(G - j):
            panel[c] = matrix[k, j + c]


@jit
def fill_transposed(matrix, panels, first):
    """The same of the transpose of a (G, K) matrix."""
    (G, K), line = matrix.shape, panels.shape[1]
    for p in range(panels_for(G, line)):
        for c in range(min(line, G - p * line)):
            row = matrix[p * line + c]
            for k in range(K):
                panels[first + p * K + k, c] = row[k]
        for c in range(G - p * line, line):
            for k in range(K):
                panels[first + p * K + k, c] = 0


@jit
def take_apart(sums, inner, add, out):
    """The panels sums[0], sums[1], ... of a (inner, G) matrix, added up in order, as that matrix;
    with `add`, added to what is there.
    """
    G, line = out.shape[1], sums.shape[2]
    for first in range(0, G, line):
        count, base = min(line, G - first), first // line * inner
        for k in range(inner):
            total, row = sums[0, base + k], out[k, first : first + count]
            for n in range(1, sums.shape[0]):
                for c in range(count):
                    total[c] += sums[n, base + k, c]
            for c in range(count):
                row[c] = row[c] + total[c] if add else total[c]
