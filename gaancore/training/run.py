"""What every training run is: a loop that may stop at any step and goes on with the same bits.

Everything random is drawn from (run seed, purpose, epoch, step), so the state of a run is its
weights, Adam's moments and a few numbers; a run that is killed and resumed ends with the same bits.
"""

import time
from abc import ABC, abstractmethod
from dataclasses import asdict, replace
from typing import Any

from gaancore.array import Array, to_host_later
from gaancore.errors import SettingsError
from gaancore.optim import Adam, PlateauSchedule
from gaancore.system.disk import write_json
from gaancore.system.process import peak_rss_mb, rss_mb
from gaancore.system.versions import versions
from gaancore.tensor import Tensor
from gaancore.training.checkpoint import (
    Groups,
    belongs_to_the_run,
    load_checkpoint,
    save_checkpoint,
)
from gaancore.training.pieces import Gradients
from gaancore.training.prefetch import Fetch
from gaancore.training.progress import Progress, RunInterrupt, Taken, Validation, Watcher, naming
from gaancore.training.record import SCHEMA, Record
from gaancore.training.run_folder import RunFolder, remembered


class Run(ABC):
    """One run, from its folder or from the start.

    A task makes the model and says what a batch is, how it is learned from and how the model is
    scored; everything random in these is a function of the run's seed and the step's number.

    model           : on `device`, freshly initialised.
    data_facts      : what settings.json says of the data (see a dataset's `facts`).
    steps_per_epoch : batches that make an epoch.
    schedule        : takes the validation scores in.
    """

    def __init__(
        self,
        settings: Any,
        folder: RunFolder,
        device: str,
        *,
        model: Any,
        data_facts: dict[str, Any],
        steps_per_epoch: int,
        schedule: PlateauSchedule,
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.device = device
        self.model = model
        self.data_facts = data_facts
        self.steps_per_epoch = steps_per_epoch
        self.schedule = schedule
        self.optimizer = Adam(model.named_parameters(), settings.lr)
        self.gradients = Gradients(model, device)
        self.progress = Progress()
        self.watcher = Watcher()
        self._late: Taken | None = None  # the step that a GPU is at

    dataset: Any  # what is learned from
    notes: tuple[str, ...] = ()  # what the user should know before it begins, a line each

    @abstractmethod
    def fetch(self) -> Fetch[Any]:
        """The batches from the present step on. A batch has `parts`, what it is cut into (WHOLE
        alone, or pieces); `count`, the targets it is about; and `edges`, those it goes over.
        """

    @abstractmethod
    def forward(self, model: Any, batch: Any, part: Any) -> Tensor:
        """What `model` (this run's, or a twin of it) makes of one part of a batch."""

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Any, part: Any) -> Tensor:
        """The share of that part in the loss of the batch."""

    @abstractmethod
    def validate(self) -> Validation:
        """Score the validation part."""

    @abstractmethod
    def kept_with_best(self) -> Groups:
        """Arrays that the best weights are of no use without."""

    @abstractmethod
    def outcome(self) -> dict[str, Any]:
        """What record.json says about the best weights beyond what it says of every run."""

    def steps_between_validations(self) -> int:
        return self.steps_per_epoch

    def rate(self) -> float:
        """The learning rate of the next step."""
        return self.schedule.lr

    def train(self) -> Record:
        """Run to the end and write record.json; returns its content.

        Raises RunInterrupt, with everything saved, when the watcher asks for it; TrainingError
        (naming the epoch and step) when a gradient or output is not finite; SettingsError if
        another process trains in the folder.
        """
        with self.folder.held(), self.fetch() as batches:
            while not self._finished():
                clock = time.perf_counter()
                self._account(self._step(batches))
                seconds = time.perf_counter() - clock
                self.progress.training_seconds += seconds
                self.progress.seconds += seconds
                if self._validation_is_due():
                    self._settle()
                    self._validate(batches)
                if self.watcher.stop_requested() and not self._finished():
                    self._settle()
                    self._save_last()
                    raise RunInterrupt
            return self._write_record()

    def _step(self, batches: Fetch[Any]) -> Taken:
        """Fetch, forward, loss, backward, clip, step. A GPU is not waited for; a CPU raises
        TrainingError before it moves a weight.
        """
        p = self.progress
        epoch, number = divmod(p.step, self.steps_per_epoch)
        where = f"epoch {epoch + 1}, step {number + 1} of {self.steps_per_epoch}"
        self.optimizer.lr = self.rate()
        with naming(where):
            batch = next(batches)
        p.edges += batch.edges
        if not batch.count:
            return Taken(where, p.step + 1, epoch + 1, (), lambda: 0.0, 0)

        def learn(model: Any, part: Any) -> Array:
            outputs = self.forward(model, batch, part)
            loss = self.loss(outputs, batch, part)
            loss.backward()
            return loss.data

        self.model.zero_grad()
        with naming(where):
            losses = [to_host_later(part) for part in self.gradients.of(learn, batch.parts)]
            batches.prepare()
            norm = self.optimizer.clip(self.settings.clip_norm)
        taken = Taken(where, p.step + 1, epoch + 1, losses, norm, batch.count)
        if self.device == "cpu":
            taken.loss()
        self.optimizer.step()
        return taken

    def _account(self, taken: Taken) -> None:
        """Count a step, and note what it did: on a GPU one step late, while it is at the next."""
        self.progress.step += 1
        if self.device == "cpu":
            self._note(taken)
            return
        before, self._late = self._late, taken
        if before:
            self._note(before)

    def _settle(self) -> None:
        """Wait until all is noted."""
        before, self._late = self._late, None
        if before:
            self._note(before)

    def _note(self, taken: Taken) -> None:
        loss, p = taken.loss(), self.progress
        p.empty_steps += not taken.targets
        p.loss_sum += loss * taken.targets  # each target weighs the same, in short batches too
        p.loss_count += taken.targets
        self.watcher.on_step({"step": taken.step, "epoch": taken.epoch, "loss": loss})

    def start(self, *, alone: bool = False) -> None:
        """Make the folder of a new run; `alone`: one that was not there."""
        self.folder.create(self.settings, self.data_facts, alone=alone)

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
        Raises SettingsError if it was trained for longer, or if it has stopped early.
        """
        where, done = f"{self.folder.path}: epochs", self.progress.step / self.steps_per_epoch
        if self.schedule.stopped:
            raise SettingsError(
                f"{where}: it stopped early, after {done:g}, as its validation no longer improved; "
                "train a new run with a larger stop_patience"
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
            if "adam_steps" in facts:
                self.optimizer.steps = {name: facts["adam_steps"][name] for name in groups["model"]}
                return
        # gaancore 0.1 kept one count for all parameters, and summed the loss by steps, not targets
        common = self.progress.step - self.progress.empty_steps
        self.optimizer.steps = dict.fromkeys(self.optimizer.steps, common)
        self.progress = replace(self.progress, loss_sum=0.0, loss_count=0)

    def _finished(self) -> bool:
        limit = self.settings.epochs * self.steps_per_epoch
        return self.schedule.stopped or (limit > 0 and self.progress.step >= limit)

    def _validation_is_due(self) -> bool:
        last = self.settings.epochs * self.steps_per_epoch
        due = self.progress.step % self.steps_between_validations() == 0
        return due or self.progress.step == last

    def _validate(self, batches: Fetch[Any]) -> None:
        clock = time.perf_counter()
        p = self.progress
        with naming(f"validation after step {p.step}"):
            found = self.validate()
        best = self.schedule.update(found.score) or not p.best_step
        p.seconds += time.perf_counter() - clock
        line = {
            "step": p.step,
            "epoch": p.step / self.steps_per_epoch,
            "loss": p.loss_sum / max(1, p.loss_count),
            "validation": found.scores,
            "lr": self.optimizer.lr,
            "best": best,
            **found.logged,
            "waiting_share": round(batches.waited / max(p.training_seconds, 1e-9), 4),
            "edges_per_second": round(p.edges / max(p.training_seconds, 1e-9)),
            "seconds": round(p.seconds, 3),
            "rss_mb": rss_mb(),
        }
        p.loss_sum, p.loss_count, p.edges, p.training_seconds = 0.0, 0, 0, 0.0
        batches.waited = 0.0
        if best:
            p.best_step = p.step
            groups = {"model": self.model.state(), **self.kept_with_best()}
            facts = {"step": p.step, "validation": found.scores}
            facts["settings"] = remembered(self.settings)
            save_checkpoint(self.folder.best, groups, facts)
        self.folder.append_log(line)
        self._save_last()
        self.watcher.on_validation(line)

    def _save_last(self) -> None:
        groups = {"model": self.model.state(), "adam": self.optimizer.state()}
        facts = {
            "progress": asdict(self.progress),
            "schedule": asdict(self.schedule),
            "adam_steps": self.optimizer.steps,
            "settings": remembered(self.settings),
        }
        save_checkpoint(self.folder.last, groups, facts)

    def load_best(self) -> dict[str, Any]:
        """Put the best weights in place; returns what was noted with them."""
        groups, facts = load_checkpoint(self.folder.best)
        with belongs_to_the_run(self.folder.best):
            self.model.load_state(groups["model"])
        return facts

    def _write_record(self) -> Record:
        best = self.load_best()
        s, p = self.settings, self.progress
        record: Any = {
            "schema": SCHEMA,
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
            **self.outcome(),
            "seconds": round(p.seconds, 3),
            "peak_rss_mb": peak_rss_mb(),
            "settings": asdict(s),
            "versions": versions(),
        }
        write_json(self.folder.record_file, record)
        return record
