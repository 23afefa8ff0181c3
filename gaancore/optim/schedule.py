"""When the learning rate falls, and when training stops."""

import math
from dataclasses import dataclass


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
