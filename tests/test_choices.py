"""The words that help lists are those that something takes."""

from typing import get_args

import click
from gaancore.cli.main import gaancore as program

from gaancore import choices
from gaancore.data.download import SOURCES
from gaancore.nn.aggregators import KINDS
from gaancore.tasks import TASKS
from gaancore.training.traffic.latest import STANDS_IN


def test_every_task_and_model_that_can_be_chosen_is_one():
    assert tuple(TASKS) == choices.TASKS
    assert tuple(KINDS) == choices.AGGREGATORS
    assert list(choices.PAPERS) == [name for name, task in TASKS.items() if task.of_paper]


def test_what_may_stand_in_for_a_missing_reading_is_what_can_be_asked_for():
    assert set(get_args(choices.LatestMissing)) == set(STANDS_IN)


def test_the_data_sets_that_can_be_downloaded_have_a_source():
    command = program.get_command(click.Context(program), "download")
    task = next(parameter for parameter in command.params if parameter.name == "task")
    assert list(task.type.choices) == list(SOURCES)
