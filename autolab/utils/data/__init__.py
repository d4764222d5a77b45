"""Data sets and how they become batches (`torch.utils.data`). Source: https://docs.pytorch.org/docs/2.13/data.html"""

from autolab.engine import absent as _absent
from autolab.utils.data.collate import default_collate, default_convert  # noqa: F401
from autolab.utils.data.dataloader import DataLoader  # noqa: F401
from autolab.utils.data.dataset import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,  # noqa: F401
    TensorDataset,
    random_split,
)
from autolab.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,  # noqa: F401
    WeightedRandomSampler,
)
from autolab.utils.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "WorkerInfo", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torch.utils.data")
