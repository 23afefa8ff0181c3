"""Training a node classifier: the loop of section 5.1, resumable at any step.

Everything random is drawn from (run seed, purpose, epoch, step), so the state of a run is its
weights, Adam's moments and a few numbers; a run that is killed and resumed ends with the same bits.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gaancore.array import resolve_device
from gaancore.data.dataset import TEST, TRAIN, VALIDATION, NodeDataset, normalize
from gaancore.errors import DataError, SettingsError, TrainingError
from gaancore.ops import bce_with_logits
from gaancore.optim import Adam, PlateauSchedule, clip_grad_norm
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor
from gaancore.train.batches import Batches
from gaancore.train.build import build_model
from gaancore.train.checkpoint import load_checkpoint, save_checkpoint, write_json
from gaancore.train.inference import infer
from gaancore.train.metrics import Scores, f1_scores, majority_scores
from gaancore.train.process import peak_rss_mb, rss_mb
from gaancore.train.record import RunFolder, describe_data, versions
from gaancore.train.settings import Settings

SPLITS = ("training", "validation", "test")


@dataclass
class Progress:
    """Where a run stands, beside weights and moments. Floats survive JSON exactly."""

    step: int = 0
    best_step: int = 0
    seconds: float = 0.0
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
        if self.folder.last.exists():
            groups, facts = load_checkpoint(self.folder.last)
            with _belongs_to_the_run(self.folder.last):
                self.model.load_state(groups["model"])
                self.optimizer.load_state(groups["adam"])
                self.progress = Progress(**facts["progress"])
                self.schedule = PlateauSchedule(**facts["schedule"])
            self.optimizer.steps = self.progress.step
        self.folder.rewind(self.progress.step)

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
        return self._write_record()

    def _finished(self) -> bool:
        limit = self.settings.epochs * self.batches.steps_per_epoch
        return self.schedule.stopped or (limit > 0 and self.progress.step >= limit)

    def _validation_is_due(self) -> bool:
        per_epoch = self.batches.steps_per_epoch
        every = self.settings.steps_between_validations(self.view.num_nodes, per_epoch)
        last = self.settings.epochs * per_epoch
        return self.progress.step % every == 0 or self.progress.step == last

    def _train_step(self) -> None:
        epoch, step = divmod(self.progress.step, self.batches.steps_per_epoch)
        dropout_seed = derive_seed(self.settings.seed, "dropout", epoch, step)
        self.optimizer.lr = self._rate()

        seeds = self.batches.seeds(epoch, step)
        blocks = self.batches.blocks(seeds, epoch, step)
        x = self.view.features[blocks[0].src_ids if blocks else seeds]
        logits = self.model(Tensor(x), blocks, dropout_seed)
        loss = bce_with_logits(logits, self.view.labels[seeds])
        self.model.zero_grad()
        loss.backward()
        value = float(loss.data)
        with _naming(f"epoch {epoch + 1}, step {step + 1} of {self.batches.steps_per_epoch}"):
            clip_grad_norm(self.model.named_parameters(), self.settings.clip_norm)
            if not math.isfinite(value):
                raise TrainingError(f"the loss is {value}; lower the learning rate")
        self.optimizer.step()

        self.progress.loss_sum += value
        self.progress.loss_count += 1
        self.progress.edges += sum(block.num_edges for block in blocks)
        self.watcher.on_step({"step": self.progress.step + 1, "epoch": epoch + 1, "loss": value})

    def _rate(self) -> float:
        """The schedule's rate; in the cooldown, on the straight line from there to the floor."""
        s = self.settings
        steps = s.epochs * self.batches.steps_per_epoch
        cooldown, left = s.lr_cooldown * steps, steps - self.progress.step
        if not cooldown or left >= cooldown:
            return self.schedule.lr
        return s.lr_floor + (self.schedule.lr - s.lr_floor) * left / cooldown

    def _validate(self) -> None:
        clock = time.perf_counter()
        p = self.progress
        with _naming(f"validation after step {p.step}"):
            scores = self.score(VALIDATION)
        best = self.schedule.update(scores.micro_f1) or not p.best_step
        p.seconds += time.perf_counter() - clock
        line = {
            "step": p.step,
            "epoch": p.step / self.batches.steps_per_epoch,
            "loss": p.loss_sum / max(1, p.loss_count),
            "validation": asdict(scores),
            "lr": self.optimizer.lr,
            "best": best,
            "edges_per_second": round(p.edges / max(p.training_seconds, 1e-9)),
            "seconds": round(p.seconds, 3),
            "rss_mb": rss_mb(),
        }
        p.loss_sum, p.loss_count, p.edges, p.training_seconds = 0.0, 0, 0, 0.0
        if best:
            p.best_step = p.step
            mean, scale = self.normalization
            groups = {"model": self.model.state(), "features": {"mean": mean, "scale": scale}}
            noted = {"step": p.step, "validation": asdict(scores)}
            save_checkpoint(self.folder.best, groups, noted)
        self.folder.append_log(line)
        self._save_last()
        self.watcher.on_validation(line)

    def _save_last(self) -> None:
        groups = {"model": self.model.state(), "adam": self.optimizer.state()}
        facts = {"progress": asdict(self.progress), "schedule": asdict(self.schedule)}
        save_checkpoint(self.folder.last, groups, facts)

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

    def load_best(self) -> dict[str, Any]:
        """Put the best weights in place; returns what was noted with them."""
        groups, facts = load_checkpoint(self.folder.best)
        with _belongs_to_the_run(self.folder.best):
            self.model.load_state(groups["model"])
        return facts

    def _write_record(self) -> dict[str, Any]:
        best = self.load_best()
        s, p, data = self.settings, self.progress, self.dataset
        majority = majority_scores(
            self.view.labels, data.labels[data.nodes(TEST)], data.num_classes
        )
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
            "validation": best["validation"],
            "test": asdict(self.score(TEST)),
            "majority": asdict(majority),
            "seconds": round(p.seconds, 3),
            "peak_rss_mb": peak_rss_mb(),
            "settings": asdict(s),
            "versions": versions(),
        }
        write_json(self.folder.record_file, record)
        return record


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Begin a TrainingError from inside with the place in the run."""
    try:
        yield
    except TrainingError as error:
        raise TrainingError(f"{where}: {error}") from None


@contextmanager
def _belongs_to_the_run(path: Path) -> Iterator[None]:
    """Turn what goes wrong when a whole checkpoint is put in place into one line about its file."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a checkpoint of this run ({error})") from None
