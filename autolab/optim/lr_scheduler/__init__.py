"""Learning-rate schedules.

Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from autolab.engine import absent as _absent
from autolab.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from autolab.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from autolab.optim.lr_scheduler.factors import (
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    StepLR,
)
from autolab.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "OneCycleLR", "ReduceLROnPlateau", "StepLR",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.optim.lr_scheduler")
