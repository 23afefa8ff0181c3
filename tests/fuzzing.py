"""Damages a sample many times, in a process that may crash, hang or run out of memory.

    faults, loaded = fuzz("npz", folder, range(300))

A sample is a few small files, what a loader tells of them, and a plain reading of each file. What
is told of a damaged file must be what is told of the whole one, fact by fact, except for the facts
that the plain reading finds changed: no silent wrong. Everything else must be refused, in one line.
"""

import importlib
import io
import multiprocessing
import resource
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from mutations import mutate

from gaancore.errors import LONGEST, UserError

SECONDS = 60  # that one damaged sample may take
MEMORY = 1 << 30  # bytes beyond those of the process at its start
MODULES = (  # each has SAMPLES by name
    *("fuzz_nodes", "fuzz_public", "fuzz_networkx", "fuzz_matlab"),
    *("fuzz_traffic", "fuzz_public_traffic", "fuzz_runs"),
)

Facts = dict[Any, Any]
Touched = Callable[[bytes, bytes], set[Any]]

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["fuzzing", *MODULES])


class UnclearError(Exception):
    """Of a plain reading: the damage may change anything that is told; no reader could know."""


@dataclass(frozen=True)
class Sample:
    """Files, and what they say.

    write : writes them to a folder. load: facts as the product has them.
    plain : file name -> a plain reading of (whole, damaged): the facts that the damage touched. A
            file without one has checksums: nothing that is told of it may change. It raises
            UnclearError if that cannot be known, anything else if the file must be refused.
    either : kinds of facts that may be lacking as a whole, with a note that says so.
    damaged : the files that are damaged; by default all.
    """

    write: Callable[[Path], Any]
    load: Callable[[Path], Facts]
    plain: dict[str, Touched] = field(default_factory=dict)
    either: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


def all_samples() -> dict[str, Sample]:
    modules = map(importlib.import_module, MODULES)
    return {name: sample for module in modules for name, sample in module.SAMPLES.items()}


def fuzz(name: str, folder: Path, seeds: Sequence[int]) -> tuple[list[str], int]:
    """What went wrong, a line or traceback each, and how many damaged samples were loaded.

    A process that dies or hangs is a fault of the seed it was at; another goes on behind it.
    """
    faults, loaded, at = [], 0, 0
    while at < len(seeds):
        receiver, sender = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=_work, args=(name, folder, seeds[at:], sender))
        process.start()
        sender.close()
        try:
            while at < len(seeds):
                if not receiver.poll(SECONDS):
                    faults.append(f"{name}, seed {seeds[at]}: no answer in {SECONDS} s")
                    break
                fault, was_loaded = receiver.recv()
                faults += [f"{name}, seed {seeds[at]}: {fault}"] if fault else []
                loaded += was_loaded
                at += 1
        except EOFError:
            process.join()
            faults.append(f"{name}, seed {seeds[at]}: the process died ({process.exitcode})")
        process.kill()
        process.join()
        at += 1
    return faults, loaded


def _work(name: str, folder: Path, seeds: Iterable[int], sender: Connection) -> None:
    """Damages the sample with each seed; sends (fault or None, whether it was loaded)."""
    warnings.simplefilter("error")
    sample = all_samples()[name]
    pristine, target = folder / "whole", folder / "damaged"
    for path in (pristine, target):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    sample.write(pristine)
    sample.write(target)
    names = sorted(str(p.relative_to(target)) for p in target.rglob("*") if p.is_file())
    names = [n for n in names if not sample.damaged or n in sample.damaged]
    whole = sample.load(target)
    held = _status("VmSize")
    limit = held + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for seed in seeds:
        rng = np.random.default_rng([crc32(name.encode()), seed])
        file = names[rng.integers(len(names))]
        content = (pristine / file).read_bytes()
        kind, damaged = mutate(content, rng)
        _replace(target / file, damaged)
        try:
            loaded = sample.load(target)
            fault = _silently_wrong(sample, file, content, damaged, whole, loaded)
            sender.send((f"{kind} of {file}: {fault}" if fault else None, True))
        except UserError as error:
            fault = _bad_refusal(error)
            sender.send((f"{kind} of {file}: {fault}" if fault else None, False))
        except BaseException:
            sender.send((f"{kind} of {file}: {traceback.format_exc()}", False))
        _replace(target / file, content)


def _replace(path: Path, content: bytes) -> None:
    """A new file, so that one that is mapped stays what it was."""
    path.unlink()
    path.write_bytes(content)


def _bad_refusal(error: BaseException) -> str | None:
    """What is wrong with a message, or with what led to it."""
    message = str(error)
    if len(message.splitlines()) != 1 or len(message) > LONGEST + 10:
        return f"not a line that people can read: {message[:LONGEST]!r}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return f"more than {MEMORY:,} bytes of memory: {message}"
        cause = cause.__cause__ or cause.__context__
    return None


def _silently_wrong(
    sample: Sample, file: str, content: bytes, damaged: bytes, whole: Facts, loaded: Facts
) -> str | None:
    """The first fact that is told otherwise though the damage did not touch it."""
    different = {k for k in whole.keys() | loaded.keys() if not _same(whole.get(k), loaded.get(k))}
    if not different or file not in sample.plain:
        return f"told otherwise: {_some(different, whole, loaded)}" if different else None
    try:
        touched = sample.plain[file](content, damaged)
    except UnclearError:
        return None
    except Exception as error:
        return f"loaded, though a plain reading fails: {error!r}"
    kinds = {key[0] for key in loaded}
    lacking = {key for key in different if key[0] in sample.either and key[0] not in kinds}
    wrong = different - touched - (lacking if touched else set())
    return f"told otherwise: {_some(wrong, whole, loaded)}" if wrong else None


def _same(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b)


def _some(keys: set[Any], whole: Facts, loaded: Facts) -> str:
    shown = sorted(keys, key=repr)[:3]
    return f"{len(keys)}: " + "; ".join(f"{k}: {whole.get(k)} -> {loaded.get(k)}" for k in shown)


def _status(name: str) -> int:
    """Bytes of this process, by a line of Linux's own account of it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def by_facts(read: Callable[[bytes], Facts]) -> Touched:
    """The facts that differ between plain readings of the whole and of the damaged file."""

    def touched(whole: bytes, damaged: bytes) -> set[Any]:
        before, after = read(whole), read(damaged)
        return {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}

    return touched


def by_bytes(*arrays: tuple[np.ndarray, Sequence[Any]]) -> Touched:
    """For a container without checksums: where numbers of `arrays` lie, a fact or more for each
    element, only those whose bytes have changed are touched; damage elsewhere is unclear.
    """

    def touched(whole: bytes, damaged: bytes) -> set[Any]:
        if len(whole) != len(damaged):
            raise UnclearError
        changed = {at for at, (a, b) in enumerate(zip(whole, damaged, strict=True)) if a != b}
        found: set[Any] = set()
        for array, keys in arrays:
            content, size = array.tobytes(), array.dtype.itemsize
            start = whole.index(content)
            assert whole.count(content) == 1
            inside = {at for at in changed if start <= at < start + len(content)}
            found |= {keys[(at - start) // size] for at in inside}
            changed -= inside
        if changed:
            raise UnclearError
        return found

    return touched


def plain_npy(content: bytes) -> np.ndarray:
    """As NumPy reads it; refused if bytes are left over, which NumPy ignores."""
    stream = io.BytesIO(content)
    array = np.load(stream, allow_pickle=False)
    assert not stream.read()
    return array
