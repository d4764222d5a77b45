"""Adafactor and Muon against PyTorch: steps, state, texts and errors."""

import pytest
from goldens.oracle import check, error_of, same_as_torch

OPTIMIZERS = {
    "Adafactor": "Adafactor([w, b])",
    "Adafactor, all settings": "Adafactor([w, b], 0.3, -0.5, (1e-8, 1e-2), 1.5, 0.1, maximize=True)",
    "Muon": "Muon([w])",
    "Muon, all settings": "Muon([w], 0.02, 0.01, 0.9, False, eps=1e-6, ns_steps=3, adjust_lr_fn='match_rms_adamw')",
    "Muon, a wide matrix": "Muon([t], 0.02)",
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name):
    """Muon computes in bfloat16, whose sums PyTorch takes in another order: so only two digits are compared."""

    def program(torch):
        torch.manual_seed(2)
        w, b = (torch.nn.Parameter(torch.randn(size)) for size in ((5, 3), (4,)))
        t = torch.nn.Parameter(torch.randn(2, 6))
        make = lambda: eval(
            f"torch.optim.{OPTIMIZERS[name]}", {"torch": torch, "w": w, "b": b, "t": t}
        )
        optimizer, values = make(), []
        for step in range(4):
            if step == 2:
                state, optimizer = optimizer.state_dict(), make()
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            sum((p**3).sum() for p in (w, b, t)).backward()
            optimizer.step()
            values.append([p.detach().clone() for p in (w, b, t)])
        return [repr(optimizer), values, [sorted(s) for s in optimizer.state.values()]]

    tolerance = {"rtol": 2e-2, "atol": 2e-3} if "Muon" in name else {"rtol": 1e-5}
    check("test_optim_matrices", name, program, **tolerance)


@same_as_torch
def test_errors(torch):
    p, vector = (torch.nn.Parameter(torch.ones(size)) for size in ((2, 2), (2,)))
    Muon, Adafactor = torch.optim.Muon, torch.optim.Adafactor
    return [
        error_of(action)
        for action in (
            lambda: Muon([vector]),
            lambda: Muon([p], lr=-1.0),
            lambda: Muon([p], momentum=-1.0),
            lambda: Muon([p], weight_decay=-1.0),
            lambda: Muon([p], adjust_lr_fn="half"),
            lambda: Adafactor([p], lr=-1.0),
            lambda: Adafactor([p], beta2_decay=1.0),
            lambda: Adafactor([p], eps=(-1.0, 1.0)),
            lambda: Adafactor([p], eps=(None, -1.0)),
            lambda: Adafactor([p], d=0.5),
            lambda: Adafactor([p], weight_decay=-1.0),
        )
    ]
