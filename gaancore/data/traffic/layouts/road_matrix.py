"""A road graph as a square matrix: `adj_mx.pkl`, CSV, `.npz`. A[i, j] != 0 is an arc i -> j.

A matrix of distances (PeMSD7's `W_228.csv`) is told by its numbers and made weights of.
"""

from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from gaancore.choices import RoadChoices
from gaancore.data.files.arrays import listed_names, npz_names, read_npy, read_npz, refusing_damage
from gaancore.data.files.ids import WHOLE, id_texts, number_text, plain_ids
from gaancore.data.files.number_table import read_number_table
from gaancore.data.files.plain_pickle import read_plain_pickle
from gaancore.data.traffic.make import RoadGraph
from gaancore.data.traffic.roads import road_weights
from gaancore.errors import DataError
from gaancore.graph import CSRGraph


def read_adjacency_pickle(
    path: Path, ids: tuple[str, ...] | None, choices: RoadChoices | None = None
) -> RoadGraph:
    """DCRNN's [ids, id -> row, matrix], or a matrix alone, whose rows are then `ids` if they fit.

    Raises DataError for a damaged pickle, one that is anything else, and ids that disagree.
    """
    value = read_plain_pickle(path)
    if isinstance(value, np.ndarray):
        return _graph_of(path, _entries(path, value), choices, None, ids)
    kinds = [type(item) for item in value] if isinstance(value, list) else []
    if kinds != [list, dict, np.ndarray]:
        raise DataError(f"{path}: expected [ids, id -> row, matrix] or a matrix alone")
    names, rows, matrix = value
    if not all(isinstance(name, str | bytes | int) for name in names):
        raise DataError(f"{path}: its first item is not a list of ids")
    if [rows.get(name) for name in names] != list(range(len(names))):
        raise DataError(f"{path}: its list of ids and its table id -> row disagree")
    if matrix.shape[:1] != (len(names),):
        raise DataError(f"{path}: {len(names):,} ids for a matrix of shape {matrix.shape}")
    own = plain_ids([_id_text(path, name) for name in names])
    return _graph_of(path, _entries(path, matrix), choices, own)


def read_adjacency_csv(
    path: Path, ids: tuple[str, ...] | None, choices: RoadChoices | None = None
) -> RoadGraph:
    """A matrix with the sensor ids as its header (and first column), or bare: `ids` if they fit.

    Its first line is a header if the matrix is square below it, and a row if it is with it.
    Raises DataError naming the line of what is no number, and for ids that disagree.
    """
    table = read_number_table(path, partial(_is_header, path))
    columns, index = (names and plain_ids(names) for names in (table.columns, table.index))
    if columns and index and columns != index:
        raise DataError(f"{path}: the ids of rows and columns differ; they must be in one order")
    matrix = _entries(path, table.values)
    own = columns or index
    return _graph_of(path, matrix, choices, own, None if own else ids, table.notes)


def read_adjacency_npz(
    path: Path, ids: tuple[str, ...] | None, choices: RoadChoices | None = None
) -> RoadGraph:
    """SciPy's sparse `.npz` (csr, csc or coo), or one square array; the rows are `ids` if they fit.

    A `.npy` file holds one square array too. Raises DataError for anything else.
    """
    if path.suffix.lower() == ".npy":
        return _graph_of(path, _entries(path, read_npy(path)), choices, None, ids)
    names = set(npz_names(path))
    if not {"format", "shape", "data"} <= names:
        matrices = [name for name in names if name not in ("sensor_ids", "ids")]
        if len(matrices) != 1:
            raise DataError(
                f"{path}: expected SciPy's sparse matrix or one square array; the file has "
                f"{listed_names(path)}"
            )
        arrays = read_npz(path)
        listed = [arrays[name] for name in ("sensor_ids", "ids") if name in arrays]
        own = id_texts(str(path), listed[0]) if listed else None
        matrix = _entries(path, arrays[matrices[0]])
        return _graph_of(path, matrix, choices, own, None if own else ids)
    return _graph_of(path, _sparse(path), choices, None, ids)


def _sparse(path: Path) -> sparse.coo_array:
    arrays = read_npz(path, ("format", "shape", "data", "indices", "indptr", "row", "col"))
    with refusing_damage(path, "sparse matrix"):
        kind = arrays["format"].item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        shape = tuple(arrays["shape"].ravel().tolist())
        data = arrays["data"]
        if max(shape) > path.stat().st_size:
            raise ValueError(f"{max(shape):,} rows in a file of fewer bytes")
        if data.dtype.kind not in "biuf":
            raise ValueError(f"its entries are {data.dtype}")
        if kind == "coo":
            return sparse.coo_array((data, (arrays["row"], arrays["col"])), shape)
        if kind not in ("csr", "csc"):
            raise ValueError(f"its format is {kind}: save it as csr, csc or coo")
        made = {"csr": sparse.csr_array, "csc": sparse.csc_array}[kind](
            (data, arrays["indices"], arrays["indptr"]), shape
        )
        made.check_format(full_check=True)
        return made.tocoo()


