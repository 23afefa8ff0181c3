"""Whether the features of a new graph can have the units of those that a run was trained on."""

import numpy as np
from scipy import sparse

from gaancore.data.nodes.features.matrix import FeatureMatrix, dense_part, forget
from gaancore.data.nodes.features.standardised import ROWS_AT_A_TIME
from gaancore.progress import told

# At most 1 / FAR^2 of any training set lies beyond FAR deviations of its mean (Chebyshev).
FAR, NARROW, SHOWN = 5.0, 0.05, 3
DENSE_AT_A_TIME = 4_000_000  # numbers of sparse rows, zeros too


def far_from_training(
    features: FeatureMatrix,
    mean: np.ndarray,
    scale: np.ndarray,
    names: tuple[str, ...] | None = None,
) -> str | None:
    """A line on features (N, F) that cannot have the units of the training nodes; else None.

    mean, scale : (F,) of the training nodes, from feature_statistics(..., "standard").
    A feature is far where more than half of the nodes lie beyond 5 deviations of the training
    nodes, of which at most 4 % can; or where its own deviation, if it has one, is below a twentieth
    of theirs (among 20 nodes or more). Where features were not standardised nothing is known of
    them, and None comes back; nor where they were not centred, being sparse. Both have a mean of 0.

    >>> import numpy as np
    >>> from gaancore.data.nodes.features.far import far_from_training
    >>> metres = np.array([[3000.0], [4000.0], [5000.0]])
    >>> far_from_training(metres, np.array([4.0]), np.array([1.0]), ("distance",))  # kilometres
    '1 of 1 features is far from what the run was trained on: distance (mean 4000, in training 4)'
    """
    count = features.shape[0]
    if not count or not mean.any():
        return None
    beyond, total, squares = np.zeros((3, mean.size))
    step = ROWS_AT_A_TIME
    if sparse.issparse(features):
        step = max(1, DENSE_AT_A_TIME // mean.size)
    for start in told("comparing features with those of training", range(0, count, step)):
        part = dense_part(features, slice(start, start + step)).astype(np.float64)
        part = (part - mean) / scale
        forget(features)
        beyond += (np.abs(part) > FAR).sum(axis=0)
        total += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    deviation = np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0))
    narrow = (deviation > 1e-6) & (deviation < NARROW) if count >= 20 else np.zeros(mean.size, bool)
    far = np.flatnonzero((beyond > count / 2) | narrow)
    if not far.size:
        return None
    own = total / count * scale + mean
    called = [names[at] if names else f"feature {at}" for at in far[:SHOWN].tolist()]
    some = ", ".join(
        f"{name} (mean {own[at]:.4g}, in training {mean[at]:.4g})"
        for name, at in zip(called, far, strict=False)
    )
    return (
        f"{far.size:,} of {mean.size:,} features {'is' if far.size == 1 else 'are'} far from what "
        f"the run was trained on: {some}{', ...' if far.size > SHOWN else ''}"
    )
