"""A run that forecasts traffic, opened."""

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, get_args

from gaancore.choices import LatestMissing
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.find import roads_near
from gaancore.errors import DataError, SettingsError, expect_choice
from gaancore.graph import CSRGraph
from gaancore.system.paths import user_path
from gaancore.trained.forecasts import Forecast, Forecasts, on_others, on_shared, sorted_out
from gaancore.trained.opened import DEFAULT_SPLITS, OpenedRun, Scored
from gaancore.training.same_data import data_differences
from gaancore.training.traffic import words
from gaancore.training.traffic.forecaster import SpeedForecaster, load_forecaster
from gaancore.training.traffic.latest import (
    STANDS_IN,
    expect_read,
    joined,
    share_read,
)
from gaancore.training.traffic.scores.intervals import Intervals, coverage, validation_intervals
from gaancore.training.traffic.scores.scorer import PARTS, ForecastScorer, all_windows


class TrafficRun(OpenedRun):
    """A run that forecasts the speeds of sensors.

    `data` is a path in any layout or a dataset of the same sensors; by default it is the run's own.

    >>> import gaancore
    >>> from gaancore.data import synthetic_traffic
    >>> data = synthetic_traffic(num_days=2)
    >>> sizes = {"hidden_dim": 4, "num_layers": 1, "num_heads": 1, "history": 3, "horizon": 2}
    >>> run = gaancore.train(data, out="roads", epochs=1, verbose=False, **sizes)
    >>> run.forecast().speeds.shape == (2, data.num_sensors)
    True
    """

    kind_of_data = TrafficDataset
    words: ClassVar[ModuleType] = words

    @cached_property
    def forecaster(self) -> SpeedForecaster:
        """The best weights, on the run's own data."""
        return self._forecaster(self.dataset)

    def _forecaster(self, dataset: TrafficDataset) -> SpeedForecaster:
        return load_forecaster(self.folder, self.settings, dataset, self.device)

    def _asked_of(self, data: Any, dataset: TrafficDataset) -> SpeedForecaster:
        """The best weights, on `dataset`, read from `data`, which all ranks have alike."""
        found = self.forecaster if data is None else self._forecaster(dataset)
        self._expect_same(found.model, dataset.facts)
        return found

    def intervals(self, level: float) -> Intervals:
        """How far off a forecast may be, see `validation_intervals`: of the run's own data."""
        scorer = ForecastScorer(self.forecaster.dataset, self.settings, team=self.team)
        return validation_intervals(scorer, self.forecaster.predict, level)

    def forecast(
        self,
        data: str | Path | TrafficDataset | None = None,
        *,
        start: str | None = None,
        missing: LatestMissing = "refuse",
        interval: float | None = None,
    ) -> Forecast:
        """The steps after the last row, from the latest window; readings are scaled as in training.

        data    : readings of the run's sensors at its step, joined by sensor id; by default the
                  run's own. Files without a graph beside them take the run's.
        start   : the time of the first row at a path without times.
        missing : a forecast should rest on readings. `refuse` raises if a sensor has less than half
                  of its last `history` readings. The others forecast all the same: from the run's
                  `mean`, from a line between the readings of the window (`interpolate`), or from
                  what stood in for missing readings in training (`keep`).
        interval : the level of intervals, such as 0.9, see `intervals`; None for none.
        Raises DataError for other sensors or another step, if too few rows follow each other at
        the end, or if too few readings are there; SettingsError for another `missing`.
        """
        expect_choice("missing", missing, get_args(LatestMissing))
        dataset, lines, notes = self._readings(data, start)
        forecaster = self._asked_of(data, dataset)
        history = self.settings.history
        read = share_read(dataset, history)
        lines += expect_read(dataset, read, history, missing)
        if doubt := forecaster.scaler.foreign_units(dataset):
            lines.append(f"warning: {doubt}")
        speeds = forecaster.latest(STANDS_IN[missing])
        ahead = dataset.continued(len(speeds))
        times = None if ahead.times is None else ahead.times[dataset.num_steps :]
        low = high = None
        if interval is not None:
            found = self.intervals(interval)
            low, high = found.around(speeds)
            lines += on_shared(found)
        warnings, more = sorted_out(lines)
        return Forecast(
            speeds, times, dataset.sensor_ids, read, warnings, (*notes, *more), low, high
        )

    def forecast_all(
        self,
        data: str | Path | TrafficDataset | None = None,
        *,
        start: str | None = None,
        interval: float | None = None,
    ) -> Forecasts:
        """What is forecast from every window of the test part, or of other readings, beside the
        truth.

        data, start, interval : see `forecast`. Raises as it does, but for readings that are
        missing: what stood in for them in training does so here.
        """
        dataset, lines, notes = self._readings(data, start)
        differ = self._differ(data, dataset)
        if differ:
            lines += on_others(dataset, differ, self._own(), self.settings)
        forecaster = self._asked_of(data, dataset)
        scorer, part = self._scorer(dataset, own=not differ)
        if doubt := forecaster.scaler.foreign_units(dataset):
            lines.append(f"warning: {doubt}")
        speeds = scorer.predictions(forecaster.predict, part)
        ahead, last = scorer.rows_ahead(part), scorer.starts(part) + self.settings.history - 1
        truth, mask, times = dataset.speeds[ahead], dataset.valid[ahead], dataset.times
        low = high = held = None
        if interval is not None:
            found = self.intervals(interval)
            low, high = found.around(speeds)
            held = coverage(low, high, truth, mask)
            lines += on_shared(found)
        warnings, more = sorted_out(lines)
        return Forecasts(
            speeds,
            truth,
            mask,
            rows=last,
            made=None if times is None else times[last],
            times=None if times is None else times[ahead],
            sensor_ids=dataset.sensor_ids,
            low=low,
            high=high,
            coverage=held,
            warnings=warnings,
            notes=(*notes, *more),
        )

    def _readings(
        self, data: str | Path | TrafficDataset | None, start: str | None
    ) -> tuple[TrafficDataset, list[str], tuple[str, ...]]:
        """The readings that are asked about, in the run's order, what differs from the run's, a
        line each, and what was assumed when they were read.

        Raises DataError for other sensors or another step.
        """
        if data is None:
            if start is not None:
                raise SettingsError("start: the run's own data are read as in training; "
                                    "leave it out")  # fmt: skip
            dataset, lines = joined(self.facts, self.dataset)
            return dataset, lines, ()
        asked, graph = self._asked(data, start)
        dataset, lines = joined(self.facts, asked, graph)
        return dataset, lines, asked.notes

    def _asked(
        self, data: str | Path | TrafficDataset, start: str | None
    ) -> tuple[TrafficDataset, CSRGraph | None]:
        """Other readings, and the run's own graph where none is given with them; the run's own
        `start` is not that of other files.
        """
        if not isinstance(data, str | Path):
            if start is not None:
                raise SettingsError("start: these data are read already; leave it out")
            return self._given(data), None
        s, path = self.settings, user_path(data)
        changes: dict[str, Any] = {}
        graph = None
        facts: Any = self.facts
        single = len(facts["sensor_ids"]) == 1
        if not (s.graph or single or s.graph_from == "none" or roads_near(path, s.graph_from)):
            if path.exists():  # if not, whoever reads it says so
                graph = self.dataset.graph
            changes["graph_from"] = "none"
        dataset = self._load(str(data), start=start or "", **changes)
        if start is None and s.start and dataset.path == self.facts["path"]:
            dataset = self._load(str(data), **changes)
        return dataset, graph

    def evaluate(
        self,
        splits: Sequence[str] | None = None,
        *,
        data: str | Path | TrafficDataset | None = None,
        start: str | None = None,
        at: Sequence[str] = (),
        mape_min: float | None = None,
    ) -> Scored:
        """Errors of the best weights on all windows of some parts, in the data's units, or of
        other readings of the same sensors, such as a later period.

        splits   : `train`, `validation` or `test`; by default the last two. Other readings have no
                   parts: all of their windows are scored.
        data     : the same data, if they have moved or came from memory, or others, see `forecast`.
        start    : the time of the first row at another path without times.
        at       : what is reported beside the last step: minutes ahead such as `45`, or steps such
                   as `step3`; by default 15, 30 and 60 minutes, if there are such steps.
        mape_min : readings below it do not count in MAPE; by default as in training.
        Returns {split: {minutes ahead: errors}}, and for each split the errors of guesses that
        learn nothing but the usual values of the run's training part; its `notes` say what was
        assumed. Raises SettingsError for other splits, DataError for other sensors.
        """
        for split in splits or ():
            expect_choice("splits", split, PARTS)
        dataset, lines, notes = self._readings(data, start)
        differ = self._differ(data, dataset)
        own = not differ
        forecaster = self._asked_of(data, dataset)
        if not own:
            if splits:
                raise SettingsError(
                    f"splits: {dataset.where} is not the run's data ({'; '.join(differ)}): all of "
                    "its windows are scored; leave it out"
                )
            lines += on_others(dataset, differ, self._own(), self.settings)
            if doubt := forecaster.scaler.foreign_units(dataset):
                lines.append(f"warning: {doubt}")
        scorer, part = self._scorer(dataset, own=own, at=at, mape_min=mape_min)
        parts = (part,) if not own else DEFAULT_SPLITS if splits is None else splits
        found = Scored((name, scorer.score(forecaster.predict, name)) for name in parts)
        found.notes = tuple(lines) if own else (*lines, *notes)
        if own or scorer.learned is not None:
            for name in parts:
                guesses = scorer.baselines(name).items()
                found.update({f"{guess} on {name}": errors for guess, errors in guesses})
        return found

    def _differ(self, data: Any, dataset: TrafficDataset) -> list[str]:
        """How `dataset`, read from `data`, differs from the run's own."""
        return [] if data is None else data_differences(self.facts, dataset.facts())

    def _scorer(
        self,
        dataset: TrafficDataset,
        *,
        own: bool,
        at: Sequence[str] = (),
        mape_min: float | None = None,
    ) -> tuple[ForecastScorer, str]:
        """What scores the run's own data, or all windows of others, and the part to look at."""
        asked: dict[str, Any] = {"at": at, "mape_min": mape_min, "team": self.team}
        scorer_of = partial(ForecastScorer, dataset, self.settings, **asked)
        if own:
            return scorer_of(), "test"
        known = self._own()
        learned = None if known is None else (known, ForecastScorer(known, self.settings).windows)
        scorer = scorer_of(windows=all_windows(dataset, self.settings), learned=learned)
        (part,) = scorer.parts
        return scorer, part

    def _own(self) -> TrafficDataset | None:
        """The run's own data; None where they are gone, as they then are for all ranks."""
        try:
            found = self.dataset
        except (DataError, SettingsError):
            found = None
        self.team.expect_same({"the run's own data": "nothing" if found is None else "them"})
        return found

    def plot(
        self,
        folder: str | Path | None = None,
        *,
        sensors: Sequence[str] = (),
        data: str | Path | TrafficDataset | None = None,
    ) -> list[Path]:
        """Draw learning curves, forecasts against truth and errors; returns the PNG and SVG files.

        folder  : by default `plots` in the run's folder. data: the run's data, if they have moved.
        sensors : by id; by default the first.
        """
        from gaancore.plots import curves, forecasts  # matplotlib takes a second to import

        target = Path(folder) if folder is not None else self.path / "plots"
        name = f"{self.settings.model}, seed {self.settings.seed}"
        files = curves.learning_curves({name: self.path}, target / "learning-curves.png")
        forecaster = self.forecaster if data is None else self._forecaster(self.own_data(data))
        scorer = ForecastScorer(forecaster.dataset, self.settings)
        shown = sensors or forecaster.dataset.sensor_ids[:1]
        return files + forecasts.draw_plots(forecaster, scorer, shown, target)
