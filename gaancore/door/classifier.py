"""A node classifier in scikit-learn's manner."""

import inspect
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from gaancore.data.nodes.dataset import UNFLAGGED, NodeDataset
from gaancore.data.nodes.inputs import NodeInputs, inputs_of
from gaancore.door.make import made
from gaancore.door.matrices import graph_of
from gaancore.door.targets import coded_classes, shared_out, unlabelled
from gaancore.door.training import train
from gaancore.door.values import as_array, coded_labels, column_names, shape_of
from gaancore.errors import DataError, SettingsError
from gaancore.graph import ArcList, CSRGraph
from gaancore.training.same_data import joined_by_position

Graph = Any  # SciPy sparse, dense (N, N), (2, E) edge_index, a networkx graph, CSRGraph


OWN = (
    "epochs",
    "num_heads",
    "embed_dim",
    "out_dim",
    "fanouts",
    "batch_size",
    "lr",
    "dropout",
    "attention_dropout",
)


class NotFittedError(SettingsError, AttributeError):
    """The classifier was asked before it was fitted."""


class GaANClassifier:
    """A gated attention network that labels the nodes of a graph, as a scikit-learn classifier.

    The network reads each node's own features and, through attention with K heads, those of its
    neighbours: see the paper, equations 1 to 3. Parameters are None for what suits the data.

    model, variant : which aggregator, and which reading of the paper; see `NodeSettings`.
    epochs         : at most; training stops early when held-out nodes no longer gain.
    num_heads, embed_dim, out_dim, fanouts, batch_size, lr, dropout, attention_dropout : settings of
                     these names.
    settings       : a dict of any other setting by name.
    validation_fraction : the share of labelled nodes that is held out to stop early by, if `fit` is
                     given no `val_mask`; drawn evenly over the classes.
    random_state   : an integer; the same one gives the same bits. None draws one.
    device         : `auto` (a GPU if one works), `cpu` or `cuda:N`.
    run_dir        : folder for the run, which must be new; by default a temporary one.
    verbose        : print what was chosen and how it goes.

    After `fit`: `classes_` (C,), `n_features_in_`, `feature_names_in_` if X has names, and
    `multi_label_`, `notes_` (what was assumed or drawn), `record_` (the outcome) and `log_` (a line
    for each validation).

    With scikit-learn: `clone`, `get_params`, `set_params`, and the last step of a `Pipeline`, as
    `pipeline.fit(X, y, gaanclassifier__graph=graph)`. `cross_val_score` and `GridSearchCV` do not
    work: they cut rows out of X, and cannot cut a graph. Hide labels instead:

        for learn, test in StratifiedKFold(5).split(X, y):
            mask = np.zeros(len(y), bool)
            mask[learn] = True
            model = clone(classifier).fit(X, y, graph, train_mask=mask)
            scores.append((model.predict() == y)[test].mean())

    >>> import numpy as np
    >>> import gaancore
    >>> group = np.repeat(["cat", "dog"], 40)
    >>> graph = np.array(group[:, None] == group, int)
    >>> y = [name if i % 4 else None for i, name in enumerate(group)]
    >>> classifier = gaancore.GaANClassifier(epochs=40, num_heads=2)
    >>> float((classifier.fit(np.eye(80), y, graph).predict() == group).mean()) > 0.8
    True
    """

    def __init__(
        self,
        *,
        model: str = "gaan",
        variant: str = "released",
        epochs: int | None = None,
        num_heads: int | None = None,
        embed_dim: int | None = None,
        out_dim: int | None = None,
        fanouts: Sequence[int] | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        dropout: float | None = None,
        attention_dropout: float | None = None,
        settings: dict[str, Any] | None = None,
        validation_fraction: float = 0.2,
        random_state: int | None = 0,
        device: str = "auto",
        run_dir: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.variant = variant
        self.epochs = epochs
        self.num_heads = num_heads
        self.embed_dim = embed_dim
        self.out_dim = out_dim
        self.fanouts = fanouts
        self.batch_size = batch_size
        self.lr = lr
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.settings = settings
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device
        self.run_dir = run_dir
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, graph: Graph, *, train_mask: Any = None, val_mask: Any = None
    ) -> Self:
        """Learn from the labelled nodes of one graph; nodes without a label are their neighbours.

        X     : (N, F) features of all nodes, dense, sparse or a frame.
        y     : (N,) classes as numbers or names, of which -1, NaN and None mean no label; or (N, L)
                of 0 and 1, several labels a node, -1 or NaN in all of a row for none.
        graph : a square matrix (SciPy sparse or dense), a (2, E) edge_index, a networkx graph whose
                nodes are in the order of X, or a CSRGraph. Edges count in both directions.
        train_mask : (N,) bool: the labels that may be looked at; by default all.
        val_mask   : (N,) bool: of these, the nodes to choose the best weights by; by default
                `validation_fraction` of them are drawn.
        Held-out nodes and their edges are not seen while the weights are learned.
        Raises DataError and SettingsError, each one line that names the argument.
        """
        where = "fit"
        shape = shape_of("fit: X", X)
        if len(shape) != 2:
            raise DataError(f"fit: X: expected shape (nodes, features), got {shape}")
        network, notes = graph_of("fit: graph", graph, shape[0])
        codes, classes = coded_classes(y)
        if len(codes) != shape[0]:
            raise DataError(f"fit: y: expected {shape[0]:,} rows, as X has, got {len(codes):,}")
        seed = self._seed()
        split, drawn = shared_out(codes, train_mask, val_mask, self.validation_fraction, seed)
        codes[split == UNFLAGGED] = np.nan
        dataset = made(
            where,
            network,
            X,
            codes,
            split,
            notes=[*notes, *drawn],
            multi_label=codes.ndim == 2,
            class_names=[str(name) for name in classes.tolist()],
        )
        assert isinstance(dataset, NodeDataset)
        self._learn(dataset, seed)
        # those that a node of the split has: the network knows no others
        kept = np.unique(codes[split != UNFLAGGED]).astype(np.int64)
        self.classes_ = classes if dataset.multi_label else classes[kept]
        self.multi_label_ = dataset.multi_label
        self.n_features_in_ = dataset.num_features
        if (names := column_names(X)) is not None:
            self.feature_names_in_ = np.array(names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.notes_ = dataset.notes
        return self

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        if isinstance(self.random_state, bool) or not isinstance(
            self.random_state, int | np.integer
        ):
            raise SettingsError(f"random_state: expected an integer, got {self.random_state!r}")
        return int(self.random_state)

    def _learn(self, dataset: NodeDataset, seed: int) -> None:
        given = {name: getattr(self, name) for name in OWN if getattr(self, name) is not None}
        given |= {"model": self.model, "variant": self.variant, "seed": seed}
        given |= self.settings or {}
        with tempfile.TemporaryDirectory(prefix="gaancore-") as folder:
            out = Path(folder) / "run" if self.run_dir is None else self.run_dir
            run: Any = train(dataset, out=out, device=self.device, verbose=self.verbose, **given)
            self._classifier = run.classifier
            self.record_ = run.record
            self.log_ = run.log
        self._fitted = inputs_of(dataset)

    def predict(self, X: Any = None, graph: Graph = None) -> np.ndarray:
        """(N,) the most likely of `classes_`; with several labels (N, L) of 0 and 1.

        X, graph : of any graph with the same features, as `fit` takes them; without both, the
                   graph that was fitted. Warns if X has names for its features and that of `fit`
                   had none, or the other way round. Raises DataError, SettingsError.
        """
        logits = self._logits(X, graph)
        if self.multi_label_:
            return (logits > 0).astype(np.int64)
        return np.asarray(self.classes_[logits.argmax(axis=1)])

    def predict_proba(self, X: Any = None, graph: Graph = None) -> np.ndarray:
        """(N, C) the probability of each of `classes_`, or of each label by itself. Arguments as
        of `predict`.
        """
        logits = self._logits(X, graph)
        return np.asarray(self._classifier.probabilities(logits))

    def score(self, X: Any, y: Any, graph: Graph = None) -> float:
        """The share of labelled nodes whose prediction is right; with several labels, of nodes that
        have all labels right, as in scikit-learn.

        X, graph : as of `predict`; None and None mean the fitted graph. y: as of `fit`.
        Raises DataError, also if no node has a label.
        """
        predicted = self.predict(X, graph)
        if self.multi_label_:
            codes, _ = coded_labels("score: y", y)
            labelled = ~np.isnan(codes).reshape(len(codes), -1).any(axis=1)
            truth: np.ndarray = codes
        else:
            array = as_array("score: y", y)
            truth, labelled = array, ~unlabelled(array)
        if truth.shape != predicted.shape:
            raise DataError(f"score: y: expected shape {predicted.shape}, got {truth.shape}")
        if not labelled.any():
            raise DataError("score: y: no node has a label")
        right = truth[labelled] == predicted[labelled]
        return float(right.reshape(len(right), -1).all(axis=1).mean())

    def _logits(self, X: Any, graph: Graph) -> np.ndarray:
        if not hasattr(self, "_classifier"):
            raise NotFittedError("GaANClassifier: not fitted yet; call fit first")
        if (X is None) != (graph is None):
            lacking = "X" if X is None else "graph"
            raise SettingsError(
                f"predict: {lacking}: X and graph come together; without both, the fitted graph is "
                "meant"
            )
        return np.asarray(
            self._classifier.logits(self._fitted if X is None else self._new(X, graph))
        )

    def _new(self, X: Any, graph: Graph) -> NodeInputs:
        network: CSRGraph | ArcList
        network, _ = graph_of("predict: graph", graph, shape_of("predict: X", X)[0])
        found = made("predict", network, X)
        assert isinstance(found, NodeInputs)
        line = joined_by_position(self._classifier.feature_names, found.feature_names)
        if line is not None:
            warnings.warn(f"predict: X: {line}", UserWarning, stacklevel=4)
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name. Raises SettingsError for a name that is none."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise SettingsError(f"set_params: {name}: expected one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = inspect.signature(type(self)).parameters
        shown = {n: v for n, v in self.get_params().items() if v is not default[n].default}
        return f"GaANClassifier({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn, which asks for it, should know of the classifier."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_classifier")
