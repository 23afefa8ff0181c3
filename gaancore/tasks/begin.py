"""From data and settings to a run that is about to train: a new one, or one that goes on."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gaancore import parallel
from gaancore.data.parts.dataset import PartedDataset, parted_at, with_cache
from gaancore.errors import SettingsError
from gaancore.parallel import ALONE, Team
from gaancore.system.paths import user_path
from gaancore.tasks import Task, choose, task_named
from gaancore.tasks.ranks import SHARES, expect_same_run, ranks_in_words
from gaancore.training.choices import Layer, differences, with_changes
from gaancore.training.run import Run
from gaancore.training.run_folder import FolderTakenError, RunFolder
from gaancore.training.same_data import expect_same_data, not_compared
from gaancore.training.scalars import expect_tensorboard

RUNS = Path("runs")


@dataclass(frozen=True)
class Begun:
    """A run, its task, and what was chosen for the user, a line each."""

    run: Run
    task: Task
    lines: tuple[str, ...] = ()

    def opening(self) -> list[str]:
        """What is trained on what, and where it goes, a line each."""
        run, data = self.run, self.run.data_facts
        synthetic, s = data["kind"] == "synthetic", run.settings
        source = data["path"] or ("built in" if synthetic else "from memory")
        return [
            *(data["notes"][:1] if synthetic else ()),
            f"data: {source}: {self.task.words.data(data)}",
            *self.lines,
            *(f"note: {note}" for note in run.notes),
            *(f"note: {note}" for note in (() if synthetic else data["notes"])),
            f"model: {s.model}, variant {s.variant}, {run.model.num_parameters:,} parameters, "
            f"{run.steps_per_epoch} steps an epoch, seed {s.seed}, on {run.device}",
            f"run: {run.folder.path}",
        ]


def begin(
    data: str | Path | Any = None,
    *,
    task: str | None = None,
    out: str | os.PathLike[str] | None = None,
    device: str = "auto",
    prefetch: int | None = None,
    tensorboard: bool = False,
    cache: float | None = None,
    layers: Sequence[Layer] = (),
    team: Team | None = None,
) -> Begun:
    """A new run in a folder of its own.

    data   : a path in any layout, a dataset, or None for the task's data in the user's data folder,
             else its built-in look-alike.
    task   : by default what fits the data (see `choose`); without data `ppi`.
    out    : folder, by default runs/TASK-MODEL-VARIANT-seedN, with a number where that is taken.
    tensorboard : write the log for TensorBoard too, see `EventFile`.
    cache  : of a store in parts, the share of the nodes whose rows each rank keeps (OpenParts).
    layers : settings asked for, weakest first.
    team   : the ranks that train it together, by default those that a launcher has started.
    Raises SettingsError, DataError; in all ranks what one of them finds.
    """
    team = parallel.team() if team is None else team
    with team.together():
        data = _in_parts(data, cache)
        return _begun(team, data, task, out, device, prefetch, tensorboard, layers)


def _begun(
    team: Team,
    data: str | Path | Any,
    task: str | None,
    out: str | os.PathLike[str] | None,
    device: str,
    prefetch: int | None,
    tensorboard: bool,
    layers: Sequence[Layer],
) -> Begun:
    if tensorboard:  # before anything is read
        expect_tensorboard()
    lines: list[str] = []
    named = frozenset(name for _, changes in layers for name in changes)
    if team is not ALONE:
        layers = [("", {"shares": SHARES}), *layers]
    if task is None and data is not None:
        chosen = choose(data, layers)
        what, dataset = chosen.task, chosen.dataset
        lines.append(chosen.words)
    else:
        what = task_named(task or "ppi")
        in_memory = data is not None and not isinstance(data, str | Path)
        path = None if data is None else str(data)
        dataset = data if in_memory else what.load(path, what.settings(*layers))
    settings, words = what.settled(dataset, *layers, named=named)
    if words is not None:
        lines.append(words)
    where = iter([user_path(out)]) if out else _free_names(settings)
    folder_at = partial(RunFolder, tensorboard=tensorboard)
    run = what.run(settings, dataset, folder_at(next(where)), device, prefetch, team)
    expect_same_run(run)

    def start() -> str:
        while True:
            try:
                run.start(alone=not out)
                return str(run.folder.path)
            except FolderTakenError:
                if out:
                    raise
                run.folder = folder_at(next(where))

    run.folder = folder_at(Path(team.from_first(start)))
    return Begun(run, what, (*lines, *ranks_in_words(run)))


def _in_parts(data: Any, cache: float | None) -> Any:
    """The PartedDataset where `data` is the path of one, else `data`."""
    found = parted_at(data)
    if isinstance(found, PartedDataset):  # absolute, so that the run can be gone on with anywhere
        found = replace(found, path=str(Path(found.path).absolute()))
    return found if cache is None else with_cache(found, cache)


def _free_names(settings: Any) -> Iterator[Path]:
    """runs/TASK-MODEL-VARIANT-seedN, then with a number behind it; only those that are free."""
    name = f"{settings.task}-{settings.model}-{settings.variant}-seed{settings.seed}"
    number = 1
    while True:
        path = RUNS / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            yield path
        number += 1


def resume(
    path: str | os.PathLike[str],
    data: str | Any = None,
    *,
    device: str = "auto",
    prefetch: int | None = None,
    tensorboard: bool = False,
    cache: float | None = None,
    layers: Sequence[Layer] = (),
    team: Team | None = None,
) -> Begun:
    """The run in folder `path`, from its last saved step on, with the same bits as if it had never
    stopped.

    data   : the run's data, if they have moved or came from memory.
    layers : settings that the user names again: they must be the run's, except for `epochs`, which
             may be another number.
    tensorboard : write the log, from its beginning, for TensorBoard too.
    cache  : as in `begin`; it changes no bit.
    team   : as in `begin`; any number of ranks goes on with the same bits.
    Raises SettingsError if a setting or the data differ, DataError if there is no run.
    """
    team = parallel.team() if team is None else team
    with team.together():
        folder = RunFolder(user_path(path), tensorboard=tensorboard)
        return _resumed(team, folder, data, device, prefetch, cache, layers)


def _resumed(
    team: Team,
    folder: RunFolder,
    data: str | Any,
    device: str,
    prefetch: int | None,
    cache: float | None,
    layers: Sequence[Layer],
) -> Begun:
    content = team.from_first(folder.read_settings)
    what = task_named(content["settings"]["task"])
    settings, facts = what.understood(folder, content)
    asked = with_changes(settings, *layers)
    if changed := differences(replace(settings, epochs=asked.epochs), asked):
        raise SettingsError(
            f"{folder.path}: a resumed run keeps its settings, but these differ: "
            + "; ".join(changed)
        )
    there = _in_parts(facts["path"] if data is None else data, cache)
    in_memory = there is not None and not isinstance(there, str | Path)
    dataset = there if in_memory else what.load_again(folder, settings, facts, data)
    run = what.run(settings, dataset, folder, device, prefetch, team)
    expect_same_data(folder.path, facts, run.data_facts)
    expect_same_run(run)
    run.resume()
    lines = []
    if lost := team.from_first(lambda: folder.lost_lines(run.progress.best_step)):
        lines.append(lost)
    complete = team.from_first(folder.record_file.exists)
    if asked.epochs != settings.epochs:
        run.set_epochs(asked.epochs)
    elif complete:
        lines.append(_complete(run))
    if unknown := not_compared(facts):
        lines.append(f"note: {unknown}")
    return Begun(run, what, (*lines, *ranks_in_words(run)))


def _complete(run: Run) -> str:
    """What to tell of a run that had ended before it was resumed."""
    done = f"{run.progress.step / run.steps_per_epoch:g} epochs"
    if run.schedule.stopped:
        return f"the run is complete: it stopped early, after {done}; nothing is left to train"
    return (
        f"the run is complete: its {done} are done, nothing is left to train; with a larger number "
        "of epochs it goes on"
    )
