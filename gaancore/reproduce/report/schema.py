"""Reports as types: what TABLE.json holds.

`schema` counts their versions. A report of another version is refused: it is made again from the
records of its runs.
"""

from typing import Any, Literal, NotRequired, TypedDict

SCHEMA = 2

# full: the paper's whole data set; part: other real data of a task of the paper; own: data of one's
# own; synthetic: built in or made up
DataKind = Literal["full", "part", "own", "synthetic"]


class DataPart(TypedDict):
    """What the numbers of a report were measured on."""

    kind: DataKind
    words: str
    file: str  # the last part of the path: a report names no folder of one machine
    read: NotRequired[list[str]]  # settings that say how the files were read, where asked for
    checksum: str


class Spread(TypedDict):
    """Of n values."""

    mean: float
    std: float | None  # of the sample; None for one value
    n: int


class RunsRow(TypedDict):
    """One row and the runs of it that are finished."""

    name: str
    model: str | None  # None: a guess that learns nothing
    place: str  # in the paper
    paper: dict[str, list[float]]  # score -> [mean, deviation] or [mean]
    printed: NotRequired[dict[str, str]]  # score -> the same as text
    paper_parameters: str | None  # as printed
    note: NotRequired[str]  # on what is printed
    taken_from: NotRequired[str]  # whose paper the row is printed from; it is never run
    extension: NotRequired[bool]  # not in the paper
    full: dict[str, Spread]  # scores on the paper's data with its settings
    other: dict[str, Spread]  # all other scores
    seeds: list[int]
    scores: NotRequired[list[dict[str, float]]]  # of each of them
    num_parameters: NotRequired[int]  # this and what follows: if there are runs
    variant: NotRequired[str]
    device: NotRequired[str]
    epochs: NotRequired[float]
    seconds: NotRequired[float]
    out_dim: NotRequired[int]


Outcome = Literal["shown", "reversed", "not decided", "not run"]


class Pair(TypedDict):
    """Two rows that a claim puts in an order, compared over the seeds that both have."""

    better: str
    worse: str
    outcome: Outcome
    n: int  # seeds
    difference: NotRequired[float]  # mean over the seeds, positive in that order
    interval: NotRequired[list[float] | None]  # of 95 %; None for one seed


class Order(TypedDict):
    claim: str
    metric: str
    pairs: list[Pair]
    also: NotRequired[dict[str, list[Pair]]]  # the same pairs by other scores
    ours: NotRequired[bool]  # the claim is not the paper's


class RunsReport(TypedDict):
    """Of a table that is made of training runs."""

    schema: int
    table: Literal["main", "ablation", "out-dim", "gates", "traffic", "edges"]
    title: str
    task: str
    data: DataPart
    settings: NotRequired[str | None]  # those that were chosen for data of one's own, in words
    changed: list[str]  # settings that were asked for
    metrics: list[str]
    rows: list[RunsRow]
    order: Order | None
    missing: list[str]  # runs
    command: str  # that runs them
    gates: NotRequired[dict[str, Any]]  # as HeadsOfTest.facts, with `nodes` and `files`


class SamplingRow(TypedDict):
    name: str
    nodes: list[float]  # |B_0|, |B_1|, ...
    edges: float
    place: str
    paper: list[int]
    printed: list[str]


class SamplingReport(TypedDict):
    schema: int
    table: Literal["sampling"]
    title: str
    task: str
    data: DataPart
    changed: list[str]
    beside: bool  # whether the paper's sizes are of the same data
    rows: list[SamplingRow]
    missing: list[str]


class ParametersRow(TypedDict):
    task: str
    name: str
    built: int
    paper: int
    printed: str
    equal: bool


class ParametersReport(TypedDict):
    schema: int
    table: Literal["params"]
    title: str
    rows: list[ParametersRow]
    equal: int
    sentence: str


class Count(TypedDict):
    quantity: str
    paper: Any  # a number, several, or None
    printed: str | None
    found: Any


class CountsPart(TypedDict):
    """The counts of one data set."""

    task: str
    place: str
    kind: DataKind | None  # None: no data were found
    words: str
    rows: list[Count]


class DatasetsReport(TypedDict):
    schema: int
    table: Literal["datasets"]
    title: str
    counts: list[CountsPart]


Report = RunsReport | SamplingReport | ParametersReport | DatasetsReport
