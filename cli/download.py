"""`gaancore download`."""

import click

from gaancore.system.paths import user_path

from .process import debug_option, quiet_option


@click.command("download")
@click.argument("task", type=click.Choice(("ppi", "reddit")))
@click.option(
    "--to", "folder", metavar="DIR",
    help="The new folder.  [default: where --task finds it, see train]",
)  # fmt: skip
@quiet_option
@debug_option
def download_command(task: str, folder: str | None, quiet: bool) -> int:
    """Fetch the public copy of PPI (7 MB) or Reddit (1.4 GB) that DGL and PyTorch Geometric use.

    The download is checked against its SHA-256 and unpacked to a folder where --task finds it
    without --data. No other command uses the network. METR-LA has no copy with a known checksum:
    put metr-la.h5 and adj_mx.pkl, as DCRNN's pages link them, into a folder of your own.

    \b
    gaancore download ppi
    gaancore train --task ppi
    gaancore download reddit --to reddit-files
    gaancore convert reddit-files reddit-store      # once; as --data it opens at once
    """
    from gaancore.data.download import SOURCES, download

    from .show import progress_bar

    with progress_bar(f"download {task}", quiet) as progress:
        target = download(task, user_path(folder) if folder else None, progress)
    use = f"use it with --data {target}" if folder else f"--task {task} finds it"
    click.echo(f"{target}: the files of {SOURCES[task].url} are there; {use}")
    return 0
