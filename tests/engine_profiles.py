"""What the tests of the profiler share: a small profile, and the check that nothing is left watching."""

import warnings

import numpy as np
import pytest
from goldens.oracle import error_of

from autolab.engine.core import observe
from autolab.engine.core import namespaces
from autolab.engine.core.grad_mode import per_thread
from autolab.profiler.recorder import running


@pytest.fixture(autouse=True)
def nothing_is_left_watching():
    run, raw = per_thread.state.run, namespaces.raw(np)
    yield
    assert observe.observer is None and running == []
    assert per_thread.state.run is run or per_thread.state.run == run
    assert namespaces.raw(np) is raw


def warned(action):
    """What `action()` returns or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = error_of(action)
    texts = [f"{w.category.__name__}: {w.message}" for w in caught]
    return error, [t for t in texts if "clears events" not in t]  # given once per process


def of(events, *names):
    return [event for event in events if event.name in names]


def step(torch, **options):
    """The profile of a forward and a backward pass."""
    a = torch.ones(4, 4, requires_grad=True)
    b = torch.full((4, 4), 0.5)
    with torch.autograd.profiler.profile(**options) as prof:
        with torch.profiler.record_function("mine"):
            y = ((a * b + b).exp() @ a).relu().sum()
        y.backward()
        b.mul_(b)
    return prof
