"""Public copies of PPI and Reddit. This is the only module that uses the network."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

from gaancore.data.nodes.layouts import dgl_ppi, dgl_reddit
from gaancore.data.nodes.load import data_folder
from gaancore.errors import DataError
from gaancore.system.new_folder import new_folder


@dataclass(frozen=True)
class Source:
    """An archive at url, and which of its files to keep."""

    url: str
    sha256: str
    files: tuple[str, ...]


# The copies that DGL and PyTorch Geometric fetch. Neither publishes a checksum: these are those of
# GraphMLDatasets.jl for the same addresses.
SOURCES = {
    "ppi": Source(
        "https://data.dgl.ai/dataset/ppi.zip",
        "1f5b2b09ac0f897fa6aa1338c64ab75a5473674cbba89380120bede8cddb2a6a",
        dgl_ppi.FILES,
    ),
    "reddit": Source(
        "https://data.dgl.ai/dataset/reddit.zip",
        "9a16353c28f8ddd07148fc5ac9b57b818d7911ea0fbe9052d66d49fc32b372bf",
        dgl_reddit.FILES,
    ),
}


def download(
    task: str, folder: Path | None = None, progress: Callable[[float], None] = lambda share: None
) -> Path:
    """Fetch the data of `task`, "ppi" or "reddit", and unpack them into a new folder.

    folder   : by default where `find_dataset` looks. It appears when it is whole; if it has the
               files already, nothing is fetched.
    progress : called with the share that has arrived.
    A file with another SHA-256 is not kept. Returns the folder. Raises DataError without a
    connection, for another SHA-256, if the disk is full or not writeable, and for a folder with
    something else in it.
    """
    source, target = SOURCES[task], folder or data_folder() / task
    if not all((target / name).is_file() for name in source.files):
        with new_folder(target) as part:
            archive = _fetch(source, part / "archive.zip", progress)
            _unpack(archive, source, part)
            archive.unlink()
    return target


def _fetch(source: Source, path: Path, progress: Callable[[float], None]) -> Path:
    """The archive, at `path`."""
    import pooch  # a tenth of a second, for one command
    import requests

    pooch.get_logger().setLevel("WARNING")
    fetch = pooch.HTTPDownloader(progressbar=_Bar(progress))
    known = f"sha256:{source.sha256}"
    try:
        pooch.retrieve(source.url, known, path.name, path.parent, downloader=fetch)
    except requests.RequestException as error:
        raise DataError(
            f"{source.url}: cannot be fetched ({_reason(error)}); try again, or fetch it by other "
            "means and train on the unpacked folder"
        ) from error
    except ValueError as error:  # pooch's, of another checksum
        raise DataError(
            f"{source.url}: its SHA-256 is not {source.sha256}: the file has "
            "changed; nothing was kept"
        ) from error
    return path


def _reason(error: Any) -> str:
    """Why requests failed, in few words."""
    if error.response is not None:
        return f"status {error.response.status_code}"
    name = type(error).__name__
    return {"ConnectionError": "no connection", "ChunkedEncodingError": "it was interrupted"}.get(
        name, name
    )


class _Bar:
    """What pooch calls a progress bar."""

    total = 0

    def __init__(self, progress: Callable[[float], None]) -> None:
        self.progress, self.done = progress, 0

    def update(self, more: int) -> None:
        self.done += more
        self.progress(min(1.0, self.done / max(self.total, 1)))

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _unpack(archive: Path, source: Source, folder: Path) -> None:
    """Unpack the files to keep, whatever their folder: no name in the archive becomes a path."""
    with ZipFile(archive) as packed:
        members = {PurePosixPath(name).name: name for name in packed.namelist()}
        for name in source.files:
            if name not in members:
                raise DataError(f"{source.url}: the archive has no {name}")
            with packed.open(members[name]) as file, (folder / name).open("wb") as out:
                shutil.copyfileobj(file, out)
