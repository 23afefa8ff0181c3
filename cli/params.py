"""`gaancore params`."""

import json
from typing import TYPE_CHECKING

import click

from gaancore.choices import MODELS, PAPERS, VARIANTS

if TYPE_CHECKING:
    from gaancore.reproduce.parameters import ModelSize


@click.command()
@click.option("--task", type=click.Choice(tuple(PAPERS)), help="[default: all]")
@click.option("--model", type=click.Choice(MODELS), help="[default: all]")
@click.option(
    "--variant", type=click.Choice(VARIANTS),
    help="Which reading of the paper.  [default: the task's]",
)  # fmt: skip
@click.option("--layers", is_flag=True, help="Every array with its shape.  [default: no]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.  [default: no]")
def params(
    task: str | None, model: str | None, variant: str | None, layers: bool, as_json: bool
) -> int:
    """Count the parameters of the models in the paper's tables, built as on its data sets."""
    from rich.table import Table

    from gaancore.reproduce.parameters import model_sizes

    from .show import Display, print_whole

    tasks = (task,) if task else PAPERS
    sizes = [size for name in tasks for size in model_sizes(name, variant, model)]
    if as_json:
        click.echo(json.dumps([_facts(size) for size in sizes], indent=2))
        return 0
    display = Display(quiet=False)
    table = Table("task", "row", "variant", "parameters", "paper", "equal")
    for size in sizes:
        equal = {True: "yes", False: "no", None: ""}[size.equal]
        count = f"{size.model.num_parameters:,}"
        table.add_row(size.task, size.row, size.variant, count, size.printed or "", equal)
    print_whole(display.console, table)
    for size in sizes if layers else []:
        display.say(f"{size.task} {size.row}")
        arrays = Table("array", "shape", "size")
        for layer in size.layers():
            shape = " × ".join(map(str, layer["shape"]))
            arrays.add_row(layer["name"], shape, f"{layer['size']:,}")
        print_whole(display.console, arrays)
    return 0


def _facts(size: "ModelSize") -> dict[str, object]:
    return {
        "task": size.task,
        "row": size.row,
        "variant": size.variant,
        "num_parameters": size.model.num_parameters,
        "paper": size.paper,
        "printed": size.printed,
        "equal": size.equal,
        "layers": size.layers(),
    }
