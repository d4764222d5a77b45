from . import engine
from .engine.tensor import wrap, Tensor
from .engine.autograd.grad_mode import *
