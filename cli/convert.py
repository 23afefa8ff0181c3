"""`gaancore convert` and `gaancore check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gaancore.choices import AUTO, Nan, Reading, Unflagged
from gaancore.errors import SettingsError
from gaancore.system.mapped import scratch_in
from gaancore.system.paths import user_path

from .options import choice_of, graph_reading_options
from .process import debug_option, quiet_option

if TYPE_CHECKING:
    from gaancore.data import NodeDataset
    from gaancore.data.parts.dataset import PartedDataset
    from gaancore.graph.stream.rows import Progress


@click.command()
@click.argument("source", metavar="IN")
@click.argument("store", metavar="OUT")
@click.option(
    "--unflagged", type=choice_of("unflagged"),
    default="error", show_default=True,
    help="Nodes in no split: refuse them, drop them with their edges, train on them, or keep them "
    "as neighbours only, which need no label.",
)  # fmt: skip
@click.option(
    "--nan", type=choice_of("nan"), default="error", show_default=True,
    help="Features that are NaN: refuse them, or replace them by 0 or the mean of training nodes.",
)  # fmt: skip
@click.option(
    "--split", "shares", metavar="A,B,C",
    help="Draw a split, in per cent of the nodes for training, validation and test, such as "
    "60,20,20. For files that have none.  [default: the files' own]",
)  # fmt: skip
@graph_reading_options
@click.option(
    "--unknown-edges", type=choice_of("unknown_edges"), default="error", show_default=True,
    help="Edges that name an id no node has: refuse or drop them.",
)  # fmt: skip
@click.option(
    "--parts", type=click.IntRange(1), metavar="P",
    help="Cut OUT into P parts, so that each process of a run under mpiexec needs its own parts "
    "alone; IN may be a folder that convert wrote.  [default: one whole]",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Seeds the draw of --split.  [default: 0]")
@quiet_option
@debug_option
def convert(
    source: str,
    store: str,
    unflagged: Unflagged,
    nan: Nan,
    shares: str | None,
    parts: int | None,
    seed: int | None,
    quiet: bool,
    **asked: Any,
) -> int:
    """Write the dataset IN to a new folder OUT that every command takes as --data.

    OUT holds the graph in CSR form, features, labels and split as .npy files, and features of
    edges. Opening it maps them
    into memory, so it opens at once and may be larger than memory. Writing takes bounded memory,
    and the folder appears only when it is complete.

    \b
    IN is any of:
      GraphSAINT    adj_full.npz feats.npy class_map.json role.json
      GraphSAGE     PREFIX-G.json PREFIX-id_map.json PREFIX-class_map.json PREFIX-feats.npy
      DGL, PyG      reddit_data.npz reddit_graph.npz
      DGL's PPI     {train,valid,test}_{graph.json,feats.npy,labels.npy,graph_id.npy}
      two .csv      nodes.csv (id, features, label, split) edges.csv (src,dst)
      one .npz      src dst | edge_index | indptr indices; x; y; split or masks
      several .npy  src.npy dst.npy x.npy ...: arrays like those of an .npz, mapped
      one .mat      Network Attributes Label | network group | A local_info
      and others    Planetoid, OGB, LINQS, networkx's files, lists of edges: docs/public-files.md

    Files that have no split need --split. Under mpiexec the first process does it alone.

    With --parts each part is a folder of its own in OUT; train, info and check read them. Nodes go
    to parts so that few arcs lead from one to another; which share does is printed. A whole folder
    is written beside them first, and removed.

    \b
    gaancore convert data/reddit reddit-store
    gaancore convert BlogCatalog.mat blog-store --split 60,20,20 --seed 1
    gaancore convert reddit-store reddit-parts --parts 4
    gaancore train --data reddit-store
    """
    from gaancore.data import open_store
    from gaancore.data.nodes.layouts.find import read_layout
    from gaancore.data.nodes.missing import fill_missing
    from gaancore.data.nodes.split import with_random_split
    from gaancore.data.nodes.store.convert import write_store
    from gaancore.data.nodes.store.reader import is_store
    from gaancore.data.parts.cut import write_parts
    from gaancore.data.parts.dataset import parted_at
    from gaancore.system.new_folder import expect_free

    from .show import phases, progress_bar

    if seed is not None and shares is None:
        raise SettingsError("seed: nothing is drawn without a split; leave it out")
    if asked.get("features") == "learned":
        raise SettingsError(
            "features: learned ones are learned in training; choose them there, of a store too"
        )
    given = {"edge_features": AUTO, **{name: value for name, value in asked.items() if value}}
    repeated_edges = given.pop("repeated_edges", "error")
    reading = Reading(**given)
    target, path = user_path(store), user_path(source)
    expect_free(target)
    if parts is not None and is_store(path):
        reading.expect_of_store(path)
        _expect_settled(path, shares, unflagged, nan, asked["unknown_edges"])
        with progress_bar("convert", quiet) as progress:
            write_parts(target, parts, lambda folder: open_store(path), progress=progress)
        return _report(parted_at(target), quiet)
    with scratch_in(target.parent), phases(quiet):
        raw = read_layout(path, reading)
        if shares is not None:
            raw = with_random_split(raw, _numbers(shares), seed=seed or 0)
        raw = fill_missing(raw, nan)

    def write(folder: Path, progress: "Progress") -> None:
        write_store(
            raw,
            folder,
            name=path.stem,
            unflagged=unflagged,
            repeated_edges=repeated_edges,
            progress=progress,
        )

    def whole(folder: Path) -> "NodeDataset":
        write(folder, lambda share: progress(0.5 * share))
        return open_store(folder)

    with progress_bar("convert", quiet) as progress:
        if parts is None:
            write(target, progress)
        else:
            write_parts(target, parts, whole, progress=lambda share: progress(0.5 + 0.5 * share))
    with phases(quiet):
        written = open_store(target) if parts is None else parted_at(target)
    return _report(written, quiet)


@click.command()
@click.argument("store", metavar="STORE")
@quiet_option
@debug_option
def check(store: str, quiet: bool) -> int:
    """Compare every byte of the folder STORE with the checksums made when it was written.

    Opening a store checks sizes, types and the graph, but not the features.
    """
    from gaancore.data import check_store
    from gaancore.data.parts.dataset import PartedDataset, parted_at
    from gaancore.data.parts.part import check_part

    from .show import phases

    with phases(quiet):
        dataset = parted_at(user_path(store))
        if isinstance(dataset, PartedDataset):
            for number in range(dataset.num_parts):
                check_part(dataset, number)
        else:
            dataset = check_store(user_path(store))
    return _report(dataset, quiet)


def _expect_settled(store: Path, shares: str | None, *choices: str) -> None:
    """Raises SettingsError if something is chosen of a store's files, which were read before."""
    names = ("unflagged", "nan", "unknown_edges")
    chosen = [n for n, choice in zip(names, choices, strict=True) if choice != "error"]
    for name in [*(["split"] if shares is not None else []), *chosen]:
        raise SettingsError(f"{name}: {store} is a store, in which this is settled; leave it out")


