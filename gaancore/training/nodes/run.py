"""Training a node classifier: the loop of section 5.1."""

from dataclasses import asdict
from typing import Any

import numpy as np

from gaancore.array import resolve_device
from gaancore.choices import AUTO, NONE
from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.features.edges import edge_statistics
from gaancore.data.nodes.features.standardised import feature_statistics
from gaancore.data.nodes.inputs import identity_of, inputs_of
from gaancore.data.nodes.rows import NodeRows
from gaancore.data.parts.dataset import PartedDataset
from gaancore.data.parts.rows import OpenParts, PartedRows
from gaancore.errors import DataError, SettingsError
from gaancore.models.node_classifier import given
from gaancore.nn.observe import observing
from gaancore.ops import concat_rows, first_rows, split_rows
from gaancore.optim import PlateauSchedule
from gaancore.parallel import ALONE, Shares, Team
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor
from gaancore.training.checkpoint import Groups
from gaancore.training.nodes import words
from gaancore.training.nodes.batches import Batch, Batches, table_on
from gaancore.training.nodes.build import Model, build_model
from gaancore.training.nodes.heads.values import HeadValues, gate_values, summary
from gaancore.training.nodes.loss import NodeLoss, consistency_loss
from gaancore.training.nodes.parted.scorer import PartedScorer, expect_fit_for_parts
from gaancore.training.nodes.scorer import Scorer
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.prefetch import Fetch, made_ahead
from gaancore.training.progress import Validation
from gaancore.training.run import Run
from gaancore.training.run_folder import RunFolder
from gaancore.training.step import Step

NEEDED = ("training", "validation")


class ClassifierRun(Run):
    """One run of a node classifier. `prefetch` batches are made ahead of the step they are for
    (see `made_ahead`).

    Raises SettingsError if the task wants other labels than the data have, DataError if there are
    no training or no validation nodes, or if the former cannot be standardised. Without test nodes
    the record has no scores on them.
    """

    settings: NodeSettings
    model: Model
    parts: OpenParts | None = None
    scorer: Scorer | PartedScorer

    def __init__(
        self,
        settings: NodeSettings,
        dataset: NodeDataset | PartedDataset,
        folder: RunFolder,
        device: str = "cpu",
        *,
        prefetch: int | None = None,
        team: Team = ALONE,
    ) -> None:
        s = settings
        _expect_fitting(s, dataset)
        device = resolve_device(device)
        self.dataset = dataset
        shares = Shares(s.shares, team)
        table, told, edges = None, "", None
        view: NodeDataset | PartedRows
        rows: NodeRows
        if isinstance(dataset, PartedDataset):
            expect_fit_for_parts(s, prefetch)
            self.prefetch = 0  # all ranks ask for rows at the same time
            self.parts = OpenParts(dataset, team)
            edges = dataset.edge_statistics if _reads_edges(s, dataset) else None
            parted = PartedScorer(self.parts, dataset.statistics(s.normalize), s, shares, edges)
            self.scorer, view = parted, parted.view(TRAIN)
            rows = view
        else:
            self.prefetch = made_ahead(prefetch, device)
            edges = edge_statistics(dataset) if _reads_edges(s, dataset) else None
            statistics = feature_statistics(dataset, s.normalize)
            scorer = Scorer(dataset, statistics, s, self.prefetch, edges, team)
            self.scorer, view = scorer, scorer.view(TRAIN)
            rows = scorer.rows(view)
            table, told = table_on(device, rows.matrix)
        having, count = dataset.label_counts(TRAIN), dataset.nodes(TRAIN).size
        self.loss_of = NodeLoss(s, having, count, several=dataset.multi_label)
        edge_dim = edges[0].size if edges else 0
        sizes = (dataset.num_features, dataset.num_classes, edge_dim)
        model = build_model(s, *sizes, learned=dataset.learned)
        self.batches = Batches(view, rows, s, model.num_steps, shares, table)
        super().__init__(
            s,
            folder,
            device,
            model=model.to(device),
            data_facts=dataset.facts(),
            steps_per_epoch=self.batches.steps_per_epoch,
            schedule=PlateauSchedule(
                s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience
            ),
            shares=shares,
        )
        self.optimizer.weight_decay = s.weight_decay
        self.notes = words.seen_in_training(s.transductive)
        self.notes += words.not_centred(self.data_facts, s.normalize)
        self.notes += (told,) if told else ()
        self.notes += () if self.parts is None else words.parts(self.parts)
        if s.consistency and not self.batches.others.size:
            self.notes += (words.NO_OTHERS,)
        if edges is None and dataset.edge_dim:
            self.notes += ("the features of edges are not read (edge_features, model)",)

    def fetch(self) -> Fetch[Step]:
        step = self.progress.step
        return Fetch(self.batches.step, step, depth=self.prefetch, device=self.device)

    def forward(self, model: Model, batch: Batch, part: None) -> Tensor:
        x, seed = given(batch.inputs()), batch.dropout_seed
        if not batch.consistency:
            return model(x, batch.blocks, seed)
        seeds = (derive_seed(seed, "consistency", number) for number in range(2))
        return concat_rows(*(model(x, batch.blocks, seed) for seed in seeds))

    def loss(self, outputs: Tensor, batch: Batch, part: None, count: int) -> Tensor:
        share, labelled = batch.seeds.size / count, batch.seeds.size
        if not batch.consistency:
            mean = self.loss_of(outputs, batch.labels)
            return mean if share == 1 else mean * share
        twice = split_rows(outputs, count=2)
        loss = consistency_loss(twice[0], twice[1], labelled) * batch.consistency
        if labelled:
            learned = [self.loss_of(first_rows(y, count=labelled), batch.labels) for y in twice]
            loss = loss + (learned[0] + learned[1]) * (share / 2)
        return loss

    def rate(self) -> float:
        """The schedule's rate; in the cooldown, on the straight line from there to the floor."""
        s = self.settings
        steps = s.epochs * self.steps_per_epoch
        cooldown, left = s.lr_cooldown * steps, steps - self.progress.step
        if not cooldown or left >= cooldown:
            return self.schedule.lr
        return s.lr_floor + (self.schedule.lr - s.lr_floor) * left / cooldown

    def steps_between_validations(self) -> int:
        nodes = self.batches.nodes.size
        return self.settings.steps_between_validations(nodes, self.steps_per_epoch)

    def validate(self) -> Validation:
        view = self.scorer.view(VALIDATION)
        gates = HeadValues(view.nodes(VALIDATION), view.num_nodes, gate_values)
        with observing(gates):
            scores = self.scorer.score(self.model, VALIDATION)
        found = summary(gates.of_all(self.team))
        logged: dict[str, Any] = {"gates": found} if found else {}
        return Validation(scores.micro_f1, asdict(scores), logged | self._rows_read())

    def _rows_read(self) -> dict[str, Any]:
        """What a line of the log says of the rows that ranks have read since the line before."""
        if self.parts is None or self.team.size == 1:
            return {}
        own, kept, fetched = self.parts.rows_read()
        return {
            "own_rows": round(own / max(1, own + kept + fetched), 4),
            "cache_hits": round(kept / max(1, kept + fetched), 4),
            "rows_fetched": fetched,
        }

    def kept_with_best(self) -> Groups:
        statistics = {"features": self.scorer.statistics, "edges": self.scorer.edges}
        groups: Groups = {
            name: {"mean": found[0], "scale": found[1]}
            for name, found in statistics.items()
            if found
        }
        if self.dataset.learned:
            identity = identity_of(inputs_of(self.dataset))
            groups["nodes"] = {"identity": np.array([identity], np.uint32)}
        return groups

    def outcome(self) -> dict[str, Any]:
        there = self.dataset.nodes(TEST).size
        test = {"test": asdict(self.scorer.score(self.model, TEST))} if there else {}
        guesses = self.scorer.baselines(TEST if there else VALIDATION)
        return {**test, "baselines": guesses.scores, "baselines_notes": list(guesses.notes)}

    def set_epochs(self, epochs: int) -> None:
        """As every run; SettingsError also if its learning rate was made for its old end."""
        if self.settings.lr_cooldown:
            raise SettingsError(
                f"{self.folder.path}: epochs: its learning rate falls towards the end it was "
                f"given, {self.settings.epochs}; train a new run to that length"
            )
        super().set_epochs(epochs)


