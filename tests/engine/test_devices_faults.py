"""What is left on a simulated GPU after a training step that ran out of memory, or raised; and that nothing is left
after many."""

import gc

import numpy as np
import pytest

import autolab as torch
import autolab.nn.functional as F
from autolab import nn
from autolab.engine.devices.simulated import memory


def lenet():
    """LeNet with batch normalisation."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-3, amsgrad=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, momentum=0.9, centered=True),
}


class Training:
    """A model with its optimizer and one batch on a GPU."""

    def __init__(self, optimizer="SGD", batch=4):
        self.model = lenet().to("cuda")
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.x = torch.randn(batch, 1, 28, 28).to("cuda")
        self.y = torch.arange(batch, device="cuda") % 10

    def step(self):
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(self.x), self.y).backward()
        self.optimizer.step()

    def values(self):
        """The numbers of everything that a step changes, read without a copy that counts."""
        read = lambda t: None if t is None else np.array(torch.engine.devices.device.peek(t._array))
        found = {f"model.{name}": read(t) for name, t in self.model.state_dict().items()}
        for number, (_, p) in enumerate(self.model.named_parameters()):
            found[f"grad.{number}"] = read(p.grad)
            for name, value in self.optimizer.state.get(p, {}).items():
                found[f"state.{number}.{name}"] = read(value)
        return found


def same(a, b):
    return a is b if a is None or b is None else np.array_equal(a, b)


def differing(a, b):
    return {name for name in a.keys() | b.keys() if not same(a.get(name), b.get(name))}


class Fault:
    """Lets allocation number `at` fail, counted from now, as if the memory ended there."""

    def __init__(self, monkeypatch):
        self.count = self.at = 0
        allocate = memory.Pool.allocate

        def counted(pool, nbytes, what):
            self.count += bool(nbytes)
            if self.count == self.at:
                raise memory.OutOfMemory(nbytes)
            return allocate(pool, nbytes, what)

        monkeypatch.setattr(memory.Pool, "allocate", counted)

    def set(self, at):
        self.count, self.at = 0, at


class Small(Training):
    """Each kind of layer once."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(8, 3),
        ).to("cuda")
        self.optimizer = OPTIMIZERS["SGD"](self.model.parameters())
        self.x, self.y = torch.randn(2, 1, 6, 6).to("cuda"), torch.arange(2, device="cuda")


def test_any_allocation_of_a_forward_and_backward_pass_may_fail(monkeypatch):
    fault = Fault(monkeypatch)
    with torch.cuda.simulate():
        training = Small()
        training.step()
        before = training.values()
        passes, step = [], training.optimizer.step
        training.optimizer.step = lambda: (passes.append(fault.count), step())
        fault.set(0)
        training.step()
        reference, total = training.values(), passes[0]
        assert total > 40
        for at in range(1, total + 1, 3):
            training = Small()
            training.step()
            fault.set(at)
            with pytest.raises(torch.cuda.OutOfMemoryError, match="Tried to allocate") as caught:
                training.step()
            fault.set(0)
            assert "To fit: a smaller batch" in caught.value.__notes__[0]
            after = training.values()
            changed = differing(before, after)
            assert not [
                n
                for n in changed
                if n.startswith("state.")
                or n.endswith((".weight", ".bias"))
                and n.startswith("model.")
            ]
            # as in PyTorch: batch norm's statistics are both of before or both of after, and the batch was counted
            # before they changed
            mean, variance, counted = (
                "model.1." + n in changed
                for n in ("running_mean", "running_var", "num_batches_tracked")
            )
            assert mean == variance <= counted, at
            # a gradient is there in full or not at all: zero_grad() took the old ones away
            for name in after:
                if name.startswith("grad."):
                    assert after[name] is None or same(after[name], reference[name]), (at, name)
            for name, buffer in training.model.named_buffers():
                buffer.copy_(torch.from_numpy(before["model." + name]))
            training.step()
            assert not differing(training.values(), reference), at


def test_twenty_steps_of_lenet_leak_nothing():
    with torch.cuda.simulate():
        training = Training("Adam", batch=2)
        training.step()
        training.optimizer.zero_grad()
        gc.collect()
        gc.disable()
        try:
            start = torch.cuda.memory_allocated()
            for _ in range(20):
                training.step()
            training.optimizer.zero_grad()
            assert torch.cuda.memory_allocated() == start
        finally:
            gc.enable()
        del training
        gc.collect()
        assert torch.cuda.memory_allocated() == 0
