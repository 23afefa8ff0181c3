"""F1 of a classifier on the splits of a dataset, each from what it may see."""

from dataclasses import replace

import numpy as np

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.edges import standardised_edges
from gaancore.data.nodes.features.standardised import Features
from gaancore.data.nodes.rows import WholeRows
from gaancore.parallel import ALONE, Shares, Team
from gaancore.training.nodes.baselines.of_nodes import Baselines, baselines
from gaancore.training.nodes.build import Model
from gaancore.training.nodes.inference import infer, infer_sampled
from gaancore.training.nodes.metrics import Counts, Scores, class_counts
from gaancore.training.nodes.settings import NodeSettings


class Scorer:
    """Scores models on one dataset.

    statistics : (mean, scale), each (F,), by which the model's features are standardised.
    edges      : the same of the features of edges, each (B,); None: the model reads none.
    prefetch   : batches made ahead, where `eval_fanouts` asks for sampled neighbourhoods.
    team       : the ranks that compute the logits together. The rows of each layer are cut into the
                 settings' shares, as the steps of training are (see `infer`).
    """

    def __init__(
        self,
        dataset: NodeDataset,
        statistics: tuple[np.ndarray, np.ndarray],
        settings: NodeSettings,
        prefetch: int = 0,
        edges: tuple[np.ndarray, np.ndarray] | None = None,
        team: Team = ALONE,
    ) -> None:
        self.dataset = dataset
        self.statistics = statistics
        self.settings = settings
        self.prefetch = prefetch
        self.edges = edges
        self.shares = Shares(settings.shares, team)
        self._views: dict[int, NodeDataset] = {}

    def view(self, split: int) -> NodeDataset:
        """What may be seen for `split`; cut out once, not at every validation."""
        if split not in self._views:
            everything = self.settings.transductive
            view = self.dataset if everything else self.dataset.view(split)[0]
            self._views[split] = replace(view, graph=standardised_edges(view.graph, self.edges))
        return self._views[split]

    def features(self, view: NodeDataset) -> Features:
        """The features of a view, standardised where they are fetched."""
        return Features(view.features, *self.statistics, by_row=self.settings.by_row)

    def rows(self, view: NodeDataset) -> WholeRows:
        """What batches read of a view."""
        return WholeRows(view.graph, self.features(view), view.labels)

    def score(self, model: Model, split: int) -> Scores:
        """F1 of the nodes of `split`, see `counts`."""
        return self.counts(model, split).scores()

    def counts(self, model: Model, split: int) -> Counts:
        """What is predicted and what is true of the nodes of `split`, by class."""
        view = self.view(split)
        return class_counts(self.logits(model, split), view.labels[view.nodes(split)])

    def baselines(self, split: int) -> Baselines:
        """The same of guesses, by name; see `baselines`."""
        return baselines(self.dataset, split)

    def labels(self, split: int) -> np.ndarray:
        """(n,) or (n, C) of the nodes of `split`, in ascending order."""
        return self.dataset.labels[self.dataset.nodes(split)]

    def logits(self, model: Model, split: int) -> np.ndarray:
        """(n, C) of the nodes of `split`, in ascending order.

        From the neighbourhoods that this split may see: whole ones, or drawn once for all
        validations where `eval_fanouts` asks for that.
        """
        view = self.view(split)
        nodes, features, s = view.nodes(split), self.features(view), self.settings
        if all(fanout == -1 for fanout in s.eval_fanouts) or not model.num_steps:
            return infer(model, view.graph, features, nodes, self.shares)
        return infer_sampled(
            model,
            view.graph,
            features,
            nodes,
            s.eval_fanouts * (model.num_steps // len(s.eval_fanouts)),
            batch_size=s.batch_size or max(1, nodes.size),
            seed=s.seed,
            prefetch=self.prefetch,
            shares=self.shares,
        )
