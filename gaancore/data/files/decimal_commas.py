"""Numbers with a decimal comma, in tables whose cells have something else between them."""

import re
from collections.abc import Iterator
from pathlib import Path

from gaancore.errors import DataError

COMMA = re.compile(r"([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)")
POINT = re.compile(r"[+-]?\d*\.\d*[1-9]\d*([eE][+-]?\d+)?")  # not of 717.0, which is an id
THOUSANDS = 3  # digits behind a comma that may stand between thousands

Rows = Iterator[tuple[int, list[str]]]


class DecimalCommas:
    """Gives the cells of one table with points for its decimal commas.

    A table has one of both. Where each comma has three digits behind it, it could stand between
    thousands: that is refused, as are commas beside points.

    >>> commas = DecimalCommas(Path("speeds.csv"))
    >>> list(commas.replaced(iter([(1, ["north", "61,5"])])))
    [(1, ['north', '61.5'])]
    >>> commas.notes()
    ('speeds.csv: decimal commas, read as points',)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.comma: tuple[int, int, str] | None = None  # line, column and cell of the first
        self.point: tuple[int, int, str] | None = None
        self.sure = False

    def replaced(self, rows: Rows) -> Rows:
        """The rows; raises DataError behind the last one if it is not plain what commas mean."""
        for line, cells in rows:
            text = "".join(cells)
            if "," in text:
                cells = [self._cell(line, place, cell) for place, cell in enumerate(cells, 1)]
            elif self.point is None and "." in text:
                self._look_for_point(line, cells)
            yield line, cells
        self._expect_plain()

    def notes(self) -> tuple[str, ...]:
        """A note if there were any."""
        return (f"{self.path.name}: decimal commas, read as points",) if self.comma else ()

    def _cell(self, line: int, place: int, cell: str) -> str:
        match = COMMA.fullmatch(cell)
        if match is None:
            self._look_for_point(line, [cell], place)
            return cell
        self.comma = self.comma or (line, place, cell)
        self.sure = self.sure or len(match[2]) != THOUSANDS
        return f"{match[1]}.{match[2]}"

    def _look_for_point(self, line: int, cells: list[str], first: int = 1) -> None:
        for place, cell in enumerate(cells, first):
            if self.point is None and POINT.fullmatch(cell):
                self.point = line, place, cell

    def _expect_plain(self) -> None:
        if self.comma is None or (self.sure and self.point is None):
            return
        line, place, cell = self.comma
        why = "a comma with three digits behind it may be decimal or stand between thousands"
        if self.point is not None:
            why = f"{self.point[2]!r} in line {self.point[0]} has a point"
        raise DataError(
            f"{self.path}: line {line}, column {place}: {cell!r}: {why}; write all decimals with a "
            "point"
        )
