"""A training loop that hands out a record whenever there is news, and waits: for a plot, a pause, a new learning
rate."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.finetune.stopping import EarlyStopping
from autolab.nn.functional import cross_entropy
from autolab.nn.modules.module import Module
from autolab.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from autolab.optim.optimizer import Optimizer

Batches = Iterable[Sequence[Any]]
"""A DataLoader or a list of (inputs, targets)."""
Loaders = tuple[Batches, Batches | None] | list[Any]
"""Batches to train on; batches to validate with, or None."""
Loss = Callable[[Any, Any], Tensor]
"""A function of (outputs, targets)."""
Means = tuple[float | None, float | None]
"""Mean loss and accuracy."""


@contextlib.contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """`model` in evaluation mode; afterwards each of its modules is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


class _Mean:
    """Mean loss and accuracy of samples that come in batches."""

    def __init__(self, loss: float = 0.0, right: int | None = 0, samples: int = 0) -> None:
        self.loss, self.right, self.samples = loss, right, samples

    def add(self, loss: float | Tensor, outputs: Tensor, targets: Tensor) -> None:
        self.loss += float(loss) * len(targets)
        self.samples += len(targets)
        if self.right is None or outputs.ndim != 2 or targets.is_floating_point():
            self.right = None  # no classes
        else:
            self.right += int((outputs.argmax(1) == targets).sum())

    def values(self) -> Means:
        if not self.samples:
            return None, None
        return self.loss / self.samples, None if self.right is None else self.right / self.samples


def evaluate(
    model: Module, batches: Batches, loss: Loss = cross_entropy
) -> tuple[float, float | None]:
    """(mean loss, accuracy) of `model` in evaluation mode on batches of (inputs, targets).

    The accuracy, from 0 to 1, is None where targets are no class numbers. The modes of all modules stay as they are.
    Raises ValueError when there is no batch.
    """
    mean = _Mean()
    with evaluating(model), no_grad():
        for inputs, targets in batches:
            outputs = model(inputs)
            mean.add(loss(outputs, targets), outputs, targets)
    mean_loss, accuracy = mean.values()
    if mean_loss is None:
        raise fail(
            ValueError, "there are no batches to evaluate", "Check that the data set is not empty."
        )
    return mean_loss, accuracy


def gradient_norms(model: Module) -> dict[str, float]:
    """{path of a module: 2-norm of the gradients of its own parameters}, for modules with gradients."""
    norms = {}
    for name, module in model.named_modules():
        grads = [p.grad for p in module.parameters(recurse=False) if p.grad is not None]
        if grads:
            norms[name] = math.sqrt(sum(float(grad.double().square().sum()) for grad in grads))
    return norms


def _rate(optimizer: Optimizer) -> float:
    return max(group["lr"] for group in optimizer.param_groups)


