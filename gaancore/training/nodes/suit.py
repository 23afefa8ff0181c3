"""Settings that suit a graph of one's own, chosen by its nodes, edges and features.

The paper's settings are made for PPI and Reddit; on a graph of a few thousand nodes, 512 seeds a
step and patience in epochs end a run before it has learned.
"""

from typing import Any

from scipy import sparse

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.matrix import SPARSE
from gaancore.data.parts.dataset import PartedDataset
from gaancore.training.choices import shipped_recipe

# Larger graphs are sampled. Chosen by judgement: no measurement stands behind these two numbers.
MOST_NODES, MOST_EDGES = 60_000, 3_000_000
# Whole neighbourhoods reach all of a graph: with more arcs each validation would take minutes.
MOST_SCORED = 100_000_000
FANOUTS = (25, 10)
SEEDS = 512  # of a step over a part of the data, as in the paper


def suited(dataset: NodeDataset | PartedDataset) -> tuple[dict[str, Any], str]:
    """Settings by name, and one line that says what they are and why."""
    size = f"{dataset.num_nodes:,} nodes, {dataset.num_edges:,} arcs"
    normalize, features = _normalization(dataset)
    small = dataset.num_nodes <= MOST_NODES and dataset.num_edges <= MOST_EDGES
    if small and isinstance(dataset, NodeDataset):
        whole = dataset.graph_ids is None
        changes = shipped_recipe("small-graph")
        if not whole:
            changes["batch_size"] = SEEDS
        step = "the whole graph in a step" if whole else "whole graphs in a step"
        words = (
            f"a small graph ({size}): {step}, all neighbours, at most {changes['epochs']} epochs"
        )
    else:
        drawn = dataset.num_edges > MOST_SCORED
        changes = {
            "batch": "seeds",
            "batch_size": SEEDS,
            "fanouts": FANOUTS,
            "eval_fanouts": FANOUTS if drawn else (-1,),
            "validate_every": 0,
            "epochs": 50,
        }
        what = "a graph in parts" if small else "a large graph"
        words = (
            f"{what} ({size}): {SEEDS} nodes a step, 25 and 10 neighbours"
            f"{', for scores too' if drawn else ''}, 50 epochs at most"
        )
    return changes | {"normalize": normalize}, f"settings for {words}; {features}"


def _normalization(dataset: NodeDataset | PartedDataset) -> tuple[str, str]:
    if dataset.learned:
        return "none", "features learned for each node"
    zeros = 1 - dataset.filled
    if isinstance(dataset, NodeDataset) and sparse.issparse(dataset.features):
        return "none", f"sparse features as they are ({1 - zeros:.2%} are not 0)"
    if zeros >= SPARSE:
        return "none", f"features as they are ({zeros:.0%} are 0)"
    return "standard", "features standardised over the training nodes"