def _is_header(path: Path, names: list[str], values: np.ndarray) -> bool | None:
    """Whether a first line of numbers is a header: the rest is square, or it is with this line.

    Different whole numbers above every entry are ids, if rows are missing below too. Raises
    DataError for one more row than columns if the first could be of distances: it has a 0.
    """
    ids = all(map(WHOLE.fullmatch, names)) and len(set(names)) == len(names)
    if ids and values.size and min(map(float, names)) > np.nan_to_num(values).max():
        return True
    numbers = sorted(map(float, names)) if ids else []
    if len(values) == len(names) and 0 in numbers and numbers != list(range(len(names))):
        raise DataError(
            f"{path}: {len(names) + 1:,} rows of {len(names):,} numbers; if a row is there twice, "
            "remove it; if the first has ids of sensors, name them otherwise"
        )
    return False if len(values) == len(names) - 1 else (ids and len(values) == len(names)) or None


def _id_text(path: Path, name: str | bytes | int) -> str:
    if isinstance(name, int):
        return number_text(str(path), name)
    return name.decode("latin1") if isinstance(name, bytes) else name


def _entries(path: Path, matrix: np.ndarray) -> sparse.coo_array:
    """The entries of a dense matrix that are not 0."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: expected a square matrix of numbers, got {matrix.dtype} {matrix.shape}; "
            "a list of edges needs a header such as from,to"
        )
    src, dst = np.nonzero(matrix)
    with np.errstate(invalid="ignore"):  # of a NaN, which is reported as such
        weights = matrix[src, dst].astype(np.float64)
    return sparse.coo_array((weights, (src, dst)), matrix.shape)


def _are_distances(matrix: sparse.coo_array) -> bool:
    """Whether a square matrix holds distances and not weights.

    Nothing from a sensor to itself, and something, more than 1 somewhere, between most others.
    Weights that fall with the distance are at most 1, and most of them nothing.
    """
    size, there = matrix.shape[0], matrix.data[matrix.data != 0]
    if size < 3 or (matrix.data[matrix.row == matrix.col] != 0).any():
        return False
    return bool(2 * there.size > size * (size - 1) and (there > 0).all() and there.max() > 1)


def _expect_all_distances(path: Path, matrix: sparse.coo_array) -> None:
    """Raises DataError for a matrix that would hold distances but for some of its entries."""
    size, apart = matrix.shape[0], matrix.row != matrix.col
    long = matrix.data[apart & (matrix.data > 0)]
    wrong = np.flatnonzero(np.where(apart, matrix.data < 0, matrix.data != 0))
    is_few = wrong.size < size and 2 * long.size > size * (size - 1)
    if size >= 3 and wrong.size and is_few and long.max() > 1:
        row, column, number = (x[wrong[0]] for x in (matrix.row, matrix.col, matrix.data))
        raise DataError(
            f"{path}: row {row}, column {column}: {number:g} is no distance, as the others look; "
            "correct it, or, if they are weights, choose none (kernel)"
        )


def _graph_of(
    path: Path,
    matrix: sparse.coo_array,
    choices: RoadChoices | None,
    own: tuple[str, ...] | None,
    beside: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> RoadGraph:
    """own: the ids that the file has; beside: those in a list next to it, for a file without."""
    num_nodes = matrix.shape[0]
    choices = choices or RoadChoices()
    if matrix.shape[1] != num_nodes:
        raise DataError(f"{path}: expected a square matrix, got {matrix.shape}")
    src, dst = matrix.row, matrix.col
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if bad.size:
        row, column = src[bad[0]], dst[bad[0]]
        raise DataError(f"{path}: row {row}, column {column} is not a finite number")
    there = matrix.data != 0
    notes = (f"graph: matrix {path.name}", *notes)
    attr = matrix.data[there][:, None]
    made = choices.kernel != "none" and _are_distances(matrix)
    if choices.kernel != "none" and not made:
        _expect_all_distances(path, matrix)
    if made:
        lengths = np.concatenate([matrix.data[there], np.zeros(num_nodes)])  # and to themselves
        weights = road_weights(lengths, choices)[:-num_nodes]
        attr = np.column_stack([matrix.data[there], weights])[weights > 0]
        there[there] = weights > 0
        notes += (
            f"graph: {path.name} holds distances ({lengths.max():g} at most), not weights: "
            f"{np.count_nonzero(there):,} of {lengths.size - num_nodes:,} roads are near (weight "
            f">= {choices.least_weight:g}; kernel, sigma, threshold)",
        )
    arcs = (src[there], dst[there], num_nodes)
    graph = CSRGraph.from_edges(*arcs, duplicates="merge", edge_attr=attr, reduce="sum")
    if beside is not None and len(beside) == num_nodes:
        first = ", ".join(f"row {row} is sensor {name}" for row, name in enumerate(beside[:3]))
        notes += (f"graph: its rows joined by position with the list of sensor ids: {first}, ...",)
        own = beside
    elif beside is not None:
        notes += (
            f"graph: {len(beside):,} sensor ids in the list beside it, but {num_nodes:,} rows: the "
            "list is not used",
        )
    return RoadGraph(
        str(path),
        graph,
        own,
        notes,
        max_pairs=choices.max_pairs if made else None,
        edge_names=("distance", "weight") if made else ("weight",),
    )
