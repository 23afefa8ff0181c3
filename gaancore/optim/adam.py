"""Adam and AdamW, and gradient clipping."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from gaancore.array import Array, array_module, device_of, on_device_of, to_device, to_numpy
from gaancore.kernels import kernels_for
from gaancore.nn.module import Parameter
from gaancore.optim.flat import FlatGrads, flat_on_cuda, not_finite

NamedParameters = Iterable[tuple[str, Parameter]]


class Adam:
    """Adam (Kingma and Ba, 2015), bias corrections included; with weight decay it is AdamW.

    m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
    p = p - lr * lr_scale * ((m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + decay * p)

    decay is `weight_decay`, apart from the gradient and its moments (Loshchilov and Hutter, 2019,
    algorithm 2, with the rate as factor), and 0 for a bias, a parameter of one axis. The default 0
    is plain Adam.

    Defaults are those of the paper's framework (MXNet). A parameter without a gradient stays, and
    t does not count such a step for it: t is of the parameter, as in MXNet and PyTorch.

    On a CUDA device all parameters become views of one array (see Flat): so move a module there
    before its optimiser is made.

    steps : t of each parameter by name, how often it has moved.

    >>> w = Parameter(np.array([1.0, 1.0]))
    >>> total(w * np.array([5.0, -0.1])).backward()
    >>> Adam([("w", w)], lr=0.01).step()
    >>> w.data.round(6)  # a first step is lr long, whatever the gradient
    array([0.99, 1.01])
    """

    def __init__(
        self,
        parameters: NamedParameters,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = dict(parameters)
        self.weight_decay = weight_decay
        self.lr, self.beta1, self.beta2, self.eps = lr, beta1, beta2, eps
        self.steps = dict.fromkeys(self.parameters, 0)
        self._flat = flat_on_cuda(self.parameters)
        self._grads: FlatGrads | None = None  # clipped, until the step
        if self._flat:
            self.moment1, self.moment2 = self._flat.moments
        else:
            self.moment1 = {name: np.zeros_like(p.data) for name, p in self.parameters.items()}
            self.moment2 = {name: np.zeros_like(p.data) for name, p in self.parameters.items()}

    def clip(self, max_norm: float) -> Callable[[], float]:
        """Clip the gradients as clip_grad_norm does, without waiting for a CUDA device.

        Returns what gives the norm, waits if it must, and raises TrainingError if a gradient was
        not finite. On a CPU this raises at once. On a CUDA device `step` then moves nothing, and
        `.grad` keeps what it was: `step` uses the clipped gradients.
        """
        if not self._flat:
            norm = clip_grad_norm(self.parameters.items(), max_norm)
            return lambda: norm
        grads = self._grads = self._flat.grads(self.parameters)
        return grads.clip(max_norm)

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moved = {name: p for name, p in self.parameters.items() if p.grad is not None}
        for name, p in moved.items():
            self.steps[name] += 1
            if self.weight_decay and p.data.ndim > 1:
                decay = 1 - self.lr * p.lr_scale * self.weight_decay
                with on_device_of(p.data):
                    p.data *= p.dtype.type(decay)
        if self._flat:
            grads, self._grads = self._grads or self._flat.grads(self.parameters), None
            for arrays, (rate, eps) in self._flat.runs(grads, self._rate):
                kernels_for(arrays[0]).adam_step(*arrays, rate, self.beta1, self.beta2, eps)
            return
        for name, p in moved.items():
            rate, eps = self._rate(name)
            kernels_for(p.data).adam_step(
                p.data, p.grad, self.moment1[name], self.moment2[name],
                rate, self.beta1, self.beta2, eps,
            )  # fmt: skip

    def _rate(self, name: str) -> tuple[float, float]:
        """Length of a step, and what is added to the root: both with the bias corrections."""
        steps, scale = self.steps[name], self.parameters[name].lr_scale
        correction = math.sqrt(1 - self.beta2**steps)
        return self.lr * scale * correction / (1 - self.beta1**steps), self.eps * correction

    def state(self) -> dict[str, Array]:
        """Both moments by name, for a checkpoint (`steps` and `lr` are numbers of their own)."""
        first = {f"moment1.{name}": m for name, m in self.moment1.items()}
        return first | {f"moment2.{name}": v for name, v in self.moment2.items()}

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        """Copy the moments in. Raises KeyError for a name that is missing."""
        for name in self.parameters:
            for moment, key in ((self.moment1, "moment1"), (self.moment2, "moment2")):
                mine = moment[name]
                with on_device_of(mine):
                    mine[...] = to_device(state[f"{key}.{name}"], device_of(mine))


def clip_grad_norm(parameters: NamedParameters, max_norm: float) -> float:
    """Scale all gradients together so that their joint 2-norm is at most `max_norm`.

    max_norm : 0 does not clip, but the norm is looked at all the same.
    Returns the norm before clipping. Raises TrainingError, with no gradient touched, if one is not
    finite: it names the parameter.

    >>> w = Parameter(np.zeros(2))
    >>> w.grad = np.array([3.0, 4.0])
    >>> clip_grad_norm([("w", w)], max_norm=1.0), w.grad
    (5.0, array([0.6, 0.8]))
    """
    parameters = [(name, p) for name, p in parameters if p.grad is not None]
    squares = _sums_of_squares([p.grad for _, p in parameters])
    norm = math.sqrt(math.fsum(squares)) if all(map(math.isfinite, squares)) else math.nan
    if not math.isfinite(norm):
        pairs = zip(parameters, squares, strict=True)
        raise not_finite(next(name for (name, _), s in pairs if not math.isfinite(s)))
    if 0 < max_norm < norm:
        for _, p in parameters:
            p.grad = p.grad * p.dtype.type(max_norm / norm)
    return norm


def _sums_of_squares(grads: Sequence[Array]) -> list[float]:
    """In float64: a float32 gradient of 1e20 is finite, its square is not. A device is waited for
    once, not once for each array.
    """
    if not grads:
        return []
    with on_device_of(grads[0]):
        sums = [(x.astype(np.float64) ** 2).sum() for x in grads]
        return to_numpy(array_module(grads[0]).stack(sums)).tolist()
