"""What a task runs on: its data, from where the user says or where they are, and its run."""

from dataclasses import replace
from pathlib import Path

from gaancore.data import (
    NodeDataset,
    TrafficDataset,
    find_dataset,
    load_metr_la,
    load_ppi,
    load_reddit,
    synthetic_ppi,
    synthetic_reddit,
    synthetic_traffic,
)
from gaancore.errors import DataError, SettingsError
from gaancore.system.paths import user_path
from gaancore.train.nodes.run import ClassifierRun
from gaancore.train.nodes.settings import NodeSettings
from gaancore.train.run_folder import AnySettings, RunFolder, describe_data
from gaancore.train.traffic.run import ForecastRun
from gaancore.train.traffic.settings import ForecastSettings

NODE_TASKS = ("ppi", "reddit")
TASKS = (*NODE_TASKS, "metr-la")

# A run on built-in data that names no number of epochs does so many; where nodes are classified it
# validates after each: the paper's patience is made for sets that are far larger.
SYNTHETIC_EPOCHS = {"ppi": 80, "reddit": 40, "metr-la": 6}
SYNTHETIC_DAYS = 3  # of traffic
SYNTHETIC_NOTES = {
    "ppi": (
        "SYNTHETIC data: no --data was given and no PPI was found, so this trains on a built-in "
        "look-alike; its scores say nothing about PPI.",
        "For real scores: gaancore download ppi, or put PPI (GraphSAGE's ppi-*.json and .npy, "
        "GraphSAINT's or DGL's folder, or one .npz) into ~/.local/share/gaancore/ppi or "
        "$GAANCORE_DATA/ppi, or name it with --data.",
    ),
    "reddit": (
        "SYNTHETIC data: no --data was given and no Reddit was found, so this trains on a "
        "built-in look-alike, 50 times smaller; its scores say nothing about Reddit.",
        "For real scores: gaancore download reddit (1.4 GB), or put Reddit (DGL's "
        "reddit_data.npz and reddit_graph.npz, GraphSAINT's or GraphSAGE's files, or a folder "
        "that gaancore convert wrote) into ~/.local/share/gaancore/reddit or "
        "$GAANCORE_DATA/reddit, or name it with --data.",
    ),
    "metr-la": (
        "SYNTHETIC data: no --data was given and no METR-LA was found, so this trains on a "
        "built-in road network; its errors say nothing about METR-LA.",
        "For real errors: put METR-LA (metr-la.h5 and adj_mx.pkl, DCRNN's windows, or a .csv of "
        "speeds) into ~/.local/share/gaancore/metr-la or $GAANCORE_DATA/metr-la, or name it with "
        "--data.",
    ),
}


def load(
    path: str | None, settings: AnySettings, synthetic: bool = False
) -> NodeDataset | TrafficDataset:
    """The data at `path`, else in the user's data folder, else the built-in look-alike."""
    s = settings
    source = path or (None if synthetic else find_dataset(s.task))
    if source is None:
        return replace(_look_alike(s.task), notes=SYNTHETIC_NOTES[s.task])
    # absolute, so that the run can be gone on with from any folder
    source = user_path(source).absolute()
    if isinstance(s, ForecastSettings):
        return load_metr_la(
            source,
            graph=s.graph or None,
            sensor_ids=s.sensor_ids or None,
            start=s.start or None,
            graph_kind=s.graph_kind,
            self_loops=s.self_loops,
            null_value=s.null_reading,
        )
    load_nodes = load_reddit if s.task == "reddit" else load_ppi
    return load_nodes(source, self_loops=s.self_loops, unflagged=s.unflagged, nan=s.nan)


def _look_alike(task: str) -> NodeDataset | TrafficDataset:
    if task == "metr-la":
        return synthetic_traffic(num_days=SYNTHETIC_DAYS)
    return synthetic_reddit() if task == "reddit" else synthetic_ppi()


def settings_for(
    dataset: NodeDataset | TrafficDataset, settings: AnySettings, epochs_named: bool
) -> AnySettings:
    """`settings` as a new run keeps them: paths that hold in any folder; fewer epochs where
    built-in data are trained on and no number was named.
    """
    if isinstance(settings, ForecastSettings):
        files = (_absolute(settings.graph), _absolute(settings.sensor_ids))
        settings = replace(settings, graph=files[0], sensor_ids=files[1])
    epochs = SYNTHETIC_EPOCHS[settings.task]
    if dataset.kind != "synthetic" or (epochs_named and settings.epochs):
        return settings
    if isinstance(settings, NodeSettings):
        every = settings.validate_every if settings.validate_every >= 0 else 0
        return replace(settings, epochs=epochs, validate_every=every)
    return replace(settings, epochs=epochs)


def _absolute(path: str) -> str:
    return str(user_path(path).absolute()) if path else ""


def make_run(
    settings: AnySettings,
    dataset: NodeDataset | TrafficDataset,
    folder: RunFolder,
    device: str,
    prefetch: int,
) -> ClassifierRun | ForecastRun:
    """The run of the task that the settings are of."""
    if isinstance(settings, ForecastSettings):
        assert isinstance(dataset, TrafficDataset)
        return ForecastRun(settings, dataset, folder, device)
    assert isinstance(dataset, NodeDataset)
    return ClassifierRun(settings, dataset, folder, device, prefetch=prefetch)


def open_run(
    folder: RunFolder, path: str | None, device: str, prefetch: int
) -> ClassifierRun | ForecastRun:
    """The run in `folder` with its data, from `path` if the files have moved.

    Raises DataError or SettingsError if there is no run or the data is not the same.
    """
    settings, data = folder.read_settings()
    dataset = load_again(folder, path)
    if (found := describe_data(dataset)["checksum"]) != data["checksum"]:
        raise SettingsError(
            f"{folder.path}: the data has changed since the run began (checksum {found}, then "
            f"{data['checksum']}); give it the same files with --data"
        )
    return make_run(settings, dataset, folder, device, prefetch)


def load_again(folder: RunFolder, path: str | None) -> NodeDataset | TrafficDataset:
    """The data of the run in `folder`, from `path` if it is given."""
    settings, data = folder.read_settings()
    if not path and data["path"] and not Path(data["path"]).exists():
        raise DataError(
            f"{folder.path}: its data is no longer at {data['path']}; say where with --data"
        )
    return load(path or data["path"], settings, synthetic=data["path"] is None)
