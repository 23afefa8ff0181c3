"""Somebody who speaks when a rank was killed, and so cannot speak itself.

Launchers end the other ranks at once when one of them is killed, so none of these can speak either.
"""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir

from gaancore.parallel.team import Team

# Waits for a word on its input. Without one the rank is dead: of all that notice, the first that
# can make a file speaks. It lies in the folder of the run, which most clusters share; whoever goes
# on with the run removes it as every half-written file.
SHELL = """
read -r word && exit 0
[ -d "${1%/*}" ] || set -- "$3" "$2"
(set -C; : > "$1") 2>/dev/null && echo "$2" >&2
exec 2>/dev/null
sleep 20
rm -f "$1"
"""


@contextmanager
def watched(team: Team, folder: Path, remedy: str) -> Iterator[None]:
    """Inside, if this rank is killed, a shell of its own prints one line: which rank it was, and
    `remedy`.

    folder : of the run.
    """
    if team.size == 1:
        yield
        return
    name = f".lost-{team.from_first(lambda: secrets.token_hex(4))}.part"
    team.spoken = folder.absolute() / name
    line = f"error: {team.name} was killed (too little memory, perhaps); {remedy}"
    shell = subprocess.Popen(
        ["/bin/sh", "-c", SHELL, "sh", str(team.spoken), line, f"{gettempdir()}/{name}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(OSError):  # it has been killed
            shell.communicate(b"done\n")
