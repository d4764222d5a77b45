"""What it costs to record PyTorch: the same step of PyTorch's in both backends, unwatched as "torch", recorded as
"autolab"."""

from __future__ import annotations

import os

from .networks import networks


def build(backend: str, work: str):
    """The work as a function without arguments that returns the loss."""
    import torch

    import autolab

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
