"""One run on many processes, its ranks: the one door to MPI and NCCL.

Who am I, add gradients, share rows, agree on errors and on stopping. Nobody outside of this room
knows how ranks talk. A program that no launcher such as mpiexec has started is alone, and imports
no MPI.

The result of a run has the same bits on any number of ranks. What is computed is cut into a fixed
number of `Shares`, never into as many parts as there are ranks; a share does not know which rank
has it, and what comes of the shares is put together in their order.
"""

from gaancore.parallel.ask import ask_lists, ask_pieces, ask_rows
from gaancore.parallel.shares import ONE_SHARE, Shares, dealt
from gaancore.parallel.start import agreed, leave, num_threads, team
from gaancore.parallel.team import ALONE, Team
from gaancore.parallel.watch import watched

__all__ = [
    "ALONE",
    "ONE_SHARE",
    "Shares",
    "Team",
    "agreed",
    "ask_lists",
    "ask_pieces",
    "ask_rows",
    "dealt",
    "leave",
    "num_threads",
    "team",
    "watched",
]
