"""Adam and AdamW, gradient clipping, and the two schedules of the paper's training recipe."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gaancore.array import Array, array_module, device_of, to_device, to_numpy
from gaancore.errors import TrainingError
from gaancore.kernels import kernels_for
from gaancore.nn.module import Parameter

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
        self.moment1 = {name: _zeros_like(p) for name, p in self.parameters.items()}
        self.moment2 = {name: _zeros_like(p) for name, p in self.parameters.items()}

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for name, p in self.parameters.items():
            if p.grad is None:
                continue
            self.steps[name] += 1
            correction = math.sqrt(1 - self.beta2 ** self.steps[name])
            eps, unbiased = self.eps * correction, 1 - self.beta1 ** self.steps[name]
            rate = self.lr * p.lr_scale * correction / unbiased
            if self.weight_decay and p.data.ndim > 1:
                p.data *= p.dtype.type(1 - self.lr * p.lr_scale * self.weight_decay)
            kernels_for(p.data).adam_step(
                p.data, p.grad, self.moment1[name], self.moment2[name],
                rate, self.beta1, self.beta2, eps,
            )  # fmt: skip

    def state(self) -> dict[str, Array]:
        """Both moments by name, for a checkpoint (`steps` and `lr` are numbers of their own)."""
        first = {f"moment1.{name}": m for name, m in self.moment1.items()}
        return first | {f"moment2.{name}": v for name, v in self.moment2.items()}

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        """Copy the moments in. Raises KeyError for a name that is missing."""
        for name in self.parameters:
            for moment, key in ((self.moment1, "moment1"), (self.moment2, "moment2")):
                mine = moment[name]
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
        _name_the_culprit(parameters, squares)
    if 0 < max_norm < norm:
        for _, p in parameters:
            p.grad = p.grad * p.dtype.type(max_norm / norm)
    return norm


def _name_the_culprit(
    parameters: Sequence[tuple[str, Parameter]], squares: Sequence[float]
) -> None:
    name = next(n for (n, _), s in zip(parameters, squares, strict=True) if not math.isfinite(s))
    raise TrainingError(
        f"the gradient of {name} is not finite, so nothing was updated; lower the learning rate, "
        "clip gradients, or look for extreme features"
    )


def _sums_of_squares(grads: Sequence[Array]) -> list[float]:
    """In float64: a float32 gradient of 1e20 is finite, its square is not. A device is waited for
    once, not once for each array.
    """
    if not grads:
        return []
    sums = [(x.astype(np.float64) ** 2).sum() for x in grads]
    return to_numpy(array_module(grads[0]).stack(sums)).tolist()


def _zeros_like(p: Parameter) -> Array:
    return array_module(p.data).zeros_like(p.data)


@dataclass
class PlateauSchedule:
    """Lower the learning rate when validation stops improving, then stop (section 5.1).

    After each validation that does not beat the best so far (strictly), in the order of the
    released code: stop if more than `stop_patience` in a row; else, if more than `decay_patience`
    in a row, lr = max(lr * factor, floor), and the count starts again if lr really fell. So with
    decay_patience < stop_patience a run only stops once the rate is at its floor, and a patience
    of p bears p validations in a row: number p + 1 lowers the rate or stops. The first score
    counts as an improvement, whatever it is.

    >>> schedule = PlateauSchedule(0.01, floor=0.001, factor=0.5, decay_patience=1, stop_patience=9)
    >>> [schedule.update(score) for score in (0.7, 0.6, 0.7)], schedule.lr
    ([True, False, False], 0.005)
    """

    lr: float
    floor: float
    factor: float
    decay_patience: int
    stop_patience: int
    best: float = -math.inf
    bad: int = 0
    stopped: bool = False

    def update(self, score: float) -> bool:
        """Take in a validation score; returns whether it is the best so far."""
        if score > self.best:
            self.best, self.bad = score, 0
            return True
        self.bad += 1
        if self.bad > self.stop_patience:
            self.stopped = True
        elif self.bad > self.decay_patience:
            lowered = max(self.lr * self.factor, self.floor)
            if lowered < self.lr:
                self.lr, self.bad = lowered, 0
        return False
