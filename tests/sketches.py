"""Pictures without their ink, for tests that ask what is on a figure and not how it is painted."""

from pathlib import Path

from matplotlib.figure import Figure

from gaancore.plots.picture import FORMATS


def sketch(figure: Figure, path: Path) -> list[Path]:
    """As `save_figure`, but the files are empty: to paint one takes a second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    paths = [path.with_suffix(f".{kind}") for kind in FORMATS]
    for target in paths:
        target.touch()
    return paths