def _numbers(shares: str) -> list[int]:
    try:
        return [int(share) for share in shares.split(",")]
    except ValueError:
        raise SettingsError(f"shares: expected numbers such as 60,20,20, got {shares}") from None


def _report(dataset: "NodeDataset | PartedDataset", quiet: bool) -> int:
    from gaancore.data.parts.dataset import PartedDataset

    sizes = [f"{dataset.nodes(split).size:,}" for split in range(3)]
    of_edges = f" and {dataset.edge_dim} of an edge" if dataset.edge_dim else ""
    labels = "labels" if dataset.multi_label else "classes"
    click.echo(
        f"{dataset.path}: {dataset.num_nodes:,} nodes, {dataset.num_edges:,} arcs, "
        f"{dataset.num_features} features{of_edges}, {dataset.num_classes} {labels}; "
        f"train {sizes[0]}, validation {sizes[1]}, test {sizes[2]} nodes"
    )
    if isinstance(dataset, PartedDataset):
        click.echo(
            f"{dataset.num_parts} parts of {min(dataset.parts)[0]:,} to {max(dataset.parts)[0]:,} "
            f"nodes; {dataset.crossing_share:.1%} of the arcs lead from one part to another"
        )
    for note in [] if quiet else dataset.notes:
        click.echo(f"note: {note}")
    return 0
