"""`gaancore plot`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gaancore.data import NodeDataset
from gaancore.errors import SettingsError
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process
from gaancore.train.nodes.settings import NodeSettings
from gaancore.train.run_folder import AnySettings, RunFolder
from gaancore.train.traffic.run import ForecastRun
from gaancore.train.traffic.settings import ForecastSettings

from .data import SYNTHETIC_NOTES, load_again, open_run
from .options import process_options


@click.command(short_help="Draw a run: how it learned, its gates or its forecasts.")
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="The data, if it has moved since.  [default: where the run found it]",
)  # fmt: skip
@click.option(
    "--sensor", "sensors", multiple=True, metavar="ID",
    help="Of a METR-LA run; may be repeated.  [default: the first sensor]",
)  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder of the pictures.  [default: RUN/plots]")
@process_options
def plot(run: str, sensors: tuple[str, ...], out: str | None, **options: Any) -> int:
    """Draw the run in folder RUN, as PNG and SVG.

    Where nodes are classified: validation score and training loss by epoch; for a GaAN also the
    gates of test nodes, how they are spread in each head, how they changed in training, and how
    evenly each head attends. Of METR-LA: validation error and training loss by epoch, forecast
    against truth for the chosen sensors, error by minutes ahead beside the last value's, error by
    hour of the day.
    """
    prepare_process(options["threads"])
    folder = RunFolder(user_path(run))
    target = user_path(out) if out else folder.path / "plots"
    settings, data = folder.read_settings()
    if isinstance(settings, ForecastSettings):
        files = _draw_forecasts(folder, settings, sensors, target, options)
    elif sensors:
        raise SettingsError(f"--sensor: {folder.path} is not a run of task metr-la")
    else:
        files = _draw_classifier(folder, settings, target, options)
    for path in files:
        click.echo(f"written: {path}")
    if data["path"] is None:  # built in
        click.echo(" ".join(SYNTHETIC_NOTES[settings.task]))
    return 0


def _draw_curves(folder: RunFolder, settings: AnySettings, target: Path) -> list[Path]:
    """They need no data, so they are there even where the data are not found."""
    from gaancore.plots.scores import learning_curves  # matplotlib takes a second to import

    name = f"{settings.model}, seed {settings.seed}"
    return learning_curves({name: folder.path}, target / "learning-curves.png")


def _draw_forecasts(
    folder: RunFolder,
    settings: ForecastSettings,
    sensors: tuple[str, ...],
    target: Path,
    options: dict[str, Any],
) -> Iterator[Path]:
    from gaancore.plots.forecasts import draw_plots

    yield from _draw_curves(folder, settings, target)
    opened = open_run(folder, options["data"], options["device"], options["prefetch"])
    assert isinstance(opened, ForecastRun)
    opened.load_best()
    yield from draw_plots(opened, sensors or opened.dataset.sensor_ids[:1], target)


def _draw_classifier(
    folder: RunFolder, settings: NodeSettings, target: Path, options: dict[str, Any]
) -> Iterator[Path]:
    from gaancore.plots.scores import gate_pictures

    yield from _draw_curves(folder, settings, target)
    if settings.model == "gaan":
        dataset = load_again(folder, options["data"])
        assert isinstance(dataset, NodeDataset)
        facts = gate_pictures(folder.path, dataset, target, device=options["device"])
        yield from (target / name for name in facts["files"])
