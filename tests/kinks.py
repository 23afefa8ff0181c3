"""How near a computation comes to a kink, where finite differences and gradients must disagree.

Leaky ReLU bends at 0, a maximum where two sources are equal. A test of a whole layer draws inputs,
asks for the margin, and draws again (hypothesis' `assume`) if it is not well above the step.
"""

from collections.abc import Callable
from itertools import pairwise
from unittest.mock import patch

import numpy as np

from gaancore.kernels import cpu

SAFE = 1e-3  # a hundred steps of gradcheck: what a step moves grows on its way through a layer


def kink_margin(evaluate: Callable[[], object], ties_move_together: bool = False) -> float:
    """The smallest |pre-activation| and the smallest lead of a maximum while `evaluate` runs.

    ties_move_together : sources that are exactly equal stay so whatever is moved, as those of a
    state of zeros do; their lead of 0 is no kink then.
    """
    margins = [np.inf]

    def linear_forward(parts, weight, bias, slope):
        if slope != 1:
            before = np.concatenate(parts, axis=1) @ weight + bias
            margins.append(np.abs(before).min(initial=np.inf))
        return original_linear(parts, weight, bias, slope)

    def segment_max_forward(values, indptr, indices):
        for start, stop in pairwise(indptr):
            met = np.sort(values[np.unique(indices[start:stop])], axis=0)
            if len(met) > 1:
                leads = met[-1] - met[-2]
                leads = leads[leads > 0] if ties_move_together else leads
                margins.append(leads.min(initial=np.inf))
        return original_max(values, indptr, indices)

    def gru_update_forward(x_u, x_r, x_c, h_u, h_r, h_c, h, slope):
        out, (u, r, c) = original_gru(x_u, x_r, x_c, h_u, h_r, h_c, h, slope)
        margins.append(np.abs(x_c + r * h_c).min(initial=np.inf))
        return out, (u, r, c)

    def edge_sum_forward(weights, values, edges, projection, slope, indptr, indices):
        before = values[indices] + np.tensordot(edges, projection, 1)
        margins.append(np.abs(before).min(initial=np.inf))
        return original_edge_sum(weights, values, edges, projection, slope, indptr, indices)

    def edge_attention_forward(queries, keys, values, edges, to_keys, to_values, *links_and_static):
        before = values[links_and_static[1]] + np.tensordot(edges, to_values, 1)
        margins.append(np.abs(before).min(initial=np.inf))
        given = (queries, keys, values, edges, to_keys, to_values)
        return original_edge_attention(*given, *links_and_static)

    def edge_max_forward(values, edges, projection, indptr, indices):
        brought = values[indices] + edges @ projection
        for start, stop in pairwise(indptr):
            if stop - start > 1:
                low, high = np.sort(brought[start:stop], axis=0)[-2:]
                margins.append((high - low).min(initial=np.inf))
            margins.append(np.abs(brought[start:stop]).min(initial=np.inf))  # h may come after it
        return original_edge_max(values, edges, projection, indptr, indices)

    original_edge_sum, original_edge_max = cpu.edge_sum_forward, cpu.edge_max_forward
    original_edge_attention = cpu.edge_attention_forward
    original_linear, original_max = cpu.linear_forward, cpu.segment_max_forward
    original_gru = cpu.gru_update_forward
    with (
        patch.object(cpu, "linear_forward", linear_forward),
        patch.object(cpu, "segment_max_forward", segment_max_forward),
        patch.object(cpu, "gru_update_forward", gru_update_forward),
        patch.object(cpu, "edge_sum_forward", edge_sum_forward),
        patch.object(cpu, "edge_attention_forward", edge_attention_forward),
        patch.object(cpu, "edge_max_forward", edge_max_forward),
    ):
        evaluate()
    return float(min(margins))
