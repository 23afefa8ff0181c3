"""F1 of a classifier on the splits of a store in parts."""

import numpy as np

from gaancore.data.parts.rows import OpenParts, PartedRows
from gaancore.errors import SettingsError
from gaancore.parallel import Shares
from gaancore.training.nodes.baselines.of_nodes import Baselines
from gaancore.training.nodes.build import Model
from gaancore.training.nodes.metrics import Counts, Scores, class_counts
from gaancore.training.nodes.parted.inference import infer_own, infer_sampled_own
from gaancore.training.nodes.settings import NodeSettings

LEFT_OUT = "the guesses beside the score are left out: they need the whole graph"


class PartedScorer:
    """As Scorer; each rank counts what it predicts of its own share of the nodes.

    statistics : (mean, scale), each (F,), by which the model's features are standardised.
    edges      : the same of the features of edges, each (B,); None: the model reads none.
    """

    def __init__(
        self,
        parts: OpenParts,
        statistics: tuple[np.ndarray, np.ndarray],
        settings: NodeSettings,
        shares: Shares,
        edges: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.parts = parts
        self.edges = edges
        self.statistics = statistics
        self.settings = settings
        self.shares = shares
        self._views: dict[int, PartedRows] = {}

    def view(self, split: int) -> PartedRows:
        """What may be seen for `split`."""
        if split not in self._views:
            dataset, s = self.parts.dataset, self.settings
            seen = dataset.num_nodes if s.transductive else dataset.seen(split)
            given = (self.parts, seen, self.statistics)
            self._views[split] = PartedRows(*given, by_row=s.by_row, edges=self.edges)
        return self._views[split]

    def score(self, model: Model, split: int) -> Scores:
        """F1 of the nodes of `split`."""
        return self.counts(model, split).scores()

    def counts(self, model: Model, split: int) -> Counts:
        """What is predicted and what is true of the nodes of `split`, by class."""
        view = self.view(split)
        nodes, logits = self._own(model, view, view.nodes(split))
        own = class_counts(logits, view.labels([nodes])[0])
        found = self.shares.team.all([own.hits, own.predicted, own.support])
        hits, predicted, support = (sum(counts) for counts in zip(*found, strict=True))
        return Counts(hits, predicted, support, own.one_class)

    def logits(self, model: Model, split: int) -> np.ndarray:
        """(n, C) of the nodes of `split`, in ascending order; each rank gets all."""
        view = self.view(split)
        return self.shares.team.rows(self._own(model, view, view.nodes(split))[1])

    def labels(self, split: int) -> np.ndarray:
        """(n,) or (n, C) of the same nodes."""
        view = self.view(split)
        return view.labels([view.nodes(split)])[0]

    def baselines(self, split: int) -> Baselines:
        """None are made; a note says so."""
        return Baselines({}, (LEFT_OUT,))

    def _own(
        self, model: Model, view: PartedRows, nodes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some of the nodes, and their logits."""
        s = self.settings
        if all(fanout == -1 for fanout in s.eval_fanouts) or not model.num_steps:
            return infer_own(model, view, nodes, self.shares)
        return infer_sampled_own(
            model,
            view,
            nodes,
            s.eval_fanouts * (model.num_steps // len(s.eval_fanouts)),
            batch_size=s.batch_size or max(1, nodes.size),
            seed=s.seed,
            shares=self.shares,
        )


def expect_fit_for_parts(settings: NodeSettings, prefetch: int | None) -> None:
    """Raises SettingsError for what training does not do on a store in parts."""
    s = settings
    if s.batch == "graphs":
        raise SettingsError(
            "batch: a store in parts is trained on by nodes, not by whole graphs; take batch = "
            "seeds"
        )
    if s.self_loops != "keep":
        raise SettingsError(
            "self_loops: those of a store in parts are kept; change them before it is cut"
        )
    expect_askable_of_parts(s, prefetch)
    s.reading.expect_of_store("a store in parts")


def expect_askable_of_parts(settings: NodeSettings, prefetch: int | None = None) -> None:
    """Raises SettingsError for what no model can be asked on a store in parts."""
    if prefetch:
        raise SettingsError(
            "prefetch: batches of a store in parts are made by all processes together, none ahead "
            "of time; leave it out"
        )
    if settings.features == "learned":
        raise SettingsError("features: learned ones need the whole graph; give the store uncut")
