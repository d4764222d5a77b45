"""What it costs to record: the same step in both backends, unwatched as "torch", recorded as "autolab". The network is
PyTorch's; that of "recorded_step_autolab" is autolab's."""

from __future__ import annotations

import os

from .networks import networks


SMALL_STEPS = 100


def build(backend: str, work: str):
    """The work as a function without arguments that returns the loss."""
    import torch

    import autolab

    if work.startswith("recorded_step"):
        return small(backend == "autolab", autolab if work.endswith("autolab") else torch)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    torch.manual_seed(0)
    model, images, classes = networks(torch)[-1](), torch.randn(4, 3, 224, 224), torch.arange(4) % 2

    def step():
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        return (loss.item(),)

    def recorded():
        with autolab.record() as recording:
            found = step()
        if work == "recorded_trace":
            recording.trace()
        return found

    return recorded if backend == "autolab" else step


def small(is_recorded: bool, library):
    """100 steps of training a network of three layers: in one recording, as a learner's loop is."""
    import autolab

    library.manual_seed(0)
    nn = library.nn
    layers = nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)
    model = nn.Sequential(*layers)
    optimizer = library.optim.SGD(model.parameters(), lr=0.01)
    x, y = library.randn(32, 8), library.randint(0, 3, (32,))

    def steps():
        for _ in range(SMALL_STEPS):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return (loss.item(),)

    def recorded():
        with autolab.record():
            return steps()

    return recorded if is_recorded else steps
