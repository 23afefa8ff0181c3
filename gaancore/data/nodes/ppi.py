"""PPI: proteins of 24 human tissues, 50 features and 121 labels each; tests see unseen tissues."""

import os

from gaancore.choices import AS_IT_IS, Nan, Reading, SelfLoops, Unflagged
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.load import load_nodes


def load_ppi(
    path: str | os.PathLike[str],
    *,
    self_loops: SelfLoops = "keep",
    unflagged: Unflagged = "drop",
    nan: Nan = "error",
    reading: Reading = AS_IT_IS,
) -> NodeDataset:
    """Load PPI, or another graph whose nodes have several labels each, from any layout.

    path       : a store; a folder in GraphSAINT's, GraphSAGE's or DGL's layout; a GraphSAGE prefix
                 such as `data/ppi`; a folder with two tables (see csv_graph.py); or one `.npz` file
                 (see npz.py). `~` is expanded.
    self_loops : `keep` (the paper's 806.2K edges count them), `drop`, or `add` one to every node.
    unflagged  : `drop` nodes that are in no split (as GraphSAGE does), take them as `train`
                 nodes, keep them as `context` (see make_dataset), or refuse them (`error`).
    nan        : features that are NaN: refused (`error`), taken as `zero`, or as the `mean` over
                 the training nodes.
    reading    : what to do where files leave a choice: see `Reading`.

    The number of labels and features is the files' own. `notes` say what was merged, dropped
    or assumed. Raises DataError (one line: file, row or id, remedy), SettingsError.

    >>> import numpy as np
    >>> from gaancore.data import load_ppi
    >>> labels = [[1, 0], [1, 1], [0, 1]]
    >>> np.savez("mine.npz", x=np.eye(3), y=labels, split=[0, 1, 2], edge_index=[[0, 1], [1, 2]])
    >>> load_ppi("mine.npz").labels.tolist()
    [[1, 0], [1, 1], [0, 1]]
    """
    return load_nodes(
        path,
        name="ppi",
        multi_label=True,
        self_loops=self_loops,
        unflagged=unflagged,
        nan=nan,
        reading=reading,
    )
