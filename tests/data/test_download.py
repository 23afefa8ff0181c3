"""Downloads, from a server of the test's own: whole and right, or nothing at all and one line."""

import gc
import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from small_files import write_dgl

from gaancore.data import download, find_dataset, load_ppi
from gaancore.data.download import SOURCES, Source
from gaancore.data.download import download as fetch
from gaancore.data.nodes.layouts import dgl_ppi
from gaancore.errors import DataError

# pooch leaves the connection of a download that failed to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@dataclass
class Served:
    """What the server answers, and how often it was asked."""

    url: str
    content: bytes = b""
    status: int = 200
    shortened: int = 0  # bytes that are announced and never come
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Served]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            self.send_response(served.status)
            self.send_header("Content-Length", str(len(served.content) + served.shortened))
            self.end_headers()
            self.wfile.write(served.content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Served(f"http://127.0.0.1:{http.server_port}/ppi.zip")
    thread = Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield served
    http.shutdown()
    http.server_close()
    thread.join()
    gc.collect()


def packed(folder: Path, inside: str = "") -> bytes:
    """The files of `folder` in an archive, in its folder `inside`."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr(f"{inside}README", "more than is wanted")
        zipped.writestr("../../outside", "a name that leaves the folder")
        for path in sorted(folder.iterdir()):
            zipped.write(path, f"{inside}{path.name}")
    return archive.getvalue()


@pytest.fixture
def known(server, tmp_path, monkeypatch) -> Served:
    """The server has a small PPI, whose checksum is known; the data folder is empty."""
    (tmp_path / "made").mkdir()
    server.content = packed(write_dgl(tmp_path / "made"), inside="ppi/")
    sha256 = hashlib.sha256(server.content).hexdigest()
    source = Source(server.url, sha256, dgl_ppi.FILES)
    monkeypatch.setitem(SOURCES, "ppi", source)
    monkeypatch.setenv("GAANCORE_DATA", str(tmp_path / "data"))
    return server


def test_a_download_is_unpacked_to_where_the_task_finds_it(known, tmp_path):
    shares: list[float] = []
    folder = fetch("ppi", progress=shares.append)
    assert folder == tmp_path / "data" / "ppi" == find_dataset("ppi")
    assert {path.name for path in folder.iterdir()} == set(dgl_ppi.FILES)
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "made" / path.name).read_bytes()
    assert [path.name for path in folder.parent.iterdir()] == ["ppi"]  # no archive, nothing else
    assert not (tmp_path / "outside").exists()
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert load_ppi(folder).num_nodes == 6


def test_what_is_there_already_is_not_fetched_again(known):
    assert fetch("ppi") == fetch("ppi")
    assert len(known.asked) == 1


def test_what_lies_beside_stays_and_what_a_killed_download_left_goes(known, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ppi.zip").write_bytes(b"somebody's own")
    left = tmp_path / "data" / "ppi.0123abcd.part"
    left.mkdir()
    (left / "archive.zip").write_bytes(known.content[:100])
    fetch("ppi")
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["ppi", "ppi.zip"]
    assert (tmp_path / "data" / "ppi.zip").read_bytes() == b"somebody's own"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"content": b"<html>moved</html>"}, "its SHA-256 is not "),
        ({"content": b""}, "its SHA-256 is not "),
        ({"status": 404}, "cannot be fetched (status 404); try again, or fetch it by other means"),
        ({"status": 503}, "cannot be fetched (status 503)"),
        ({"shortened": 100}, "cannot be fetched (it was interrupted); try"),
    ],
)
def test_what_is_not_the_file_is_refused_and_leaves_nothing(known, tmp_path, answer, words):
    for name, value in answer.items():
        setattr(known, name, value)
    with pytest.raises(DataError) as refusal:
        fetch("ppi")
    assert str(refusal.value).startswith(f"{known.url}: {words}")
    assert "\n" not in str(refusal.value)
    assert list((tmp_path / "data").iterdir()) == []


def test_no_connection_is_told_in_one_line(known, tmp_path, monkeypatch):
    nowhere = Source("http://127.0.0.1:9/ppi.zip", "0" * 64, dgl_ppi.FILES)
    monkeypatch.setitem(SOURCES, "ppi", nowhere)
    with pytest.raises(
        DataError, match=r"^http://127.0.0.1:9/ppi.zip: cannot be fetched \(no connection\)"
    ):
        fetch("ppi")
    assert list((tmp_path / "data").iterdir()) == []


def test_an_archive_without_a_wanted_file_is_refused(known, tmp_path, monkeypatch):
    source = Source(known.url, SOURCES["ppi"].sha256, (*dgl_ppi.FILES, "more.npy"))
    monkeypatch.setitem(SOURCES, "ppi", source)
    with pytest.raises(DataError, match=r"ppi.zip: the archive has no more.npy$"):
        fetch("ppi")
    assert not (tmp_path / "data" / "ppi").exists()


def test_a_folder_with_something_else_is_left_alone(known, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("kept")
    with pytest.raises(DataError, match="mine: already exists"):
        fetch("ppi", tmp_path / "mine")
    assert known.asked == []
    assert (tmp_path / "mine" / "notes").read_text() == "kept"


def test_the_known_sources_are_secure_and_whole():
    assert SOURCES.keys() == {"ppi", "reddit"}
    for source in SOURCES.values():
        assert source.url.startswith("https://")
        assert len(bytes.fromhex(source.sha256)) == 32
    assert download.SOURCES is SOURCES
