"""What the ranks of a run have to have in common, and how they are spoken of."""

from gaancore.training.run import Run
from gaancore.training.same_data import alike_on_ranks

# Of a step, where a launcher starts a run that names no other number. 1, 2, 4 and 8 ranks have
# equally many, and 3 ranks wait for a ninth of the time. More would suit more numbers of ranks, but
# each share draws neighbours of its own: on Reddit's look-alike the 8 shares of 512 seeds reach 1.3
# times the edges and 3.4 times the nodes of one share, 24 shares 1.4 and 4.6 times (docs/cluster.md
# says by which command).
SHARES = 8


def expect_same_run(run: Run) -> None:
    """Raises SettingsError, in all ranks of a run that is about to begin, if one of them has other
    versions, settings or data than rank 0, or another kind of device: it names what differs.
    """
    run.team.expect_same(alike_on_ranks(run.settings, run.device, run.data_facts))


def ranks_in_words(run: Run) -> list[str]:
    """Lines on how many processes train a run, and what they share out."""
    ranks, shares = run.team.size, run.settings.shares
    if ranks == shares == 1:
        return []
    processes = "1 process" if ranks == 1 else f"{ranks} processes"
    lines = [
        f"ranks: {processes} train {shares} shares of each step; any number of processes gives the "
        "same bits"
    ]
    if ranks > shares:
        lines.append(
            f"note: {ranks - shares} of {ranks} processes have no share of a step and wait for the "
            "others; give a new run more shares"
        )
    return lines
