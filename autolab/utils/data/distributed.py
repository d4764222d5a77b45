"""One process's share of a data set. Source:
https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.distributed.DistributedSampler"""

from __future__ import annotations

from collections.abc import Iterator

import autolab
from autolab.engine.core.errors import fail
from autolab.utils.data.sampler import Sampler
from autolab.utils.data.dataset import Indexed


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index, from index `rank` on, of an order that is the same in all processes.

    shuffle: a random order, drawn with seed + epoch; call `set_epoch` before each pass. What does not share out evenly
    is filled up with the first indices, or (drop_last) left out. There is no process group here that would tell
    num_replicas and rank: pass both. Raises RuntimeError without them, ValueError for a rank that there is not."""

    def __init__(
        self,
        dataset: Indexed,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise fail(
                RuntimeError,
                "Requires distributed package to be available",
                "autolab runs in one process: pass num_replicas and rank.",
            )
        if not 0 <= rank < num_replicas:
            raise fail(
                ValueError,
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]",
                "Processes count from 0.",
            )
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        whole, rest = divmod(len(dataset), num_replicas)  # type: ignore[arg-type]
        self.num_samples = whole + bool(rest and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))  # type: ignore[arg-type]
        if self.shuffle:
            generator = autolab.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = autolab.randperm(len(indices), generator=generator).tolist()
        while len(indices) < self.total_size:
            indices += indices[: self.total_size - len(indices)]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """The number of the pass: each has another order."""
        self.epoch = epoch
