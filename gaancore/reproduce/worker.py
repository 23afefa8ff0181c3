"""One run in a process of its own, which ends with its parent.

The process is given its work as JSON, and holds one end of a pipe as its standard input. When the
pipe closes, because the parent asks it to stop or because the parent is gone, it saves the run
after the step at hand and ends. It exits with 0 if the run is finished, 130 if it was stopped, 3 if
memory ran out, and 2 if something else is wrong, after one line on standard error that says what.
"""

import json
import os
import signal
import sys
import threading
from typing import Any, TypedDict

from gaancore.array import memory_shortage
from gaancore.errors import UserError
from gaancore.system.interrupts import interrupts
from gaancore.system.process import prepare_process
from gaancore.tasks.begin import Begun, begin, resume
from gaancore.training.progress import RunInterrupt

DONE, FAILED, OUT_OF_MEMORY, STOPPED = 0, 2, 3, 130  # as the command line has them


class Work(TypedDict):
    """What a worker has to do. settings: those of a new run; None: go on with the run in folder."""

    task: str
    data: str | None
    folder: str
    settings: dict[str, Any] | None
    device: str
    prefetch: int | None
    threads: int


def main() -> None:
    """Do the work that is the only argument of the process."""
    threading.Thread(target=stop_with_parent, daemon=True).start()
    sys.exit(_do(json.loads(sys.argv[1])))


def stop_with_parent() -> None:
    """Send this process SIGTERM when its standard input closes; before the first step, it ends at
    once."""
    os.read(0, 1)  # not sys.stdin, whose lock a thread must not hold at the end
    os.kill(os.getpid(), signal.SIGTERM)


def _do(work: Work) -> int:
    try:
        prepare_process(work["threads"])
        run = _begun(work).run
        with interrupts() as run.watcher.stop_requested:
            run.train()
    except (KeyboardInterrupt, RunInterrupt):
        return STOPPED
    except UserError as error:
        print(error, file=sys.stderr)
        return FAILED
    except MemoryError as error:
        shortage = memory_shortage(error)
        print(
            f"out of memory ({shortage}); lower batch_size or fanouts, or the number of jobs",
            file=sys.stderr,
        )
        return OUT_OF_MEMORY
    return DONE


def _begun(work: Work) -> Begun:
    device, prefetch = work["device"], work["prefetch"]
    if work["settings"] is None:
        return resume(work["folder"], work["data"], device=device, prefetch=prefetch)
    return begin(
        work["data"],
        task=work["task"],
        out=work["folder"],
        device=device,
        prefetch=prefetch,
        layers=[("settings", work["settings"])],
    )


if __name__ == "__main__":
    main()
