"""Training a node classifier: the loop of section 5.1."""

from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from gaancore.array import Uploads, resolve_device
from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.features import Features, feature_statistics
from gaancore.errors import DataError, SettingsError
from gaancore.nn.observe import observing
from gaancore.ops import bce_with_logits, softmax_cross_entropy
from gaancore.optim import Adam, PlateauSchedule
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor
from gaancore.train.checkpoint import Groups
from gaancore.train.nodes.batches import Batch, Batches
from gaancore.train.nodes.build import Model, build_model
from gaancore.train.nodes.heads import HeadValues, gate_values, summary
from gaancore.train.nodes.inference import infer, infer_sampled
from gaancore.train.nodes.metrics import Counts, Scores, class_counts, majority_scores
from gaancore.train.nodes.settings import Settings
from gaancore.train.prefetch import Prefetch
from gaancore.train.run import Run
from gaancore.train.run_folder import describe_data

SPLITS = ("training", "validation", "test")


@dataclass
class ClassifierRun(Run):
    """One run of a node classifier. `prefetch` batches are made ahead of the step they are for."""

    settings: Settings
    dataset: NodeDataset
    prefetch: int = 2
    model: Model = field(init=False)

    def __post_init__(self) -> None:
        s = self.settings
        if self.dataset.multi_label != (s.task == "ppi"):
            several, one = "several labels per node", "one class per node"
            wanted, got = (several, one) if s.task == "ppi" else (one, several)
            raise SettingsError(f"task {s.task}: expected {wanted}, got {got}")
        for number, split in enumerate(SPLITS):
            if not self.dataset.nodes(number).size:
                raise DataError(
                    f"{self.dataset.path}: no {split} nodes; mark some, to choose and to score by"
                )
        self.device = resolve_device(self.device)
        self.data_facts = describe_data(self.dataset)
        self.normalization = feature_statistics(self.dataset, s.normalize)
        self._views: dict[int, NodeDataset] = {}
        self.view = self._seen_for(TRAIN)
        model = build_model(s, self.dataset.num_features, self.dataset.num_classes)
        self.model = model.to(self.device)
        self.batches = Batches(self.view, self._features(self.view), s, self.model.num_steps)
        self.steps_per_epoch = self.batches.steps_per_epoch
        self.optimizer = Adam(self.model.named_parameters(), s.lr)
        self.schedule = PlateauSchedule(
            s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience
        )

    def _steps_between_validations(self) -> int:
        return self.settings.steps_between_validations(
            self.batches.nodes.size, self.steps_per_epoch
        )

    def train(self) -> dict[str, Any]:
        """Run to the end, with the batches of the next steps made meanwhile. See Run.train."""
        with Prefetch(self.batches.batch, count(self.progress.step), depth=self.prefetch) as ahead:
            self._ahead, self._uploads = ahead, Uploads(self.device)
            self._upcoming: Batch | None = None
            return super().train()

    def _fetch(self) -> Batch:
        """The next batch, on the device."""
        batch = next(self._ahead)
        with self._uploads.beside():
            return batch.to(self.device)

    def _learn(self, epoch: int, step: int) -> float:
        batch = self._upcoming or self._fetch()
        dropout_seed = derive_seed(self.settings.seed, "dropout", epoch, step)
        logits = self.model(Tensor(batch.x), batch.blocks, dropout_seed)
        loss_of = bce_with_logits if self.dataset.multi_label else softmax_cross_entropy
        loss = loss_of(logits, batch.labels)
        loss.backward()
        self.progress.edges += sum(block.num_edges for block in batch.blocks)
        if self.device != "cpu":  # which now computes what was launched, and is not waited for yet
            self._upcoming = self._fetch()
        return float(loss.data)

    def _logged(self) -> dict[str, Any]:
        waited, self._ahead.waited = self._ahead.waited, 0.0
        share = round(waited / max(self.progress.training_seconds, 1e-9), 4)
        gates = summary(self._gates.layers)
        return {"waiting_share": share} | ({"gates": gates} if gates else {})

    def _rate(self) -> float:
        """The schedule's rate; in the cooldown, on the straight line from there to the floor."""
        s = self.settings
        steps = s.epochs * self.steps_per_epoch
        cooldown, left = s.lr_cooldown * steps, steps - self.progress.step
        if not cooldown or left >= cooldown:
            return self.schedule.lr
        return s.lr_floor + (self.schedule.lr - s.lr_floor) * left / cooldown

    def _score_validation(self) -> tuple[float, dict[str, Any]]:
        view = self._seen_for(VALIDATION)
        self._gates = HeadValues(view.nodes(VALIDATION), view.num_nodes, gate_values)
        with observing(self._gates):
            scores = self.score(VALIDATION)
        return scores.micro_f1, asdict(scores)

    def _kept_with_best(self) -> Groups:
        mean, scale = self.normalization
        return {"features": {"mean": mean, "scale": scale}}

    def _seen_for(self, split: int) -> NodeDataset:
        """What may be seen for `split`; cut out once, not at every validation."""
        if split not in self._views:
            self._views[split], _ = self.dataset.view(split)
        return self._views[split]

    def score(self, split: int) -> Scores:
        """F1 of the nodes of `split`, see `counts`."""
        return self.counts(split).scores()

    def counts(self, split: int) -> Counts:
        """What is predicted and what is so of the nodes of `split`, by class, from the
        neighbourhoods that this split may see: whole ones, or drawn once for all validations where
        `eval_fanouts` asks for that."""
        view = self._seen_for(split)
        nodes, features, s = view.nodes(split), self._features(view), self.settings
        if all(fanout == -1 for fanout in s.eval_fanouts) or not self.model.num_steps:
            logits = infer(self.model, view.graph, features, nodes)
        else:
            logits = infer_sampled(
                self.model,
                view.graph,
                features,
                nodes,
                s.eval_fanouts * (self.model.num_steps // len(s.eval_fanouts)),
                batch_size=s.batch_size,
                seed=s.seed,
                prefetch=self.prefetch,
            )
        return class_counts(logits, view.labels[nodes])

    def _features(self, view: NodeDataset) -> Features:
        return Features(view.features, *self.normalization)

    def _outcome(self) -> dict[str, Any]:
        data = self.dataset
        learned, scored = (data.labels[data.nodes(split)] for split in (TRAIN, TEST))
        majority = majority_scores(learned, scored, data.num_classes)
        return {"test": asdict(self.score(TEST)), "majority": asdict(majority)}
