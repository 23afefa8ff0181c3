"""How objects show themselves: in one line on a console, as a table in a notebook."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from gaancore.errors import one_line

LONGEST = 80  # characters of a text that is shown


class Shown:
    """An object that shows the names and values of `_shown`; those that are None are left out.

    >>> class Pair(Shown):
    ...     def _shown(self):
    ...         return {"name": "<a>", "size": 12_000, "parts": {"left": 1, "right": 2}, "at": None}
    >>> Pair()
    Pair(name='<a>', size=12000, parts=(left 1, right 2))
    >>> print(Pair()._repr_html_())
    <table><caption>Pair</caption>
    <tr><th scope="row">name</th><td>&lt;a&gt;</td></tr>
    <tr><th scope="row">size</th><td>12,000</td></tr>
    <tr><th scope="row">parts</th><td>left 1, right 2</td></tr>
    </table>
    """

    @abstractmethod
    def _shown(self) -> dict[str, Any]:
        """What there is to see: numbers, texts, arrays (by shape and type), counts by name."""

    def __repr__(self) -> str:
        values = [(name, _in_line(value)) for name, value in self._there()]
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in values)})"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._there())

    def _there(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in self._shown().items() if value is not None]


def html_table(caption: str, rows: Iterable[Sequence[Any]], columns: Sequence[str] = ()) -> str:
    """A table in HTML, in the colours of the page that shows it; every text is escaped.

    rows : the first cell of each is its name. columns : their names, if they have any.
    """
    lines = [f"<table><caption>{escape(_short(caption))}</caption>"]
    if columns:
        cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
        lines.append(f"<tr>{cells}</tr>")
    for name, *values in rows:
        cells = "".join(f"<td>{escape(_in_cell(value))}</td>" for value in values)
        lines.append(f'<tr><th scope="row">{escape(_short(str(name)))}</th>{cells}</tr>')
    return "\n".join([*lines, "</table>"])


def _in_line(value: Any) -> str:
    """A value as in a call: texts in quotes, numbers as they are typed."""
    if isinstance(value, str):
        return repr(_short(value))
    if isinstance(value, int | float):
        return str(value)
    return f"({_in_cell(value)})" if isinstance(value, Mapping) else _in_cell(value)


def _in_cell(value: Any) -> str:
    if isinstance(value, bool | str):
        return _short(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_short(str(name))} {_in_cell(part)}" for name, part in value.items())
    if hasattr(value, "shape"):
        return f"{value.dtype}{tuple(value.shape)}"
    return _short(str(value))


def _short(text: str) -> str:
    """`text` in one line that is not too long."""
    line = one_line(text[: LONGEST + 1])
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
