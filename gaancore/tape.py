"""The tape: what ops leave behind, and how gradients walk back over it."""

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

from gaancore.array import Array

Backward = Callable[[Array], tuple[Array | None, ...]]
Totals = list[Array | None]  # for each input what its gradient adds up in, if that is there

_counter = itertools.count()


def own(backward: Backward) -> "Adding":
    """A closure each of whose arrays is nobody else's, so that more can be added to it in place."""
    return Adding(lambda grad, totals: backward(grad))


@dataclass(eq=False, repr=False, slots=True)
class Node:
    """One step of the tape. A leaf knows the Tensor that gathers its gradient, weakly: the two
    would otherwise hold each other. It has no `backward`.

    `index` counts up as nodes are made, so every node comes after the nodes it was made from:
    walking down the indices is a reverse topological order.
    """

    inputs: "tuple[Node | None, ...]"
    backward: "Backward | Adding | None"
    leaf: "weakref.ref[Any] | None" = None
    index: int = field(default_factory=_counter.__next__, init=False)


class Adding(NamedTuple):
    """A closure that adds gradients up itself, where a product can: `backward(grad, totals)` gives
    for each input the total that it has added to, or an array of its own.
    """

    backward: Callable[[Any, Totals], tuple[Array | None, ...]]


def walk(root: Node, grad: Array) -> None:
    """Visit each node once, latest first, without recursion; free it right after its turn."""
    grads: dict[Node, Array] = {root: grad}
    summed: set[Node] = set()  # gradients that are our own array and may be added to in place
    queue: list[tuple[int, Node]] = [(-root.index, root)]
    while queue:
        _, node = heappop(queue)
        grad = c_order(grads.pop(node))
        if node.leaf is not None:
            leaf = node.leaf()
            if leaf is not None:  # else nobody is left to read it
                leaf.grad = grad if leaf.grad is None else leaf.grad + grad
            continue
        if node.backward is None:
            raise RuntimeError("backward: this part of the tape was already used and freed")
        inputs, backward = node.inputs, node.backward
        node.inputs, node.backward = (), None
        if adding := isinstance(backward, Adding):
            totals = [grads[p] if p is not None and p in summed else None for p in inputs]
            pieces = backward.backward(grad, totals)
        else:
            pieces = backward(grad)
        for parent, piece in zip(inputs, pieces, strict=True):
            if parent is None or piece is None:
                continue
            if parent not in grads:
                grads[parent] = piece
                heappush(queue, (-parent.index, parent))
                if adding:
                    summed.add(parent)
            elif adding and piece is grads[parent]:
                continue  # it is in there
            elif parent in summed:
                grads[parent] += piece
            else:
                grads[parent] = grads[parent] + piece
                summed.add(parent)


def c_order(array: Array) -> Array:
    """Kernels walk rows in C order, which a transposed, sliced or broadcast view does not have."""
    return array if array.flags.c_contiguous else array.copy()
