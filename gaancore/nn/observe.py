"""Looking into attention layers while they compute what nobody would keep otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

from gaancore.graph.block import Block
from gaancore.nn.linear import Features
from gaancore.tensor import Tensor


class AttentionLayer(Protocol):
    """What an observer may ask of the layer that it is shown (see nn.Attention)."""

    num_heads: int

    def weights(self, x: Features, z: Tensor, block: Block) -> Tensor:
        """w_ij^k of every edge of `block`, (E, num_heads)."""


class Seen(NamedTuple):
    """One call of an attention layer: what it was given, and the gates that it opened.

    x (num_dst, x_dim), z (num_src, z_dim), gates (num_dst, K), None where there is no gate.
    """

    layer: AttentionLayer
    x: Features
    z: Tensor
    block: Block
    gates: Tensor | None


Observer = Callable[[Seen], None]
_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Inside, and in this thread, each call of an attention layer is shown to `observer`.

    What a layer computes does not change. Attention weights are not part of what is shown, for
    the fused kernel keeps none: `seen.layer.weights` computes those that are wanted.
    """
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def show(seen: Seen) -> None:
    """Tell the observer, if there is one."""
    if (observer := _observer.get()) is not None:
        observer(seen)
