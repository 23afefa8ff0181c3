"""Handing work from one thread to another within microseconds.

A sleeping thread takes 50 us and more to wake (the system's scheduler, and in a virtual machine an
interrupt), as long as many kernels run. So a thread that waits first looks again and again, without
the interpreter's lock, for as long as the next call usually takes to come. Only then does it sleep.
"""

from threading import Lock
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from gaancore.system.jit import jit

LOOKS = 400_000  # before sleeping, about 0.2 ms: the next kernel of a step comes sooner
HEAD_START = 8_000  # looks (4 us) after which a giver that calls a kernel has let the lock go
EMPTY, GIVEN, ASLEEP = 0, 1, 2  # states of a baton
WAKE = -1  # the taker of the other baton sleeps


class Baton:
    """What one thread gives and another takes, in turns."""

    def __init__(self) -> None:
        self._state = np.zeros(16, np.int64)  # cache lines of its own
        self._bed = Lock()
        self._bed.acquire()

    def give(self) -> None:
        """Let the other thread go on; returns at once, and keeps the interpreter's lock."""
        if _give(self._state):
            self._bed.release()

    def take(self) -> None:
        """Wait for it."""
        if not _look(self._state, LOOKS, 0):
            self._sleep()

    def take_after_giving(self, other: "Baton") -> None:
        """Give `other`, then wait for this one.

        `other` is given after this thread has released the interpreter's lock, which its taker
        needs. The giver of this one gets the time to release that lock in its turn.
        """
        found = _give_and_look(other._state, self._state, LOOKS, HEAD_START)
        if found == WAKE:
            other._bed.release()
            found = _look(self._state, LOOKS, HEAD_START)
        if not found:
            self._sleep()

    def _sleep(self) -> None:
        self._bed.acquire()
        self._state[0] = EMPTY


@intrinsic
def _exchange(typingctx: Any, state: Any, value: Any) -> Any:
    """Write `value` to state[0] and return what was there, in one step."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.atomic_rmw("xchg", pointer, values[1], "seq_cst")

    return types.int64(state, types.int64), codegen


@intrinsic
def _exchange_if(typingctx: Any, state: Any, expected: Any, value: Any) -> Any:
    """If state[0] is `expected`, write `value`, in one step; return what was there."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.make_array(signature.args[0])(context, builder, values[0]).data
        pair = builder.cmpxchg(pointer, values[1], values[2], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 0)

    return types.int64(state, types.int64, types.int64), codegen


@intrinsic
def _read(typingctx: Any, state: Any) -> Any:
    """state[0] as it is now: not a value that the compiler remembers."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(state), codegen


@jit(nogil=False)
def _give(state):
    return _exchange(state, GIVEN) == ASLEEP


@jit
def _look(state, looks, head_start):
    """Whether it was there, and is taken; else this thread has to sleep."""
    for _ in range(looks):
        if _read(state) == GIVEN:
            _exchange(state, EMPTY)
            for _ in range(head_start):
                if _read(state) != EMPTY:
                    break
            return 1
    if _exchange_if(state, EMPTY, ASLEEP) == GIVEN:
        _exchange(state, EMPTY)
        return 1
    return 0


@jit
def _give_and_look(other, state, looks, head_start):
    if _exchange(other, GIVEN) == ASLEEP:
        return WAKE
    return _look(state, looks, head_start)
