"""Whether data are those of a run: all that the run wrote down about them is compared. And what all
ranks have to have alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaancore.errors import SettingsError
from gaancore.system.versions import versions

Facts = Mapping[str, Any]

# Parts of the data with a checksum of their own, and how they are spoken of
PARTS = {
    "graph": "other edges",
    "roads": "other lengths or weights of roads",
    "readings": "other readings",
    "times": "other times",
    "coordinates": "other coordinates",
    "windows": "other windows",
    "others": "other quantities beside the readings",
}
NAMES = {"sensor_ids": "sensor", "feature_names": "feature", "class_names": "class"}


def expect_same_data(where: Path, then: Facts, now: Facts) -> None:
    """Raise SettingsError unless the data of facts `now` are those of the run in folder `where`,
    which wrote down the facts `then` when it began.
    """
    if found := data_differences(then, now):
        raise SettingsError(
            f"{where}: the data has changed since the run began ({'; '.join(found)}); give it the "
            "same files (data)"
        )


def data_differences(then: Facts, now: Facts) -> list[str]:
    """What differs, in words; what one of both does not say is not compared."""
    found = []
    if then["checksum"] != now.get("checksum"):
        found.append(f"checksum {now.get('checksum')}, then {then['checksum']}")
    if _both(then, now, "step") and then["step"] != now["step"]:
        found.append(f"a row every {minutes(now['step'])}, then every {minutes(then['step'])}")
    for key, what in NAMES.items():
        if _both(then, now, key) and (line := _other_names(what, then[key], now[key])):
            found.append(line)
    parts = (then.get("checksums", {}), now.get("checksums", {}))
    for part, words in PARTS.items():
        if all(part in checksums for checksums in parts) and parts[0][part] != parts[1][part]:
            found.append(words)
    return found


def alike_on_ranks(settings: Any, device: str, data: Facts) -> dict[str, Any]:
    """What all ranks of a run must have alike (see Team.expect_same): versions, the kind of device,
    the data, of which some facts are given, and the settings.
    """
    facts: dict[str, Any] = {f"version of {name}": found for name, found in versions().items()}
    facts |= {"device": device.partition(":")[0], "data": data["checksum"]}
    facts |= {f"data: {part}": sums for part, sums in data.get("checksums", {}).items()}
    return facts | {name: repr(value) for name, value in asdict(settings).items()}


def not_compared(facts: Facts) -> str | None:
    """A line on what an older run did not write down about its data; None if it is all there."""
    if "sensor_ids" not in facts or facts["sensor_ids"] is None or "checksums" in facts:
        return None
    return (
        "the run is of an older version, which did not write down the step, times, coordinates and "
        "windows of its data: they are not compared"
    )


def joined_by_position(then: Sequence[str] | None, now: Sequence[str] | None) -> str | None:
    """A line if one side alone names its features, so that their position joins them."""
    if (then is None) == (now is None):
        return None
    who, names = ("these data have", then) if now is None else ("the run has", now)
    pairs = [f"{name} is feature {at}" for at, name in enumerate(names or ())]
    shown = ", ".join(pairs[:3]) + (", ..." if len(pairs) > 3 else "")
    return f"{who} no names for features: they are joined by position: {shown}"


def minutes(seconds: float) -> str:
    """A number of seconds as people say it."""
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"


def _both(then: Facts, now: Facts, key: str) -> bool:
    return then.get(key) is not None and now.get(key) is not None


def _other_names(what: str, then: Sequence[str], now: Sequence[str]) -> str | None:
    if len(then) != len(now):
        return f"{len(now):,} {what} names, then {len(then):,}"
    pairs = zip(then, now, strict=True)
    return next((f"{what} {new!r}, then {old!r}" for old, new in pairs if old != new), None)
