"""What every training run is: a loop that may stop at any step and goes on with the same bits.

Everything random is drawn from (run seed, purpose, epoch, step), so the state of a run is its
weights, Adam's moments and a few numbers; a run that is killed and resumed ends with the same bits.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import Any

from gaancore.array import Array
from gaancore.errors import SettingsError
from gaancore.optim import Adam, PlateauSchedule
from gaancore.parallel import Shares
from gaancore.system.disk import write_json
from gaancore.system.process import rss_mb
from gaancore.tensor import Tensor
from gaancore.training.checkpoint import (
    Groups,
    belongs_to_the_run,
    load_checkpoint,
    save_checkpoint,
)
from gaancore.training.prefetch import Fetch
from gaancore.training.progress import Progress, RunInterrupt, Taken, Validation, Watcher, naming
from gaancore.training.record import Record, made_record
from gaancore.training.run_folder import RunFolder, remembered
from gaancore.training.step import Step, StepGradients, expect_same_weights


class Run(ABC):
    """One run, from its folder or from the start.

    A task makes the model and says what a batch is, how it is learned from and how the model is
    scored; everything random in these is a function of the run's seed and the step's number.

    model           : on `device`, freshly initialised.
    data_facts      : what settings.json says of the data (see a dataset's `facts`).
    steps_per_epoch : batches that make an epoch.
    schedule        : takes the validation scores in.
    shares          : what each step is cut into. Its ranks do the same here, each with its own
                      shares of the data; rank 0 alone writes to the folder.
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
        shares: Shares,
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.device = device
        self.model = model
        self.data_facts = data_facts
        self.steps_per_epoch = steps_per_epoch
        self.schedule = schedule
        self.optimizer = Adam(model.named_parameters(), settings.lr)
        self.shares = shares
        self.team = shares.team
        self.gradients = StepGradients(model, device, shares)
        self.progress = Progress()
        self.watcher = Watcher()
        self._waiting: list[Taken] = []  # steps of which nothing is noted yet

    dataset: Any  # what is learned from
    notes: tuple[str, ...] = ()  # what the user should know before it begins, a line each

    @abstractmethod
    def fetch(self) -> Fetch[Step]:
        """This rank's part of each step from the present one on. A batch of a step has `parts`,
        what it is cut into (WHOLE alone, or pieces), and `edges`, those it goes over.
        """

    @abstractmethod
    def forward(self, model: Any, batch: Any, part: Any) -> Tensor:
        """What `model` (this run's, or a twin of it) makes of one part of a batch."""

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Any, part: Any, count: int) -> Tensor:
        """What that part adds to the loss of a step over `count` targets."""

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
        another process trains in the folder. All ranks raise what one of them does.
        """
        with self._held(), self.fetch() as batches:
            while not self._finished():
                clock = time.perf_counter()
                self._account(self._step(batches))
                self.progress.count_seconds(time.perf_counter() - clock)
                if self._validation_is_due():
                    self._validate(batches)
                if self.team.any(self.watcher.stop_requested()) and not self._finished():
                    self._note()
                    self.team.from_first(self._save_last)
                    raise RunInterrupt
            return self._write_record()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Inside, this run alone writes to the folder (see RunFolder.held)."""
        with ExitStack() as stack:
            self.team.from_first(lambda: stack.enter_context(self.folder.held()))
            yield

    def _step(self, batches: Fetch[Step]) -> Taken:
        """Fetch, forward, loss, backward, clip, step; before that a CPU raises TrainingError."""
        p = self.progress
        epoch, number = divmod(p.step, self.steps_per_epoch)
        where = f"epoch {epoch + 1}, step {number + 1} of {self.steps_per_epoch}"
        self.optimizer.lr = self.rate()
        with naming(where), self.team.together():
            step = next(batches)

            def learn(batch: Any, model: Any, part: Any) -> Array:
                outputs = self.forward(model, batch, part)
                loss = self.loss(outputs, batch, part, step.count)
                loss.backward()
                return loss.data

            loss, edges = self.gradients.of(learn, step, batches.prepare)
            p.edges += edges
            norm = self.optimizer.clip(self.settings.clip_norm) if step.count else loss
            taken = Taken(where, p.step + 1, epoch + 1, loss, norm, step.count)
            if step.count:  # else there is nothing to learn from
                if self.device == "cpu":
                    taken.loss()
                self.optimizer.step()
        return taken

    def _account(self, taken: Taken) -> None:
        """Count a step, and note what it did: on a GPU one step late, while it is at the next."""
        self.progress.step += 1
        self._waiting.append(taken)
        self._note(all_but=int(self.device != "cpu"))

    def _note(self, all_but: int = 0) -> None:
        """Wait for the steps that are not noted yet."""
        while len(self._waiting) > all_but:
            taken, p = self._waiting.pop(0), self.progress
            with naming(taken.where):
                loss = taken.loss()
            p.count_loss(loss, taken.targets)
            self.watcher.on_step({"step": taken.step, "epoch": taken.epoch, "loss": loss})

    def start(self, *, alone: bool = False) -> None:
        """Make the folder of a new run; `alone`: one that was not there."""
        self.folder.create(self.settings, self.data_facts, alone=alone)

    def resume(self) -> None:
        """Go back to the last saved step; a run that never saved one starts over."""
        with self._held():
            if saved := self.team.from_first(self._read_last):
                self._load_last(*saved)
            self.team.from_first(lambda: self.folder.rewind(self.progress.step))

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
        self.team.from_first(lambda: self.folder.set_epochs(epochs))

    def _read_last(self) -> tuple[Groups, dict[str, Any]] | None:
        return load_checkpoint(self.folder.last) if self.folder.last.exists() else None

    def _load_last(self, groups: Groups, facts: dict[str, Any]) -> None:
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
        self._note()
        clock, p = time.perf_counter(), self.progress
        with naming(f"validation after step {p.step}"), self.team.together():
            expect_same_weights(self.model, self.team)
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
            "waiting_share": p.share_of_training(batches.waited),
            "edges_per_second": round(p.edges / max(p.training_seconds, 1e-9)),
            "seconds": round(p.seconds, 3),
            "rss_mb": rss_mb(),
        }
        if self.team.size > 1:
            line["exchange_share"] = p.share_of_training(self.gradients.exchanged)
        p.loss_sum, p.loss_count, p.edges, p.training_seconds = 0.0, 0, 0, 0.0
        self.gradients.exchanged = batches.waited = 0.0
        if best:
            p.best_step = p.step
        self.team.from_first(lambda: self._save(line))
        self.watcher.on_validation(line)

    def _save(self, line: dict[str, Any]) -> None:
        """Write down a validation, and where the run stands."""
        if line["best"]:
            groups = {"model": self.model.state(), **self.kept_with_best()}
            facts = {"step": line["step"], "validation": line["validation"]}
            facts["settings"] = remembered(self.settings)
            save_checkpoint(self.folder.best, groups, facts)
        self.folder.append_log(line)
        self._save_last()

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
        groups, facts = self.team.from_first(lambda: load_checkpoint(self.folder.best))
        with belongs_to_the_run(self.folder.best):
            self.model.load_state(groups["model"])
        return facts

    def _write_record(self) -> Record:
        with self.team.together():
            best = self.load_best()
            record = made_record(self, best["validation"], self.outcome())
        self.team.from_first(lambda: write_json(self.folder.record_file, record))
        return record
