"""Training a node classifier: the loop of section 5.1."""

from dataclasses import asdict, dataclass, field
from typing import Any

from gaancore.array import resolve_device
from gaancore.data.dataset import TEST, TRAIN, VALIDATION, NodeDataset, normalize
from gaancore.errors import DataError, SettingsError
from gaancore.ops import bce_with_logits
from gaancore.optim import Adam, PlateauSchedule
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor
from gaancore.train.batches import Batches
from gaancore.train.build import Model, build_model
from gaancore.train.checkpoint import Groups
from gaancore.train.inference import infer
from gaancore.train.metrics import Scores, f1_scores, majority_scores
from gaancore.train.record import describe_data
from gaancore.train.run import Run
from gaancore.train.settings import Settings

SPLITS = ("training", "validation", "test")


@dataclass
class ClassifierRun(Run):
    """One run of a node classifier."""

    settings: Settings
    dataset: NodeDataset
    model: Model = field(init=False)

    def __post_init__(self) -> None:
        s = self.settings
        if not self.dataset.multi_label:
            raise SettingsError("task ppi: expected several labels per node, got one class each")
        for number, split in enumerate(SPLITS):
            if not self.dataset.nodes(number).size:
                raise DataError(
                    f"{self.dataset.path}: no {split} nodes; mark some, to choose and to score by"
                )
        self.device = resolve_device(self.device)
        self.data_facts = describe_data(self.dataset)
        self.dataset, self.normalization = normalize(self.dataset, s.normalize)
        self._views: dict[int, NodeDataset] = {}
        self.view = self._seen_for(TRAIN)
        self.model = build_model(s, self.dataset.num_features, self.dataset.num_classes)
        self.batches = Batches(self.view, s, self.model.num_steps)
        self.steps_per_epoch = self.batches.steps_per_epoch
        self.optimizer = Adam(self.model.named_parameters(), s.lr)
        self.schedule = PlateauSchedule(
            s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience
        )

    def _steps_between_validations(self) -> int:
        return self.settings.steps_between_validations(self.view.num_nodes, self.steps_per_epoch)

    def _learn(self, epoch: int, step: int) -> float:
        seeds = self.batches.seeds(epoch, step)
        blocks = self.batches.blocks(seeds, epoch, step)
        x = self.view.features[blocks[0].src_ids if blocks else seeds]
        dropout_seed = derive_seed(self.settings.seed, "dropout", epoch, step)
        logits = self.model(Tensor(x), blocks, dropout_seed)
        loss = bce_with_logits(logits, self.view.labels[seeds])
        loss.backward()
        self.progress.edges += sum(block.num_edges for block in blocks)
        return float(loss.data)

    def _rate(self) -> float:
        """The schedule's rate; in the cooldown, on the straight line from there to the floor."""
        s = self.settings
        steps = s.epochs * self.steps_per_epoch
        cooldown, left = s.lr_cooldown * steps, steps - self.progress.step
        if not cooldown or left >= cooldown:
            return self.schedule.lr
        return s.lr_floor + (self.schedule.lr - s.lr_floor) * left / cooldown

    def _score_validation(self) -> tuple[float, dict[str, Any]]:
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
        """F1 of the nodes of `split`, from the whole neighbourhoods that this split may see."""
        view = self._seen_for(split)
        nodes = view.nodes(split)
        return f1_scores(infer(self.model, view.graph, view.features, nodes), view.labels[nodes])

    def _outcome(self) -> dict[str, Any]:
        data = self.dataset
        majority = majority_scores(
            self.view.labels, data.labels[data.nodes(TEST)], data.num_classes
        )
        return {"test": asdict(self.score(TEST)), "majority": asdict(majority)}
