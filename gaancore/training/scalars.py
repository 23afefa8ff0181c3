"""The numbers of a run's log, flat: columns of log.csv, and scalars of TensorBoard."""

import csv
import importlib
import io
import json
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gaancore.errors import SettingsError


def flat(line: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """The values of a log line by their names from the outside in.

    Places in lists count from 1, as layers and heads do.

    >>> flat({"step": 4, "validation": {"micro_f1": 0.5}, "gates": [{"mean": [0.1, 0.2]}]})
    {('step',): 4, ('validation', 'micro_f1'): 0.5, ('gates', '1', 'mean', '1'): 0.1, \
('gates', '1', 'mean', '2'): 0.2}
    """
    return dict(_leaves((), line))


def _leaves(name: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, list):
        value = dict(enumerate(value, start=1))
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inner in value.items():
        yield from _leaves((*name, str(key)), inner)


def csv_text(log: Sequence[Mapping[str, Any]]) -> str:
    """A header and a row for each line of a log, with the digits of log.jsonl.

    Columns are the names of `flat` with dots between; what a line lacks is an empty cell.

    >>> print(csv_text([{"step": 4, "best": True}, {"step": 8, "validation": {"mae": None}}]))
    step,best,validation.mae
    4,true,
    8,,
    <BLANKLINE>
    """
    lines = [flat(line) for line in log]
    columns = dict.fromkeys(name for line in lines for name in line)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if columns:
        writer.writerow(".".join(name) for name in columns)
    for line in lines:
        writer.writerow(_cell(line.get(name)) for name in columns)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def expect_tensorboard() -> None:
    """Raises SettingsError where what writes for TensorBoard is not installed."""
    try:
        importlib.import_module("tensorboardX")
    except ImportError:
        raise SettingsError(
            "tensorboard: the package that writes for it is missing; pip install tensorboardX"
        ) from None


class EventFile:
    """The log of a run as scalars that TensorBoard shows, in a folder of their own.

    A process that goes on with a run removes older files and writes the whole log so far into a new
    one, which tells a running TensorBoard to forget the points it has: no point is there twice, and
    none is missing.
    A point's time is that of the training, so that it does not jump where a run was interrupted.

    Raises SettingsError as `expect_tensorboard`.
    """

    def __init__(self, folder: Path) -> None:
        expect_tensorboard()
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto import event_pb2, summary_pb2

        self.folder = folder
        self._open, self._event, self._summary = EventsWriter, event_pb2, summary_pb2
        self._writer: Any = None

    def rewrite(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Begin a new file with the lines of `log`. Raises OSError if it cannot be written."""
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.glob("events.out.tfevents.*"):
            path.unlink(missing_ok=True)
        self._writer = self._open(str(self.folder / "events"))
        weakref.finalize(self, self._writer.close)
        self._origin = time.time() - (log[-1].get("seconds", 0.0) if log else 0.0)
        start = self._event.SessionLog(status=self._event.SessionLog.START)
        self._writer.write_event(self._event.Event(session_log=start, wall_time=self._origin))
        for line in log:
            self._write(line)
        self._writer.flush()

    def add(self, line: Mapping[str, Any]) -> None:
        """Add one line of the log. Raises OSError if it cannot be written."""
        if self._writer is None:
            self.rewrite([])
        self._write(line)
        self._writer.flush()

    def _write(self, line: Mapping[str, Any]) -> None:
        values = [
            self._summary.Summary.Value(tag="/".join(name), simple_value=value)
            for name, value in flat(line).items()
            if isinstance(value, bool | int | float) and name != ("step",)
        ]
        self._writer.write_event(
            self._event.Event(
                step=line["step"],
                wall_time=self._origin + line.get("seconds", 0.0),
                summary=self._summary.Summary(value=values),
            )
        )