class Training:
    """The iterator that `training` returns."""

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        loaders: Loaders,
        epochs: int,
        *,
        loss: Loss,
        scheduler: LRScheduler | None,
        stopping: EarlyStopping | None,
        every: int | None,
    ) -> None:
        self.model, self.optimizer, self.loss = model, optimizer, loss
        batches, validation = loaders
        self.batches: Batches = batches
        self.validation: Batches | None = validation
        self.epochs, self.scheduler, self.stopping, self.every = epochs, scheduler, stopping, every
        self.epoch, self.done, self.step, self.stopped = (
            0,
            0,
            0,
            False,
        )  # done: batches of this epoch
        self._mean, self._rate = _Mean(), _rate(optimizer)
        self._epoch_start: Tensor | None = None
        self._records = self._run()

    def __iter__(self) -> Training:
        return self

    def __next__(self) -> dict[str, Any]:
        try:
            return next(self._records)
        except StopIteration:
            raise
        except BaseException:  # an interrupt, say: the next call goes on after the last whole step
            self._records = self._run()
            raise

    def close(self) -> None:
        """End the training; the iterator is exhausted."""
        self._records.close()

    def _run(self) -> Generator[dict[str, Any], None, None]:
        while self.epoch < self.epochs and not self.stopped:
            batches = self._resumed() if self.done else self._begun()
            following = next(batches, None)
            if following is None and not self.done:
                raise fail(
                    ValueError,
                    "there are no batches to train on",
                    "Check that the data set is not empty.",
                )
            while following is not None:
                self._train_on(*following)
                following = next(batches, None)
                if following is not None and self.every and self.step % self.every == 0:
                    yield self._record(self.epoch, (None, None))
            yield self._finish_epoch()

    def _begun(self) -> Iterator[Any]:
        self._epoch_start = autolab.get_rng_state()
        return iter(self.batches)

    def _resumed(self) -> Iterator[Any]:
        """The rest of an epoch: its order is drawn again, what was trained on is passed over."""
        now = autolab.get_rng_state()
        autolab.set_rng_state(self._epoch_start)
        batches = iter(self.batches)
        for _ in itertools.islice(batches, self.done):
            pass
        autolab.set_rng_state(now)
        return batches

    def _train_on(self, inputs: Any, targets: Any) -> None:
        outputs = self.model(inputs)
        loss = self.loss(outputs, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self._rate = _rate(self.optimizer)
        self.optimizer.step()
        self._mean.add(loss.item(), outputs.detach(), targets)
        self.step += 1
        self.done += 1

    def _finish_epoch(self) -> dict[str, Any]:
        means: Means = (None, None)
        if self.validation is not None:
            means = evaluate(self.model, self.validation, self.loss)
        if isinstance(self.scheduler, ReduceLROnPlateau):
            if means[0] is not None:
                self.scheduler.step(means[0])
        elif self.scheduler is not None:
            self.scheduler.step()
        if self.stopping is not None and means[0] is not None:
            self.stopped = self.stopping.step(means[0], self.model)
        record = self._record(self.epoch, means)
        self.epoch, self.done = self.epoch + 1, 0
        return record

    def _record(self, epoch: int, validation: Means) -> dict[str, Any]:
        (train_loss, train_accuracy), (val_loss, val_accuracy) = self._mean.values(), validation
        self._mean = _Mean()
        return {
            "epoch": epoch,
            "step": self.step,
            "train_loss": train_loss,
            "val_loss": val_loss,
            "train_accuracy": train_accuracy,
            "val_accuracy": val_accuracy,
            "learning_rate": self._rate,
            "gradient_norms": gradient_norms(self.model),
        }


def training(
    model: Module,
    optimizer: Optimizer,
    loaders: Loaders,
    epochs: int,
    *,
    loss: Loss = cross_entropy,
    scheduler: LRScheduler | None = None,
    stopping: EarlyStopping | None = None,
    every: int | None = None,
) -> Training:
    """Trains `model` while it is iterated over; yields a dict after each epoch, and every `every` steps if that is
    given.

    loaders: (training batches, validation batches or None); a batch is (inputs, targets). loss: function of (outputs,
    targets) that returns their mean. scheduler: stepped after each epoch. stopping: an `EarlyStopping` of the
    validation loss. Modules are trained in the mode they are in: call `model.train()` before, then what freezes
    statistics.

    Keys of a record: "epoch" (from 0), "step" (steps done), "train_loss", "train_accuracy" (means since the record
    before, as the batches were trained on), "val_loss", "val_accuracy" (after an epoch, else None), "learning_rate" (of
    the last step, the largest of all groups), "gradient_norms" ({path of a module: 2-norm of the gradient of its own
    parameters}, last step).

    Between records nothing runs, and what is changed then holds for the next step: `optimizer.param_groups[0]["lr"] =
    0.01`, a layer frozen or unfrozen, `optimizer.add_param_group(...)`. A scheduler sets rates again after each epoch.

    Raises ValueError for settings that make no sense.

        for record in training(model, optimizer, (train_loader, validation_loader), epochs=20):
            print(record["epoch"], record["val_accuracy"])
    """
    if not isinstance(loaders, (tuple, list)) or len(loaders) != 2:
        raise fail(
            ValueError,
            "loaders should be a pair (training, validation)",
            "Pass (training, None) if there is no validation.",
        )
    if not isinstance(epochs, int) or epochs < 0:
        raise fail(
            ValueError,
            f"epochs should be an integer of at least 0, but got {epochs}",
            "One epoch is one pass over the training data.",
        )
    if every is not None and (not isinstance(every, int) or every < 1):
        raise fail(
            ValueError,
            f"every should be an integer of at least 1, but got {every}",
            "It is the number of steps between two reports.",
        )
    if loaders[1] is None and (stopping is not None or isinstance(scheduler, ReduceLROnPlateau)):
        what = "ReduceLROnPlateau" if stopping is None else "early stopping"
        raise fail(
            ValueError,
            f"{what} needs validation batches",
            "Pass (training, validation) as loaders.",
        )
    return Training(
        model,
        optimizer,
        loaders,
        epochs,
        loss=loss,
        scheduler=scheduler,
        stopping=stopping,
        every=every,
    )
