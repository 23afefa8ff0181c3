"""Training a node classifier: the loop of section 5.1, resumable at any step.

Everything random is drawn from (run seed, purpose, epoch, step), so the state of a run is its
weights, Adam's moments and a few numbers; a run that is killed and resumed ends with the same bits.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gaancore.array import resolve_device
from gaancore.data.dataset import TEST, TRAIN, VALIDATION, NodeDataset, normalize
from gaancore.errors import SettingsError, TrainingError
from gaancore.ops import bce_with_logits
from gaancore.optim import Adam, PlateauSchedule, clip_grad_norm
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor
from gaancore.train.batches import Batches
from gaancore.train.build import build_model
from gaancore.train.checkpoint import load_checkpoint, save_checkpoint, write_json
from gaancore.train.inference import infer
from gaancore.train.metrics import F1, f1_scores, majority_f1
from gaancore.train.process import peak_rss_mb, rss_mb
from gaancore.train.record import RunFolder, describe_data, versions
from gaancore.train.settings import Settings


@dataclass
class Progress:
    """Where a run stands, beside weights and moments. Floats survive JSON exactly."""

    step: int = 0
    best_step: int = 0
    seconds: float = 0.0
    finished: bool = False
    loss_sum: float = 0.0  # this and what follows: since the last validation
    loss_count: int = 0
    edges: int = 0
    training_seconds: float = 0.0


@dataclass
class Watcher:
    """What a caller may look at and ask for while a run goes on; the command line fills it in."""

    on_step: Callable[[dict[str, Any]], None] = lambda facts: None
    on_validation: Callable[[dict[str, Any]], None] = lambda line: None
    stop_requested: Callable[[], bool] = lambda: False


class RunInterrupt(Exception):  # noqa: N818 (asked for, not an error)
    """The caller asked to stop; the state is saved and the run can be resumed."""


@dataclass
class ClassifierRun:
    """One run, from its folder or from the start."""

    settings: Settings
    dataset: NodeDataset
    folder: RunFolder
    device: str = "cpu"
    watcher: Watcher = field(default_factory=Watcher)

    def __post_init__(self) -> None:
        s = self.settings
        if not self.dataset.multilabel:
            raise SettingsError("task ppi: expected several labels per node, got one class each")
        self.device = resolve_device(self.device)
        self.data_facts = describe_data(self.dataset)
        self.dataset, self.normalization = normalize(self.dataset, s.normalize)
        self.view, _ = self.dataset.view(TRAIN)
        self.model = build_model(s, self.dataset.num_features, self.dataset.num_classes)
        self.batches = Batches(self.view, s, self.model.num_steps)
        self.optimizer = Adam(self.model.named_parameters(), s.lr)
        self.schedule = PlateauSchedule(
            s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience
        )
        self.progress = Progress()

    def start(self) -> None:
        """Make the folder of a new run."""
        self.folder.create(self.settings, self.data_facts)

    def resume(self) -> None:
        """Go back to the last saved step; a run that never saved one starts over."""
        if not self.folder.last.exists():
            return
        arrays, facts = load_checkpoint(self.folder.last)
        self.model.load_state(_with_prefix(arrays, "model."))
        self.optimizer.load_state(_with_prefix(arrays, "adam."))
        self.optimizer.steps = facts["progress"]["step"]
        self.progress = Progress(**facts["progress"])
        self.schedule = PlateauSchedule(**facts["schedule"])
        self.folder.forget_log_after(self.progress.step)

    def train(self) -> dict[str, Any]:
        """Run to the end and write record.json; returns its content.

        Raises RunInterrupt, with everything saved, when the watcher asks for it; TrainingError
        (naming the epoch and step) when a gradient or output is not finite.
        """
        while not self._finished():
            clock = time.perf_counter()
            self._train_step()
            self.progress.step += 1
            self.progress.training_seconds += time.perf_counter() - clock
            self.progress.seconds += time.perf_counter() - clock
            if self._validation_is_due():
                self._validate()
            if self.watcher.stop_requested() and not self._finished():
                self._save_last()
                raise RunInterrupt
        self.progress.finished = True
        return self._write_record()

    @property
    def epoch(self) -> int:
        """Epochs that have begun, counting from 1."""
        return -(-self.progress.step // self.batches.steps_per_epoch)

    def _finished(self) -> bool:
        limit = self.settings.epochs * self.batches.steps_per_epoch
        return self.schedule.stopped or (limit > 0 and self.progress.step >= limit)

    def _validation_is_due(self) -> bool:
        every = self.settings.steps_between_validations or self.batches.steps_per_epoch
        last = self.settings.epochs * self.batches.steps_per_epoch
        return self.progress.step % every == 0 or self.progress.step == last

    def _train_step(self) -> None:
        epoch, step = divmod(self.progress.step, self.batches.steps_per_epoch)
        dropout_seed = derive_seed(self.settings.seed, "dropout", epoch, step)
        self.optimizer.lr = self.schedule.lr

        seeds = self.batches.seeds(epoch, step)
        blocks = self.batches.blocks(seeds, epoch, step)
        x = self.view.features[blocks[0].src_ids if blocks else seeds]
        logits = self.model(Tensor(x), blocks, dropout_seed)
        loss = bce_with_logits(logits, self.view.labels[seeds])
        self.model.zero_grad()
        loss.backward()
        try:
            clip_grad_norm(self.model.named_parameters(), self.settings.clip_norm)
        except TrainingError as error:
            raise TrainingError(f"epoch {epoch + 1}, step {step + 1}: {error}") from None
        self.optimizer.step()

        self.progress.loss_sum += float(loss.data)
        self.progress.loss_count += 1
        self.progress.edges += sum(block.num_edges for block in blocks)
        self.watcher.on_step(
            {"step": self.progress.step + 1, "epoch": epoch + 1, "loss": float(loss.data)}
        )

    def _validate(self) -> None:
        clock = time.perf_counter()
        score = self.score(VALIDATION)
        improved = self.schedule.update(score.micro)
        p = self.progress
        p.seconds += time.perf_counter() - clock
        line = {
            "step": p.step,
            "epoch": p.step / self.batches.steps_per_epoch,
            "loss": p.loss_sum / max(1, p.loss_count),
            "validation": asdict(score),
            "lr": self.optimizer.lr,
            "best": improved,
            "edges_per_second": round(p.edges / max(p.training_seconds, 1e-9)),
            "seconds": round(p.seconds, 3),
            "rss_mb": rss_mb(),
        }
        p.loss_sum, p.loss_count, p.edges, p.training_seconds = 0.0, 0, 0, 0.0
        if improved or not p.best_step:
            p.best_step = p.step
            mean, scale = self.normalization
            arrays = _prefixed("model.", self.model.state())
            arrays |= {"features.mean": mean, "features.scale": scale}
            save_checkpoint(self.folder.best, arrays, {"step": p.step, "validation": asdict(score)})
        self.folder.append_log(line)
        self._save_last()
        self.watcher.on_validation(line)

    def _save_last(self) -> None:
        arrays = _prefixed("model.", self.model.state())
        arrays |= _prefixed("adam.", self.optimizer.state())
        facts = {"progress": asdict(self.progress), "schedule": asdict(self.schedule)}
        save_checkpoint(self.folder.last, arrays, facts)

    def score(self, split: int) -> F1:
        """F1 of the nodes of `split`, from the whole neighbourhoods that this split may see."""
        view, _ = self.dataset.view(split)
        nodes = view.nodes(split)
        return f1_scores(infer(self.model, view.graph, view.features, nodes), view.labels[nodes])

    def majority(self, split: int) -> F1:
        """F1 on `split` of predicting what most training nodes have."""
        labels = self.dataset.labels
        return majority_f1(self.view.labels, labels[self.dataset.nodes(split)])

    def load_best(self) -> dict[str, Any]:
        """Put the best weights in place; returns what was noted with them."""
        arrays, facts = load_checkpoint(self.folder.best)
        self.model.load_state(_with_prefix(arrays, "model."))
        return facts

    def _write_record(self) -> dict[str, Any]:
        best = self.load_best()
        s, p = self.settings, self.progress
        record = {
            "task": s.task,
            "model": s.model,
            "variant": s.variant,
            "seed": s.seed,
            "device": self.device,
            "num_parameters": self.model.num_parameters,
            "data": self.data_facts,
            "epochs": round(p.step / self.batches.steps_per_epoch, 2),
            "steps": p.step,
            "best_epoch": round(p.best_step / self.batches.steps_per_epoch, 2),
            "best_step": p.best_step,
            "stopped_early": self.schedule.stopped,
            "validation": {f"{k}_f1": v for k, v in best["validation"].items()},
            "test": {f"{k}_f1": v for k, v in asdict(self.score(TEST)).items()},
            "majority": {f"{k}_f1": v for k, v in asdict(self.majority(TEST)).items()},
            "seconds": round(p.seconds, 3),
            "peak_rss_mb": peak_rss_mb(),
            "settings": asdict(s),
            "versions": versions(),
        }
        write_json(self.folder.record_file, record)
        return record


def _prefixed(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {prefix + name: array for name, array in arrays.items()}


def _with_prefix(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
