"""Adam and AdamW, gradient clipping, and the schedule of the paper's training recipe."""

from gaancore.optim.adam import Adam, clip_grad_norm
from gaancore.optim.schedule import PlateauSchedule

__all__ = ["Adam", "PlateauSchedule", "clip_grad_norm"]
