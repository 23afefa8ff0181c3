"""NCCL between threads, with the names and arguments that CuPy gives it.

Arrays are read and written by their addresses, as NCCL does.
"""

import ctypes
from collections import defaultdict
from collections.abc import Callable
from queue import Queue
from threading import Lock, local

PATIENCE = 60.0
SIZES = {7: 4, 8: 8}  # bytes of a number of each type


class NcclDouble:
    """In the place of cupy.cuda.nccl."""

    available = True
    NCCL_FLOAT32, NCCL_FLOAT64 = 7, 8

    def __init__(self) -> None:
        self._letters: dict[tuple, Queue] = defaultdict(Queue)
        self._lock, self._here = Lock(), local()
        self.calls: list[str] = []
        double = self

        class NcclCommunicator:
            def __init__(self, ndev: int, commId: tuple, rank: int) -> None:
                assert isinstance(commId, tuple)
                assert len(commId) == 128
                self.ndev, self.comm_id, self.rank = ndev, commId, rank

            def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
                def send() -> None:
                    content = ctypes.string_at(sendbuf, count * SIZES[datatype])
                    double._letter(self.comm_id, self.rank, peer).put(content)

                double._in_group("send", send)

            def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: int) -> None:
                def receive() -> None:
                    letters = double._letter(self.comm_id, peer, self.rank)
                    content = letters.get(timeout=PATIENCE)
                    assert len(content) == count * SIZES[datatype]
                    ctypes.memmove(recvbuf, content, len(content))

                double._in_group("recv", receive)

            def allGather(  # noqa: N802
                self, sendbuf: int, recvbuf: int, count: int, datatype: int, stream: int
            ) -> None:
                double.groupStart()
                for peer in range(self.ndev):
                    self.send(sendbuf, count, datatype, peer, stream)
                    place = recvbuf + peer * count * SIZES[datatype]
                    self.recv(place, count, datatype, peer, stream)
                double.groupEnd()

        self.NcclCommunicator = NcclCommunicator

    def get_unique_id(self) -> tuple:
        return tuple(range(128))

    def groupStart(self) -> None:  # noqa: N802
        self._here.group = []

    def groupEnd(self) -> None:  # noqa: N802
        group, self._here.group = self._here.group, None
        for call, work in sorted(group, key=lambda made: made[0] == "recv"):
            self.calls.append(call)
            work()

    def _in_group(self, call: str, work: Callable[[], None]) -> None:
        """Outside of one it might wait for ever: its peer waits for another."""
        self._here.group.append((call, work))

    def _letter(self, *address: object) -> Queue:
        with self._lock:
            return self._letters[address]