def _expect_fitting(s: NodeSettings, dataset: NodeDataset | PartedDataset) -> None:
    """Raises SettingsError or DataError unless a run with these settings can learn these data."""
    if dataset.multi_label != s.multi_label:
        several, one = "several labels per node", "one class per node"
        wanted, got = (several, one) if s.multi_label else (one, several)
        raise SettingsError(f"task {s.task}: expected {wanted}, got {got}")
    for number, split in enumerate(NEEDED):
        if not dataset.nodes(number).size:
            where = dataset.path or "data"
            raise DataError(f"{where}: no {split} nodes; mark some, to learn from and to choose by")
    if dataset.learned:
        _expect_learnable(s)


def _expect_learnable(s: NodeSettings) -> None:
    """Raises SettingsError for settings that make no sense where features are learned."""
    if s.model == "fnn":
        raise SettingsError(
            "features: learned ones say nothing of a node but through a graph, which fnn does not "
            "see; choose another model"
        )
    if not s.transductive:
        raise SettingsError(
            "transductive: features are learned for all nodes, so training has to see them all"
        )
    if s.normalize == "standard":
        raise SettingsError("normalize: learned features have nothing to standardise; take none")


def _reads_edges(s: NodeSettings, dataset: NodeDataset | PartedDataset) -> bool:
    """Whether the model reads the features of edges. Of files, only those that were asked for are
    there. Raises SettingsError for some of those of data in memory.
    """
    if s.edge_features not in (AUTO, NONE) and dataset.path is None:
        raise SettingsError(
            "edge_features: of data in memory auto (all) or none; leave others out where the data "
            "are made"
        )
    return s.model != "fnn" and s.edge_features != NONE
