"""What every training run is: a loop that may stop at any step and goes on with the same bits.

Everything random is drawn from (run seed, purpose, epoch, step), so the state of a run is its
weights, Adam's moments and a few numbers; a run that is killed and resumed ends with the same bits.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gaancore.errors import SettingsError, TrainingError
from gaancore.nn.module import Module
from gaancore.optim import Adam, PlateauSchedule, clip_grad_norm
from gaancore.system.disk import write_json
from gaancore.system.process import peak_rss_mb, rss_mb
from gaancore.train.checkpoint import Groups, belongs_to_the_run, load_checkpoint, save_checkpoint
from gaancore.train.run_folder import RunFolder, versions


@dataclass
class Progress:
    """Where a run stands, beside weights and moments. Floats survive JSON exactly."""

    step: int = 0
    best_step: int = 0
    empty_steps: int = 0  # whose targets were all missing: nothing was learned from them
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
class Run(ABC):
    """One run, from its folder or from the start. A task says how it learns and how it is scored.

    A task's own __post_init__ sets model, optimizer, schedule, data_facts and steps_per_epoch.
    """

    settings: Any
    dataset: Any
    folder: RunFolder
    device: str = "cpu"
    watcher: Watcher = field(default_factory=Watcher)
    progress: Progress = field(default_factory=Progress, init=False)
    model: Module = field(init=False)
    optimizer: Adam = field(init=False)
    schedule: PlateauSchedule = field(init=False)
    data_facts: dict[str, Any] = field(init=False)
    steps_per_epoch: int = field(init=False)

    @abstractmethod
    def _learn(self, epoch: int, step: int) -> float | None:
        """Leave the gradients of one step in the parameters; returns the loss, None if there was
        nothing to learn from. Adds to progress.edges."""

    @abstractmethod
    def _score_validation(self) -> tuple[float, dict[str, Any]]:
        """What is to grow, and all that is noted about the validation part."""

    @abstractmethod
    def _kept_with_best(self) -> Groups:
        """Arrays that the best weights are of no use without."""

    @abstractmethod
    def _outcome(self) -> dict[str, Any]:
        """What record.json says about the best weights beyond what it says of every run."""

    def _steps_between_validations(self) -> int:
        return self.steps_per_epoch

    def _logged(self) -> dict[str, Any]:
        """What the task adds to a line of the log."""
        return {}

    def start(self) -> None:
        """Make the folder of a new run."""
        self.folder.create(self.settings, self.data_facts)

    def resume(self) -> None:
        """Go back to the last saved step; a run that never saved one starts over."""
        with self.folder.held():
            if self.folder.last.exists():
                self._load_last()
            self.folder.rewind(self.progress.step)

    def set_epochs(self, epochs: int) -> None:
        """Let a resumed run end after so many epochs (0: by early stopping alone).

        What comes of it is what would have come of that number from the start, if the old end fell
        on a validation; else that end's own validation counts too.
        Raises SettingsError if it was trained for longer, if it has stopped early, or if its
        learning rate was made for its old end.
        """
        where, done = f"{self.folder.path}: epochs", self.progress.step / self.steps_per_epoch
        if getattr(self.settings, "lr_cooldown", 0):
            raise SettingsError(
                f"{where}: its learning rate falls towards the end it was given, "
                f"{self.settings.epochs}; train a new run to that length"
            )
        if self.schedule.stopped:
            raise SettingsError(
                f"{where}: it stopped early, after {done:g}, as its validation no longer improved; "
                "train a new run with more patience, --set stop_patience=N"
            )
        if 0 < epochs < done:
            raise SettingsError(f"{where}: {done:g} are done, so it cannot end after {epochs}")
        self.settings = replace(self.settings, epochs=epochs)
        self.folder.set_epochs(epochs)

    def _load_last(self) -> None:
        groups, facts = load_checkpoint(self.folder.last)
        with belongs_to_the_run(self.folder.last):
            self.model.load_state(groups["model"])
            self.optimizer.load_state(groups["adam"])
            self.progress = Progress(**facts["progress"])
            self.schedule = PlateauSchedule(**facts["schedule"])
        self.optimizer.steps = self.progress.step - self.progress.empty_steps

    def train(self) -> dict[str, Any]:
        """Run to the end and write record.json; returns its content.

        Raises RunInterrupt, with everything saved, when the watcher asks for it; TrainingError
        (naming the epoch and step) when a gradient or output is not finite; SettingsError if
        another process trains in the folder.
        """
        with self.folder.held():
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
        limit = self.settings.epochs * self.steps_per_epoch
        return self.schedule.stopped or (limit > 0 and self.progress.step >= limit)

    def _validation_is_due(self) -> bool:
        last = self.settings.epochs * self.steps_per_epoch
        due = self.progress.step % self._steps_between_validations() == 0
        return due or self.progress.step == last

    def _train_step(self) -> None:
        epoch, step = divmod(self.progress.step, self.steps_per_epoch)
        self.optimizer.lr = self._rate()
        self.model.zero_grad()
        loss = self._learn(epoch, step)
        if loss is None:
            self.progress.empty_steps += 1
        else:
            with _naming(f"epoch {epoch + 1}, step {step + 1} of {self.steps_per_epoch}"):
                clip_grad_norm(self.model.named_parameters(), self.settings.clip_norm)
                if not math.isfinite(loss):
                    raise TrainingError(f"the loss is {loss}; lower the learning rate")
            self.optimizer.step()
            self.progress.loss_sum += loss
            self.progress.loss_count += 1
        facts = {"step": self.progress.step + 1, "epoch": epoch + 1, "loss": loss or 0.0}
        self.watcher.on_step(facts)

    def _rate(self) -> float:
        """The learning rate of the next step."""
        return self.schedule.lr

    def _validate(self) -> None:
        clock = time.perf_counter()
        p = self.progress
        with _naming(f"validation after step {p.step}"):
            score, scores = self._score_validation()
        best = self.schedule.update(score) or not p.best_step
        p.seconds += time.perf_counter() - clock
        line = {
            "step": p.step,
            "epoch": p.step / self.steps_per_epoch,
            "loss": p.loss_sum / max(1, p.loss_count),
            "validation": scores,
            "lr": self.optimizer.lr,
            "best": best,
            **self._logged(),
            "edges_per_second": round(p.edges / max(p.training_seconds, 1e-9)),
            "seconds": round(p.seconds, 3),
            "rss_mb": rss_mb(),
        }
        p.loss_sum, p.loss_count, p.edges, p.training_seconds = 0.0, 0, 0, 0.0
        if best:
            p.best_step = p.step
            groups = {"model": self.model.state(), **self._kept_with_best()}
            save_checkpoint(self.folder.best, groups, {"step": p.step, "validation": scores})
        self.folder.append_log(line)
        self._save_last()
        self.watcher.on_validation(line)

    def _save_last(self) -> None:
        groups = {"model": self.model.state(), "adam": self.optimizer.state()}
        facts = {"progress": asdict(self.progress), "schedule": asdict(self.schedule)}
        save_checkpoint(self.folder.last, groups, facts)

    def load_best(self) -> dict[str, Any]:
        """Put the best weights in place; returns what was noted with them."""
        groups, facts = load_checkpoint(self.folder.best)
        with belongs_to_the_run(self.folder.best):
            self.model.load_state(groups["model"])
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
            "epochs": round(p.step / self.steps_per_epoch, 2),
            "steps": p.step,
            "best_epoch": round(p.best_step / self.steps_per_epoch, 2),
            "best_step": p.best_step,
            "stopped_early": self.schedule.stopped,
            "validation": best["validation"],
            **self._outcome(),
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
