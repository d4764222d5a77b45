"""Fine-tuning: what to train of a pretrained network, and how.

Freezing by name and rates by layer (`freezing`), features computed once (`features`), low-rank adapters (`lora`), a
loop that can be watched and paused (`training`), early stopping (`stopping`), and the task of the course (`digits`).
PyTorch has none of these; they work on modules and optimizers as PyTorch has them.
"""

from autolab.finetune.digits import FewShot, unseen_digits
from autolab.finetune.features import cached_features
from autolab.finetune.freezing import (
    count_parameters,
    freeze,
    freeze_statistics,
    layers,
    parameter_groups,
    unfreeze,
)
from autolab.finetune.lora import LoRAConv2d, LoRALinear, add_lora, merge_lora
from autolab.finetune.stopping import EarlyStopping
from autolab.finetune.training import Training, evaluate, evaluating, gradient_norms, training

__all__ = [
    "EarlyStopping", "FewShot", "LoRAConv2d", "LoRALinear", "Training", "add_lora", "cached_features",
    "count_parameters", "evaluate", "evaluating", "freeze", "freeze_statistics", "gradient_norms", "layers",
    "merge_lora", "parameter_groups", "training", "unfreeze", "unseen_digits",
]  # fmt: skip
