"""Times of rows to steps: how far apart rows are, and where a gap is."""

import numpy as np

from gaancore.errors import DataError

USUAL_STEP = 300  # METR-LA's, in seconds
JITTER = 0.1  # share of a step that a row may come early or late without a gap
SECOND = 10**6  # microseconds
MANY = 20  # gaps of one length behind each other, which outages do not have


def check_times(
    where: str,
    times: np.ndarray | None,
    num_steps: int,
    step: float | None,
    stretches: np.ndarray | None,
) -> tuple[float, np.ndarray, list[str]]:
    """The step in seconds, the stretches (see TrafficDataset), and notes.

    times            : (T,) datetime64 or None. The step is the usual time between two rows; rows
                       that are up to a tenth of it early or late are in step, and a note says so.
    step, stretches  : what the files say, which stands where there are no times to tell.
    Raises DataError for times that do not ascend, months and years (no fixed step), and a step
    that the times contradict.
    """
    if times is None or num_steps < 2:
        assumed = f"no timestamps: steps of {USUAL_STEP // 60} minutes assumed"
        whole = np.array([0, num_steps])
        found = whole if stretches is None else stretches
        return step or USUAL_STEP, found, [] if step else [assumed]
    ahead = np.diff(times.astype("M8[us]")).astype(np.int64)
    _expect_ascending(where, times, ahead)
    _expect_fixed_step(where, times, ahead)
    usual = _usual(ahead)
    off = np.abs(ahead - usual)
    in_step = off <= JITTER * usual
    seconds = plain_step(usual / SECOND)
    if step is not None and abs(step - seconds) > JITTER * seconds:
        raise DataError(
            f"{where}: the step is said to be {step:g} seconds, but the rows are {seconds:g} apart "
            "by their times; correct one of them"
        )
    gaps = np.flatnonzero(~in_step) + 1
    notes = []
    if off[in_step].any():
        notes.append(
            f"timestamps up to {off[in_step].max() / SECOND:g} s off steps of {seconds:g} s, at "
            f"{np.count_nonzero(off[in_step]):,} rows: taken as in step (a tenth of a step is)"
        )
    if gaps.size:
        longest = np.timedelta64(ahead[gaps - 1].max(), "us").item()
        notes.append(
            f"gaps in the timestamps: {gaps.size:,}, the longest {longest}; no window crosses one"
        )
        again = ~in_step[1:] & (ahead[1:] == ahead[:-1])
        if np.count_nonzero(again) >= MANY:
            other = np.timedelta64(int(np.median(ahead[1:][again])), "us").item()
            notes.append(
                f"warning: the step changes: {np.count_nonzero(again):,} rows are {other} "
                f"apart, not {np.timedelta64(round(usual), 'us').item()}, and no window holds "
                "them; bring all rows to one step"
            )
    return seconds, np.concatenate([[0], gaps, [num_steps]]), notes


def times_from(start: np.ndarray, step: float | None, num_steps: int) -> np.ndarray:
    """The times of `num_steps` rows, `step` seconds apart, from `start` (1,) datetime64 on."""
    return later(start, np.arange(num_steps), step or USUAL_STEP)


def later(start: np.ndarray, steps: np.ndarray, seconds: float) -> np.ndarray:
    """The times `steps` of `seconds` after `start`: in seconds where all are whole."""
    apart = np.rint(steps * (seconds * SECOND)).astype(np.int64).astype("m8[us]")
    times = start + apart
    whole = times.astype("M8[s]")
    return whole if (whole == times).all() else times


def plain_step(seconds: float) -> float:
    """Seconds to the microsecond; an integer where they are whole."""
    rounded = round(float(seconds), 6)
    return int(rounded) if rounded == int(rounded) else rounded


def _usual(ahead: np.ndarray) -> float:
    """The usual one of the times between rows (T - 1,) in microseconds.

    Those within a tenth of one, for the one that has the most so near. Of these the commonest if
    half are the same; or else their mean, in whole minutes or seconds if it is near them.
    """
    steps, counts = np.unique(ahead, return_counts=True)
    sums = np.concatenate([[0], np.cumsum(counts)])
    low = np.searchsorted(steps, steps * (1 - JITTER), side="left")
    high = np.searchsorted(steps, steps * (1 + JITTER), side="right")
    best = int(np.argmax(sums[high] - sums[low]))
    near, often = steps[low[best] : high[best]], counts[low[best] : high[best]]
    if 2 * often.max() >= often.sum():
        return float(near[often.argmax()])
    mean = float(np.average(near, weights=often))
    for unit in (60 * SECOND, SECOND):
        whole = round(mean / unit) * unit
        if abs(whole - mean) <= mean * JITTER / 5:
            return float(whole)
    return mean


def _expect_ascending(where: str, times: np.ndarray, ahead: np.ndarray) -> None:
    if (ahead > 0).all():
        return
    row = int(np.argmax(ahead <= 0)) + 1
    time = str(times[row]).replace("T", " ")
    if ahead[row - 1] == 0:
        raise DataError(f"{where}: rows {row - 1} and {row} are both at {time}; keep one")
    remedy = "sort them"
    if np.count_nonzero(ahead <= 0) == 1 and -ahead[row - 1] <= 3600 * SECOND:
        remedy += ", or, if clocks were set back there, write the times without summer time"
    raise DataError(f"{where}: row {row} ({time}) is earlier than the one before; {remedy}")


def _expect_fixed_step(where: str, times: np.ndarray, ahead: np.ndarray) -> None:
    """Raises DataError if all rows are at one place of a month: the first day, or the last."""
    if ahead.min() < 28 * 86400 * SECOND or ((ahead == ahead[0]).all() and len(ahead) > 2):
        return
    days = times.astype("M8[D]")
    for day in (days, days + 1):  # the day after the last one of a month is a first one
        within = day - day.astype("M8[M]").astype("M8[D]")
        if (within == within[0]).all():
            months = np.diff(day.astype("M8[M]")).astype(np.int64)
            word = "years" if not (months % 12).any() else "months"
            raise DataError(
                f"{where}: the rows are {word} apart, which is no fixed step (a month has 28 to 31 "
                "days); resample them to days or weeks"
            )
