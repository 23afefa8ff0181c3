"""A report as files: TABLE.json for machines, TABLE.md for people."""

from pathlib import Path
from typing import Any

from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.report.page import page
from gaancore.reproduce.report.schema import SCHEMA, Report
from gaancore.reproduce.tables import TABLES
from gaancore.system.disk import read_json, write_json, write_whole


def write_report(report: Report, out: Path) -> list[Path]:
    """Write TABLE.json and TABLE.md; returns them. Raises DataError if they cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be made ({error.strerror})") from None
    paths = [out / f"{report['table']}.{kind}" for kind in ("json", "md")]
    write_json(paths[0], report)
    write_whole(paths[1], page(report).encode())
    return paths


def reports_in(folder: Path) -> list[Report]:
    """Every report in a folder. Raises DataError if one is damaged or of another version."""
    paths = (folder / f"{table}.json" for table in TABLES)
    return [read_report(path) for path in paths if path.exists()]


def read_report(path: Path) -> Report:
    """The report at `path`. Raises DataError if it is damaged or of another version."""
    report: Any = read_json(path)
    if not isinstance(report, dict) or report.get("table") != path.stem:
        raise DataError(f"{path}: not a report of table {path.stem}; remove it")
    if (schema := report.get("schema", 0)) != SCHEMA:
        raise DataError(
            f"{path}: written by another version of gaancore (schema {schema}, this one reads "
            f"{SCHEMA}); make the table again, which does no run twice"
        )
    try:
        page(report)  # type: ignore[arg-type]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: damaged (no {error}); make the table again") from None
    return report  # type: ignore[return-value]


def expect_same_data(out: Path, table: str, task: str, checksum: str) -> None:
    """Raise SettingsError if `out` has a report of this table on other data."""
    path = out / f"{table}.json"
    if not path.exists():
        return
    there: Any = read_report(path)
    try:
        found = (there["task"], there["data"]["checksum"])
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged (no {error}); remove it") from None
    if found != (task, checksum):
        raise SettingsError(
            f"{path}: a report on other data is there ({found[0]}, checksum {found[1]}; now "
            f"{task}, {checksum}); choose another folder (out)"
        )
