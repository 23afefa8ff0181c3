"""Tables where there is no terminal, or a narrow one."""

import io

import pytest
from gaancore.cli.show import print_whole
from rich.console import Console
from rich.table import Table


@pytest.mark.parametrize("width", [1, 20, 80])
def test_no_figure_of_a_table_is_cut_or_wrapped_however_narrow_the_console(width):
    rows = [[f"{row}{column}.123 / 0.456" for column in range(12)] for row in range(3)]
    table = Table(*(f"column {n}" for n in range(12)))
    for row in rows:
        table.add_row(*row)
    written = io.StringIO()
    print_whole(Console(file=written, width=width), table)
    cells = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in written.getvalue().splitlines()
    ]
    assert [line for line in cells if line] == rows
