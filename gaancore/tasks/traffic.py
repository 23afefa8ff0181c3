"""Tasks that forecast the speeds of sensors."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from gaancore.choices import WIDTHS
from gaancore.data import load_metr_la, split_windows, synthetic_traffic
from gaancore.data.summary import summarize_traffic
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.roads import with_correlated
from gaancore.nn.module import Module
from gaancore.parallel import ALONE, Team
from gaancore.system.paths import user_path
from gaancore.tasks.task import Task
from gaancore.trained.traffic import TrafficRun
from gaancore.training.choices import Layer, with_changes
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic import words
from gaancore.training.traffic.build import build_forecaster
from gaancore.training.traffic.forecaster import with_known_features
from gaancore.training.traffic.run import ForecastRun
from gaancore.training.traffic.settings import ForecastSettings

SYNTHETIC_DAYS = 3
AHEAD = ("15 min", "30 min", "60 min", "mean", "all steps")
AVERAGE = "average of the three"  # the paper's word for "mean"
ERRORS = ("mae", "rmse", "mape")


@dataclass(frozen=True)
class TrafficTask(Task):
    """Forecasts the speeds of sensors."""

    family: ClassVar[str] = "traffic"
    trained: ClassVar[type[TrafficRun]] = TrafficRun
    words: ClassVar[ModuleType] = words
    score_groups: ClassVar[dict[str, tuple[str, ...]]] = {
        f"{AVERAGE if ahead == 'mean' else ahead}: MAE / RMSE / MAPE, %": tuple(
            f"{ahead} {error}" for error in ERRORS
        )
        for ahead in AHEAD
    }
    headline: ClassVar[tuple[str, str]] = ("mean mae", "test MAE")
    lenient: ClassVar[dict[str, Any]] = {}

    def settings(self, *layers: Layer) -> ForecastSettings:
        self.expect(layers)
        return with_changes(ForecastSettings(task=self.name), *layers)

    def read(self, path: Path, settings: ForecastSettings) -> TrafficDataset:
        s = settings
        dataset = load_metr_la(
            path,
            graph=s.graph or None,
            sensor_ids=s.sensor_ids or None,
            start=s.start or None,
            channel=s.channel or None,
            inputs=() if s.inputs == ("none",) else s.inputs,
            roads=s.roads,
            graph_kind=s.graph_kind,
            self_loops=s.self_loops,
            null_value=s.null_reading,
        )
        if s.graph_from != "correlation":
            return dataset
        windows = split_windows(
            dataset, history=s.history, horizon=s.horizon, split=s.split, fractions=s.fractions
        )
        rows = windows.training_rows(dataset.num_steps)
        return with_correlated(dataset, rows, s.roads, s.graph_kind, s.self_loops)

    def look_alike(self) -> TrafficDataset:
        return synthetic_traffic(num_days=SYNTHETIC_DAYS)

    def summarize(self, dataset: TrafficDataset) -> dict[str, Any]:
        return summarize_traffic(dataset)

    def kept(self, settings: ForecastSettings, dataset: TrafficDataset) -> ForecastSettings:
        files = (settings.graph, settings.sensor_ids)
        graph, sensor_ids = (str(user_path(file).absolute()) if file else "" for file in files)
        settings = replace(settings, graph=graph, sensor_ids=sensor_ids)
        return with_known_features(settings, dataset)

    def run(
        self,
        settings: Any,
        dataset: Any,
        folder: RunFolder,
        device: str,
        prefetch: int | None,
        team: Team = ALONE,
    ) -> ForecastRun:
        return ForecastRun(settings, dataset, folder, device, team=team)

    def paper_model(self, settings: ForecastSettings) -> Module:
        return build_forecaster(settings, 1 + WIDTHS["time_of_day"])

    def scores_in(self, test: Any) -> dict[str, float]:
        """Errors in the units of the speeds; those without a reading to score by are left out."""
        found = {f"{a} {e}": test[a][e] for a in AHEAD if a in test for e in ERRORS}
        return {name: value for name, value in found.items() if value is not None}

    def size(self, facts: Any) -> str:
        sensors, edges, steps = (facts[f"num_{what}"] for what in ("sensors", "edges", "steps"))
        return f"{sensors:,} sensors, {edges:,} edges, {steps:,} steps"
