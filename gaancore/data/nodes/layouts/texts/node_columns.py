"""What each column of a table of nodes is: an id, a label, a split, a feature."""

import re
from dataclasses import dataclass

from gaancore.choices import Reading
from gaancore.data.files.arrays import listed
from gaancore.data.files.named_table import NamedTable
from gaancore.data.nodes.layouts.splits import MASKS, split_names
from gaancore.errors import DataError

ID_NAMES = (("id",), ("node_id",), ("node",))
CLASS, SPLIT, GRAPH_ID = "label", "split", "graph_id"
LABEL_PREFIX = "label:"
NUMBERED_SPLIT = re.compile(r"split[_. ]?\d+")  # one of several
REMEDY = (
    f"all columns but id, {CLASS}, {LABEL_PREFIX}NAME, {SPLIT}, masks and {GRAPH_ID} are features: "
    "numbers, or text in all of the column"
)


@dataclass(frozen=True)
class Columns:
    """The places, by name, of columns of text, of labels and masks of 0 and 1, and of features.

    unused : the names of columns that another was chosen over.
    """

    texts: dict[str, int]
    labels: dict[str, int]
    masks: dict[str, int]
    features: dict[str, int]
    unused: list[str]


def sort_columns(table: NamedTable, reading: Reading) -> Columns:
    """Raises DataError for labels or splits of two kinds, a chosen column that is not there, and a
    column that is no feature nor label.
    """
    columns = Columns({}, {}, {}, {}, [])
    chosen = _chosen_columns(table, reading)
    for at, name in enumerate(table.columns):
        kind = name.lower()
        if not kind or kind.startswith("unnamed:"):  # by pandas, of its index
            raise DataError(
                f"{table.path}: column {at + 1} of the header has no name; name it, or leave it "
                "out (pandas: index=False)"
            )
        is_split = kind == SPLIT or kind in MASKS or bool(NUMBERED_SPLIT.fullmatch(kind))
        if kind == chosen[CLASS]:
            columns.texts[CLASS] = at
        elif kind == chosen[SPLIT]:
            columns.texts[SPLIT] = at
        elif (chosen[CLASS] and (kind == CLASS or kind.startswith(LABEL_PREFIX))) or (
            chosen[SPLIT] and is_split
        ):
            columns.unused.append(name)
        elif kind in (CLASS, SPLIT, GRAPH_ID):
            columns.texts[kind] = at
        elif kind in MASKS:
            columns.masks[kind] = at
        elif is_split and not reading.needed:
            columns.unused.append(name)
        elif is_split:
            raise DataError(
                f"{table.path}: column {name}: one of several splits; choose one (split_column)"
            )
        elif kind.startswith(LABEL_PREFIX):
            label = name[len(LABEL_PREFIX) :].strip()
            if not label or label in columns.labels:
                raise DataError(f"{table.path}: column {name}: expected {LABEL_PREFIX}NAME, once")
            columns.labels[label] = at
        elif kind.startswith(CLASS):
            raise DataError(
                f"{table.path}: column {name}: a label is named {CLASS} or {LABEL_PREFIX}NAME; if "
                "this is a feature, give it another name; or choose it (label)"
            )
        elif at not in table.keys:
            columns.features[name] = at
    split_names(table.path, [*columns.texts, *columns.masks])
    if columns.labels and (CLASS in columns.texts or len(columns.labels) == 1):
        raise DataError(
            f"{table.path}: expected one column {CLASS} (a class per node), or two or more "
            f"{LABEL_PREFIX}NAME (several labels per node), not both"
        )
    return columns


def _chosen_columns(table: NamedTable, reading: Reading) -> dict[str, str]:
    """The names, in lower case, of the columns that are chosen as label and as split; "" for none.

    Raises DataError where a chosen one is not there, unless it is not needed.
    """
    chosen = {CLASS: reading.label.lower(), SPLIT: reading.split_column.lower()}
    for kind, name in chosen.items():
        if name and name not in map(str.lower, table.columns):
            if not reading.needed:
                chosen[kind] = ""
                continue
            argument = "label" if kind == CLASS else "split_column"
            raise DataError(
                f"{argument}: {table.path} has no column {name!r}; there are "
                f"{listed(table.columns)}"
            )
    return chosen
