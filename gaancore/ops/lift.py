"""How a function on arrays becomes an op on Tensors.

    @primitive
    def multiply(a, b):
        return a * b, lambda grad: (grad * b, grad * a)

An op returns its value and a closure, `backward(grad)`, that gives one gradient for each positional
argument, None where there is none.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, ParamSpec

from gaancore.array import Array, on_device_of
from gaancore.ops.checks import expect_one_device
from gaancore.tape import Adding, Backward, Node, c_order
from gaancore.tensor import Tensor, recording

P = ParamSpec("P")
ListBackward = Callable[[list[Array | None]], tuple[Array | None, ...]] | Adding


def primitive(function: Callable[P, tuple[Array, Backward | Adding]]) -> Callable[P, Tensor]:
    """Lift `function(*arrays, **static) -> (out, backward)` to Tensors.

    Positional arguments may be Tensors or arrays; only Tensors that require a gradient get one.
    They and the block of an op live on one device, where the op allocates and launches: DeviceError
    names one that does not.

    An op with a keyword `needed`, whose default is never used, is told for each argument whether
    its gradient will be used, such as a weight's, or not, such as that of the data. It may then
    save the work and give None.

    >>> @primitive
    ... def square(x):
    ...     return x * x, lambda grad: (2 * x * grad,)
    >>> x = Tensor(np.array([1.0, 3.0]), requires_grad=True)
    >>> square(x).backward(np.array([1.0, 10.0]))
    >>> x.grad
    array([ 2., 60.])
    """
    return _lift(function, Tensor)


def list_primitive(
    function: Callable[P, tuple[list[Array], ListBackward]],
) -> Callable[P, list[Tensor]]:
    """The same for an op that returns a list of arrays, as Tensors.

    `backward` is given a list with the gradient of each result, None for one that nothing was made
    of.

    >>> @list_primitive
    ... def both(x):
    ...     return [x, 2 * x], lambda grads: (grads[0] + 2 * grads[1],)
    >>> x = Tensor(np.array([1.0, 3.0]), requires_grad=True)
    >>> one, two = both(x)
    >>> (one * two).backward(np.ones(2))
    >>> x.grad  # of 2 x^2
    array([ 4., 12.])
    """
    return _lift(function, list[Tensor])


def _lift(function: Callable[..., Any], returns: Any) -> Callable[..., Any]:
    given = signature(function)
    is_told = "needed" in given.parameters

    @wraps(function)
    def op(*args: Any, **static: Any) -> Any:
        data = [(a if isinstance(a, Tensor) else Tensor(a)).data for a in args]
        inputs = tuple(a._node if isinstance(a, Tensor) else None for a in args)
        if is_told:
            static["needed"] = tuple(node is not None for node in inputs)
        with on_device_of(expect_one_device(function.__name__, data, static.get("block"))):
            out, backward = function(*map(c_order, data), **static)
        results = [Tensor(part) for part in out] if isinstance(out, list) else [Tensor(out)]
        if recording.get() and any(node is not None for node in inputs):
            if isinstance(out, list):
                _gather(Node(inputs, None), backward, results)
            else:
                results[0]._node = Node(inputs, backward)
        return results if isinstance(out, list) else results[0]

    # what `help` and editors show: Tensors for arrays, without `needed`
    shown = [
        p if p.kind is Parameter.KEYWORD_ONLY else p.replace(annotation=Tensor)
        for p in given.parameters.values()
        if p.name != "needed"
    ]
    op.__dict__["__signature__"] = Signature(shown, return_annotation=returns)
    op.__annotations__ = {p.name: p.annotation for p in shown} | {"return": returns}
    return op


def _gather(node: Node, backward: Any, outs: list[Tensor]) -> None:
    """Give each of an op's results a node that keeps its gradient until the turn of `node`."""
    grads: list[Array | None] = [None] * len(outs)

    def keep(number: int) -> Backward:
        def kept(grad: Array) -> tuple[Array]:
            grads[number] = grad
            return (grad.ravel()[:0],)  # nothing to add up, yet `node` gets its turn

        return kept

    if isinstance(backward, Adding):
        node.backward = Adding(lambda _, totals: backward.backward(grads, totals))
    else:
        node.backward = lambda _: backward(grads)
    for number, out in enumerate(outs):
        out._node = Node((node,), keep(number))
