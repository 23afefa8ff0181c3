"""Times in any of the formats that programs write, each read against datetimes of Python's own."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gaancore.data.files.times import counts_rows, looks_like_times, parse_times
from gaancore.errors import DataError

START = datetime(2012, 3, 1)
HOURS = [START + timedelta(hours=n) for n in range(400)]
EPOCH = datetime(1970, 1, 1)

WRITERS = {
    "iso": str,
    "iso with T": datetime.isoformat,
    "no zeros": lambda t: f"{t.year}-{t.month}-{t.day} {t.hour}:{t.minute:02}",
    "slashes": lambda t: t.strftime("%Y/%m/%d %H:%M"),
    "US": lambda t: t.strftime("%m/%d/%Y %H:%M"),
    "US with am and pm": lambda t: t.strftime("%m/%d/%Y %I:%M %p"),
    "US short": lambda t: t.strftime("%m/%d/%y %H:%M"),
    "British": lambda t: t.strftime("%d/%m/%Y %H:%M"),
    "German": lambda t: t.strftime("%d.%m.%Y %H:%M:%S"),
    "months by name": lambda t: t.strftime("%d %b %Y %H:%M"),
    "weekday": lambda t: t.strftime("%a %d %b %Y %H:%M"),
    "weekday and comma": lambda t: t.strftime("%a, %d %b %Y %H:%M:%S"),
    "weekday and ISO": lambda t: t.strftime("%A %Y-%m-%d %H:%M"),
    "ctime": datetime.ctime,
    "compact": lambda t: t.strftime("%Y%m%d%H%M"),
    "compact as floats": lambda t: t.strftime("%Y%m%d%H%M.0"),
    "compact with seconds": lambda t: t.strftime("%Y%m%d%H%M%S"),
    "compact hours": lambda t: t.strftime("%Y%m%d%H"),
    "epoch seconds": lambda t: str(round((t - EPOCH).total_seconds())),
    "epoch seconds as floats": lambda t: str((t - EPOCH).total_seconds()),
    "epoch milliseconds": lambda t: str(round((t - EPOCH).total_seconds()) * 1000),
    "epoch nanoseconds": lambda t: str(round((t - EPOCH).total_seconds()) * 10**9),
    "spreadsheet": lambda t: repr((t - datetime(1899, 12, 30)) / timedelta(days=1)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_times_of_every_writer_are_the_same_hours(name):
    times, notes = parse_times("t.csv", list(map(WRITERS[name], HOURS)))
    assert_array_equal(times, np.array(HOURS, "M8[s]"))
    assert times.dtype == "M8[s]"
    plain = name in ("iso", "iso with T", "weekday and ISO")
    assert (len(notes) == 0) == plain


def test_days_alone_are_read_in_every_form():
    days = [START + timedelta(days=n) for n in range(60)]
    for form in ("%Y-%m-%d", "%Y%m%d", "%m/%d/%Y", "%d.%m.%Y", "%a %d %b %Y"):
        times, _ = parse_times("t.csv", [day.strftime(form) for day in days])
        assert_array_equal(times, np.array(days, "M8[s]"))
    serials = [str((day - datetime(1899, 12, 30)).days) for day in days]
    assert_array_equal(parse_times("t.csv", serials)[0], np.array(days, "M8[s]"))


@given(
    start=st.datetimes(datetime(1990, 1, 1), datetime(2029, 1, 1)),
    minutes=st.sampled_from([1, 5, 15, 60, 1440]),
    name=st.sampled_from(["iso", "compact with seconds", "epoch milliseconds", "ctime"]),
)
def test_any_beginning_and_step_come_back(start, minutes, name):
    times = [start.replace(microsecond=0) + timedelta(minutes=minutes * n) for n in range(40)]
    found, _ = parse_times("t.csv", list(map(WRITERS[name], times)))
    assert_array_equal(found, np.array(times, "M8[s]"))


def test_fractions_of_a_second_are_kept():
    halves = [START + timedelta(milliseconds=500 * n) for n in range(9)]
    expected = np.array(halves, "M8[us]")
    assert_array_equal(parse_times("t.csv", list(map(str, halves)))[0], expected)
    epoch = [str((t - EPOCH) // timedelta(milliseconds=1)) for t in halves]
    assert_array_equal(parse_times("t.csv", epoch)[0], expected)
    assert_array_equal(parse_times("t.csv", np.array(halves, "M8[ns]"))[0], expected)
    seconds = [str((t - EPOCH).total_seconds()) for t in halves]
    assert_array_equal(parse_times("t.csv", seconds)[0], expected)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["03/01/2012 00:00", "03/01/2012 01:00"], "could be MM/DD/YYYY hh:mm or DD/MM/YYYY hh:mm"),
        (["03/01/12"], "could be MM/DD/YY or DD/MM/YY"),
        (["Monday", "Tuesday"], "row 0: timestamp 'Monday' is not like"),
        (["2012Q1", "2012Q2"], "row 0: timestamp '2012Q1' is not like"),
        (["01.03.2012", "02.03.2012", "soon"], "row 2: timestamp 'soon' is not like"),
        (["2012-03-01", "2012-03-02", ""], "row 2: timestamp '' is not like"),
        (["1330560000", "1330563600", "nan"], "row 2: timestamp 'nan' is not like"),
        (["0", "300", "600"], "row 0: timestamp '0' is not like .* epoch seconds"),
        (["2012-03-01 00:00+01:00"], "has a time zone; write local time without it"),
        (["201203012300", "201203012400"], "row 1: timestamp '201203012400' is not like"),
        (["15000", "15005", "15010"], "row 0: timestamp '15000' is not like .* epoch seconds"),
        (["9" * 6000], "row 0: timestamp '9999"),
    ],
)
def test_what_is_no_time_or_two_is_refused_by_its_row(texts, message):
    with pytest.raises(DataError, match=f"^t.csv: row .*{message}|^t.csv: {message}") as caught:
        parse_times("t.csv", texts)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_numbers_that_count_rows_are_no_times_and_seconds_are():
    assert counts_rows(np.arange(5))
    assert counts_rows(np.arange(7.0, 12.0))
    assert not counts_rows(np.array([0, 2, 3]))
    assert not counts_rows(np.array([0.5, 1.5]))
    assert not counts_rows(1330560000 + np.arange(5))
    assert not counts_rows(20120301 + np.arange(5))
    assert not counts_rows(np.array(["a", "b"]))
    assert looks_like_times(1330560000.0 + np.arange(5))
    assert not looks_like_times(np.array([60.0, 61.0]))
    assert not looks_like_times(np.array([2e9, 1e9]))
