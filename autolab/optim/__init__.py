"""Optimizers and learning-rate schedules (`torch.optim`). Source: https://docs.pytorch.org/docs/2.13/optim.html"""

from autolab.engine import absent as _absent
from autolab.optim import lr_scheduler  # noqa: F401
from autolab.optim.adadelta import Adadelta  # noqa: F401
from autolab.optim.adafactor import Adafactor  # noqa: F401
from autolab.optim.adagrad import Adagrad  # noqa: F401
from autolab.optim.adam import Adam, AdamW  # noqa: F401
from autolab.optim.lbfgs import LBFGS  # noqa: F401
from autolab.optim.muon import Muon  # noqa: F401
from autolab.optim.optimizer import Optimizer  # noqa: F401
from autolab.optim.rmsprop import RMSprop  # noqa: F401
from autolab.optim.sgd import SGD  # noqa: F401

__all__ = [
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "LBFGS", "Muon", "Optimizer", "RMSprop", "SGD", "lr_scheduler",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.optim")
