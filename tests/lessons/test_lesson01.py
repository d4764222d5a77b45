"""What lesson 1 says about the engine is true."""

import pytest

import autolab as torch
from autolab.lessons.lesson01.control import FREES, LEARNS


@pytest.mark.parametrize("code", FREES)
def test_what_cannot_be_walked_twice(code):
    y = eval(code, {"x": torch.tensor([1.0, -2.0], requires_grad=True)})
    y.backward(gradient=torch.ones_like(y))
    try:
        y.backward(gradient=torch.ones_like(y))
        raises = False
    except RuntimeError:
        raises = True
    assert raises is FREES[code][0]


@pytest.mark.parametrize("code", LEARNS)
def test_what_still_learns(code):
    w, v = (torch.tensor([2.0], requires_grad=True) for _ in range(2))
    model = torch.nn.Linear(1, 1)
    eval(code, {"torch": torch, "w": w, "v": v, "model": model}).sum().backward()
    assert (w.grad is not None) is LEARNS[code][0]
