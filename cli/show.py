"""What a run looks like on a terminal; nothing moves where there is none."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from gaancore.train.classify import ClassifierRun
from gaancore.train.record import RunFolder
from gaancore.train.run import Watcher


class Display:
    """Opening lines, a progress bar, a closing table; `quiet` leaves the result line only."""

    def __init__(self, quiet: bool) -> None:
        self.console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
        self.quiet = quiet
        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]:.0f}"),
            BarColumn(bar_width=24),
            TextColumn("loss {task.fields[loss]:.4f}  {task.fields[validated]}"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )

    def say(self, line: str) -> None:
        self.console.print(line)

    def begin(self, run: ClassifierRun) -> None:
        """What is trained on what, and where it goes."""
        data = run.data_facts
        synthetic = data["kind"] == "synthetic"
        if synthetic:
            self.say(data["notes"][0])
        if not self.quiet:
            train, validation, test = data["nodes_per_split"]
            self.say(
                f"data: {data['path'] or 'built in'}: {data['num_nodes']:,} nodes, "
                f"{data['num_edges']:,} arcs, {data['num_features']} features, "
                f"{data['num_classes']} labels; train {train:,}, validation {validation:,}, "
                f"test {test:,} nodes"
            )
            for note in [] if synthetic else data["notes"]:
                self.say(f"note: {note}")
            s = run.settings
            self.say(
                f"model: {s.model}, variant {s.variant}, {run.model.num_parameters:,} parameters, "
                f"{run.batches.steps_per_epoch} steps an epoch, seed {s.seed}, on {run.device}"
            )
            self.say(f"run: {run.folder.path}")
        total = run.settings.epochs * run.batches.steps_per_epoch
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
            self.bar.update(
                self.task,
                validated=f"val F1 {line['validation']['micro_f1']:.4f}  lr {line['lr']:.2g}  "
                f"{line['edges_per_second'] / 1e6:.1f} M edges/s",
            )

        return Watcher(on_step, on_validation, stop_requested)

    def __enter__(self) -> None:
        self.bar.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def end(self, record: dict[str, Any], folder: RunFolder) -> None:
        """The closing table, or one line if quiet; what the scores do not mean comes last."""
        if self.quiet:
            self.say(f"{folder.path}: test micro-F1 {record['test']['micro_f1']:.4f}")
        else:
            self._sum_up(record, folder)
        if record["data"]["kind"] == "synthetic":
            self.say(" ".join(record["data"]["notes"]))

    def _sum_up(self, record: dict[str, Any], folder: RunFolder) -> None:
        validation, majority = record["validation"], record["majority"]
        rows = {"test": record["test"], "validation": validation, "majority on test": majority}
        if "ceiling_micro_f1" in record["data"]:
            rows["ceiling on test"] = {"micro_f1": record["data"]["ceiling_micro_f1"]}
        self.console.print(score_table(rows))
        self.say(
            f"best epoch {record['best_epoch']:g} of {record['epochs']:g}"
            f"{' (stopped early)' if record['stopped_early'] else ''}; "
            f"{record['num_parameters']:,} parameters; {record['seconds']:.1f} s; "
            f"{_memory(folder)}peak {record['peak_rss_mb']:.0f} MB"
        )
        self.say(f"written: {folder.record_file}")
        if validation["micro_f1"] <= majority["micro_f1"]:
            self.say(
                "warning: no better than the majority; check that labels and features are in "
                "the same order, and try --normalize standard or another --lr"
            )


def score_table(rows: dict[str, dict[str, float]]) -> Table:
    """A line for each name, with its scores to four digits."""
    table = Table("", "micro-F1", "macro-F1")
    for name, scores in rows.items():
        cells = [f"{scores[key]:.4f}" if key in scores else "" for key in ("micro_f1", "macro_f1")]
        table.add_row(name, *cells)
    return table


def _memory(folder: RunFolder) -> str:
    """How the memory in use has grown since the second validation."""
    held = [line["rss_mb"] for line in folder.read_log()]
    if len(held) < 3:
        return ""
    return f"memory {held[1]:.0f} MB after the second validation, {held[-1]:.0f} MB at the end, "
