"""Times as programs write them: text, epoch numbers, compact numbers, days of a spreadsheet.

A column of times has one format, which all of its rows must have. What cannot be told apart is
refused and never guessed; what was taken for what is said in a note.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn

import numpy as np

from gaancore.data.files.ids import plain_ids
from gaancore.errors import DataError

TIME_NAMES = {
    *("timestamp", "timestamps", "datetime", "date", "time", "times", "date_time", "date time"),
    *("time_stamp", "epoch", "period"),
}
DIGITS = re.compile(r"\d+")
PLAIN = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
WEEKDAY = re.compile(r"(mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]*\s+", re.IGNORECASE)
COMPACT = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y-%m", "%d.%m.%Y", "%d.%m.%y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
)
AMBIGUOUS = (("%m/%d/%Y", "%d/%m/%Y"), ("%m/%d/%y", "%d/%m/%y"), ("%m-%d-%Y", "%d-%m-%Y"))
HOURS = ("", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%H")
EPOCH_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # how many make a second
EPOCH = (10**8, 4 * 10**9)  # seconds: 1973 to 2096
LONGEST, FEWEST_DIGITS = 60, 3  # of a text that is a time
MOST_ROWS = 10**7  # 20120301 and 20120302 are no row numbers
SERIALS = (15_000, 80_000)  # days of a spreadsheet: 1941 to 2119
FIRST_SERIAL = np.datetime64("1899-12-30", "us")  # day 0 as spreadsheets count, with their 1900
LIKE = "like 2012-03-01 00:05"

Times = tuple[np.ndarray, tuple[str, ...]]


def parse_times(where: str, times: Sequence[str] | np.ndarray) -> Times:
    """datetime64[s] of times as datetime64, text or numbers, and notes on how they were read.

    datetime64[us] where one has a fraction of a second. Numbers are seconds, milli-, micro- or
    nanoseconds since 1970, compact (20120301, 201203010005), or a spreadsheet's days (40969.25).
    Raises DataError naming the first row that is no such time, and where two readings fit.
    """
    if isinstance(times, np.ndarray) and times.dtype.kind == "M":
        if np.isnat(times).any():
            raise DataError(f"{where}: row {int(np.argmax(np.isnat(times)))} has no timestamp")
        return _shortest(times), ()
    if isinstance(times, np.ndarray) and times.dtype.kind == "S":
        times = np.char.decode(times, "utf-8", "replace")
    given = times.tolist() if isinstance(times, np.ndarray) else times
    texts = [str(text).strip() for text in given]
    if texts and all(PLAIN.fullmatch(text) for text in texts):
        return _from_numbers(where, texts)
    return _from_texts(where, texts)


def is_time_text(text: str) -> bool:
    """Whether a text is a time in any of the formats; no number is, by itself."""
    plain = WEEKDAY.sub("", text)
    if PLAIN.fullmatch(plain) or not (
        len(plain) <= LONGEST and sum(map(str.isdigit, plain)) >= FEWEST_DIGITS
    ):
        return False
    return _iso(plain) is not None or any(_parsed([plain], pattern) for pattern in _patterns())


def counts_rows(values: np.ndarray) -> bool:
    """Whether numbers (R,) are n, n + 1, n + 2, ...: they count rows and are no times."""
    if values.dtype.kind not in "iuf" or not len(values) or not 0 <= values[0] < MOST_ROWS:
        return False
    return bool((values == values[0] + np.arange(len(values))).all()) and values[0] % 1 == 0


def looks_like_times(values: np.ndarray) -> bool:
    """Whether numbers (R,) that nothing names are too large for readings and ascend as times do."""
    ascending = len(values) > 1 and bool((np.diff(values) > 0).all())
    return ascending and bool((values >= EPOCH[0]).all()) and not (values % 1).any()


def _from_numbers(where: str, given: list[str]) -> Times:
    texts = plain_ids(given)  # 201203010000.0 is compact too
    compact = COMPACT.get(len(texts[0]), "")
    begins = _parsed(texts[:1], compact) if compact and DIGITS.fullmatch(texts[0]) else None
    if begins and 1900 <= begins[0].year < 2200:
        found = _parsed(texts, compact)
        if found is None:
            _refuse(where, texts, [compact])
        return _shortest(np.array(found, "M8[us]")), (f"timestamps: read as {_words(compact)}",)
    numbers = np.array([float(text) for text in texts])
    for unit, per_second in EPOCH_UNITS.items():
        if ((numbers >= EPOCH[0] * per_second) & (numbers < EPOCH[1] * per_second)).all():
            return _from_epoch(texts, unit), (
                f"timestamps: read as {unit} since 1970 in UTC, and left in UTC",
            )
    ahead = np.diff(numbers)
    daily = not ahead.size or ((ahead > 0).all() and ahead.min() <= 1)
    if ((numbers >= SERIALS[0]) & (numbers < SERIALS[1])).all() and daily:
        seconds = np.rint(numbers * 86400).astype(np.int64)
        times = FIRST_SERIAL + seconds.astype("m8[s]")
        return _shortest(times), ("timestamps: read as a spreadsheet's days, to the second",)
    raise DataError(
        f"{where}: row 0: timestamp {texts[0][:40]!r} is not {LIKE}, nor are all rows epoch "
        "seconds or 20120301; write them as dates, or leave the column out"
    )


def _from_epoch(texts: Sequence[str], unit: str) -> np.ndarray:
    if all(map(DIGITS.fullmatch, texts)):
        return _shortest(np.array(list(map(int, texts)), np.int64).astype(f"M8[{unit}]"))
    scale = 10**6 // EPOCH_UNITS[unit] if unit != "ns" else 1e-3
    microseconds = np.rint(np.array([float(text) for text in texts]) * scale)
    return _shortest(microseconds.astype(np.int64).astype("M8[us]"))


def _from_texts(where: str, texts: list[str]) -> Times:
    plain = [WEEKDAY.sub("", text) for text in texts]
    if plain and not DIGITS.fullmatch(plain[0]) and _iso(plain[0]):
        return _all_iso(where, plain)
    fitting = [pattern for pattern in _patterns() if _parsed(plain[:1], pattern)]
    found = {pattern: times for pattern in fitting if (times := _parsed(plain, pattern))}
    if not found:
        _refuse(where, plain, fitting)
    pattern = next(iter(found)) if len(found) == 1 else _steadiest(where, plain[0], found)
    return _shortest(np.array(found[pattern], "M8[us]")), (
        f"timestamps: read as {_words(pattern)}",
    )


def _all_iso(where: str, texts: list[str]) -> Times:
    found = []
    for row, text in enumerate(texts):
        time = None if DIGITS.fullmatch(text) else _iso(text)
        if time is None:
            raise DataError(f"{where}: row {row}: timestamp {text[:40]!r} is not {LIKE}")
        if time.tzinfo is not None:
            raise DataError(
                f"{where}: row {row}: timestamp {text} has a time zone; write local time without it"
            )
        found.append(time)
    return _shortest(np.array(found, "M8[us]")), ()


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _patterns() -> list[str]:
    days = (*DAYS, *(day for pair in AMBIGUOUS for day in pair))
    return ["%b %d %H:%M:%S %Y", *(f"{day} {hour}".strip() for day in days for hour in HOURS)]


def _parsed(texts: Sequence[str], pattern: str) -> list[datetime] | None:
    """The times, if all of them have the format."""
    try:
        return [datetime.strptime(text, pattern) for text in texts]
    except ValueError:
        return None


def _steadiest(where: str, first: str, found: dict[str, list[datetime]]) -> str:
    """The format by which the most rows follow at one step: this tells days from months.

    Raises DataError if two formats are as good and give other times.
    """
    steady = {}
    for pattern, times in found.items():
        ahead = np.diff(np.array(times, "M8[s]")).astype(np.int64)
        steady[pattern] = -1
        if ahead.size and (ahead > 0).all():
            steady[pattern] = int(np.count_nonzero(ahead == np.median(ahead)))
    best = [pattern for pattern, rows in steady.items() if rows == max(steady.values())]
    if len({tuple(found[pattern]) for pattern in best}) > 1:
        raise DataError(
            f"{where}: row 0: timestamp {first[:40]!r} could be "
            f"{' or '.join(map(_words, best))}; write dates {LIKE}"
        )
    return best[0]


def _refuse(where: str, texts: Sequence[str], fitting: list[str]) -> NoReturn:
    """Raises DataError naming the first row that is no time as the first row is one."""
    row = 0
    for place, text in enumerate(texts):
        numbers = PLAIN.fullmatch(texts[0]) and not PLAIN.fullmatch(text)
        if numbers or (fitting and not any(_parsed([text], pattern) for pattern in fitting)):
            row = place
            break
    raise DataError(
        f"{where}: row {row}: timestamp {texts[row][:40]!r} is not {LIKE}; write all of them so, "
        "or leave the column out"
    )


def _words(pattern: str) -> str:
    """`%d/%m/%Y` as people write it: DD/MM/YYYY."""
    names = {"%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD", "%H": "hh", "%M": "mm", "%S": "ss"}
    names |= {"%I": "hh", "%p": "am/pm", "%b": "Mon", "%B": "Month", "%f": "fraction"}
    for code, name in names.items():
        pattern = pattern.replace(code, name)
    return pattern


def _shortest(times: np.ndarray) -> np.ndarray:
    """In seconds, or in microseconds where one has a fraction of a second."""
    seconds = times.astype("M8[s]")
    return seconds if (seconds == times).all() else times.astype("M8[us]")
