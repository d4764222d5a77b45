"""Random numbers on a GPU come from the one stream of the CPU, so that a seed gives the same numbers on every device.

Without a GPU nothing is seeded, as in PyTorch. Source:
https://docs.pytorch.org/docs/2.13/cuda.html#random-number-generator
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.devices import device as _devices
from ..engine.core.tensor import Tensor
from ..engine.exact import random as _random
from ..engine.devices.device import DeviceLike
from .properties import backend


def manual_seed(seed: int) -> None:
    """Seeds the stream that the GPUs draw from; does nothing without one. Source: torch.cuda.manual_seed"""
    if _devices.backends("cuda"):
        _random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds with a number that nobody can foretell; does nothing without a GPU. Source: torch.cuda.seed"""
    if _devices.backends("cuda"):
        _random.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed last set. Raises AssertionError without a GPU. Source: torch.cuda.initial_seed"""
    backend()
    return _random.initial_seed()


def get_rng_state(device: DeviceLike = "cuda") -> Tensor:
    """The state of the stream. Raises AssertionError without a GPU. Source: torch.cuda.get_rng_state"""
    backend(device)
    return _random.get_rng_state()


def set_rng_state(new_state: Tensor, device: DeviceLike = "cuda") -> None:
    """Sets the state of the stream. Raises AssertionError without a GPU. Source: torch.cuda.set_rng_state"""
    backend(device)
    _random.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The state of the stream, once for each GPU. Source: torch.cuda.get_rng_state_all"""
    return [_random.get_rng_state() for _ in _devices.backends("cuda")]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the state of the stream that all GPUs share: to the last one. Source: torch.cuda.set_rng_state_all"""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)
