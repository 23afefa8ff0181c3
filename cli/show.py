"""What a run looks like on a terminal; where there is none, lines stand for what moves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from gaancore.progress import listening
from gaancore.training.progress import Watcher, doubts_of_log

if TYPE_CHECKING:
    from gaancore.reproduce.plan import TableRun
    from gaancore.tasks.begin import Begun
    from gaancore.training.run_folder import RunFolder


class _WithBar:
    """A console, and a bar on it that moves inside `with`."""

    console: Console
    bar: Progress

    def say(self, line: str) -> None:
        self.console.print(line)

    def __enter__(self) -> None:
        self.bar.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()


class Display(_WithBar):
    """Opening lines, a progress bar, a closing table; `quiet` leaves the result line only, and
    `silent` nothing.
    """

    def __init__(self, quiet: bool, silent: bool = False) -> None:
        self.console = Console(
            soft_wrap=True, highlight=False, markup=False, emoji=False, quiet=silent
        )
        self.quiet = quiet
        self.bar = Progress(  # at most 78 columns
            TextColumn("epoch {task.fields[epoch]:.0f}"),
            BarColumn(bar_width=10),
            TextColumn("loss {task.fields[loss]:.4g}  {task.fields[validated]}"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=quiet or silent or not self.console.is_terminal,
        )

    def begin(self, begun: "Begun") -> None:
        """What is trained on what, and where it goes."""
        run, self.words = begun.run, begun.task.words
        synthetic = run.data_facts["kind"] == "synthetic"
        for line in run.data_facts["notes"][:1] if self.quiet and synthetic else ():
            self.say(line)
        for line in () if self.quiet else begun.opening():
            self.say(line)
        total = run.settings.epochs * run.steps_per_epoch
        self.task = self.bar.add_task(
            "", total=total or None, completed=run.progress.step, epoch=0, loss=0.0, validated=""
        )

    def watcher(self, stop_requested: Callable[[], bool]) -> Watcher:
        """What the run reports to."""

        def on_step(facts: dict[str, Any]) -> None:
            self.bar.update(
                self.task, completed=facts["step"], epoch=facts["epoch"], loss=facts["loss"]
            )

        def on_validation(line: dict[str, Any]) -> None:
            validated = self.words.validated(line)
            self.bar.update(self.task, validated=validated.partition("  ")[0])
            if not self.quiet and not self.console.is_terminal:
                self.say(
                    f"epoch {line['epoch']:.4g}: loss {line['loss']:.4g}  {validated}  "
                    f"lr {line['lr']:.2g}  {line['edges_per_second'] / 1e6:.1f} M edges/s  "
                    f"{line['seconds']:.0f} s"
                )

        return Watcher(on_step, on_validation, stop_requested)

    def end(self, record: Any, folder: "RunFolder") -> None:
        """The closing table, or one line if quiet; what the scores do not mean comes last."""
        if self.quiet:
            self.say(f"{folder.path}: {self.words.result(record)}")
        else:
            self._sum_up(record, folder)
        if record["data"]["kind"] == "synthetic":
            self.say(" ".join(record["data"]["notes"]))

    def _sum_up(self, record: Any, folder: "RunFolder") -> None:
        print_whole(self.console, score_table(self.words, self.words.rows(record)))
        self.say(
            f"best epoch {record['best_epoch']:g} of {record['epochs']:g}"
            f"{' (stopped early)' if record['stopped_early'] else ''}; "
            f"{record['num_parameters']:,} parameters; {record['seconds']:.1f} s; "
            f"{_memory(folder)}peak {record['peak_rss_mb']:.0f} MB"
        )
        self.say(f"written: {folder.record_file}")
        for doubt in [*self.words.doubts(record), *doubts_of_log(folder.read_log())]:
            self.say(doubt)


def score_table(words: Any, scores: dict[str, dict[str, Any]]) -> Table:
    """A line for each thing that was scored, as `words` (of a task) has it."""
    table = Table(*words.columns(scores), caption=words.caption(scores))
    for name in scores:
        table.add_row(name, *words.cells(scores, name))
    return table


def print_whole(console: Console, table: Table) -> None:
    """Print a table with every figure on its line, however narrow the console: a pipe has no
    width, and a terminal that wraps lines loses nothing."""
    unbounded = console.options.update(max_width=1000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)


class JobsDisplay(_WithBar):
    """A line for each run under way, on a terminal; one for each that has ended, everywhere."""

    def __init__(self) -> None:
        self.console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
        self.bar = Progress(
            TextColumn("{task.fields[name]}"),
            TextColumn("epoch {task.fields[epoch]:.1f}  {task.fields[validated]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}

    def watch(self, runs: "Sequence[TableRun]") -> None:
        """Show the last validation of each."""
        if self.bar.disable:
            return
        for run in runs:
            if run.name not in self.tasks:
                self.tasks[run.name] = self.bar.add_task(
                    "", total=None, name=run.name, epoch=0.0, validated=""
                )
            if line := run.last_validation():
                words = run.task.words.validated(line)
                self.bar.update(self.tasks[run.name], epoch=line["epoch"], validated=words)

    def ended(self, run: "TableRun", outcome: str) -> None:
        """Say how a run ended; one that went wrong does not stop the others."""
        if run.name in self.tasks:
            self.bar.remove_task(self.tasks.pop(run.name))
        if outcome == "done":
            outcome = run.task.words.result(run.record())
        self.console.print(f"{run.name}: {outcome}")


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar for one piece of work, on a terminal; gives what is told the share that is done."""
    console = Console()
    bar = Progress(
        TextColumn(title),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("eta"),
        TimeRemainingColumn(),
        transient=True,
        console=console,
        disable=quiet or not console.is_terminal,
    )
    task = bar.add_task("", total=1.0)
    with bar:
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def phases(quiet: bool = False) -> Iterator[None]:
    """On a terminal, a bar for what is being done inside, as the program tells (see `tell`)."""
    console = Console()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        transient=True,
        console=console,
        disable=quiet or not console.is_terminal,
    )
    task = bar.add_task("", total=1.0, visible=False)

    def hear(what: str, share: float) -> None:
        if bar.tasks[0].description != what:
            bar.reset(task, description=what, visible=True)
        bar.update(task, completed=share, total=1.0 if share else None)

    with bar, listening(hear):
        yield


def _memory(folder: "RunFolder") -> str:
    """How the memory in use has grown since the second validation."""
    held = [line["rss_mb"] for line in folder.read_log() if "rss_mb" in line]
    if len(held) < 3:
        return ""
    return f"memory {held[1]:.0f} MB after the second validation, {held[-1]:.0f} MB at the end, "
