"""Arguments that PyTorch takes and autolab does not: each is refused by its name, never ignored."""

import io

import pytest

import autolab as torch
from autolab.vision.transforms import Resize

X, I = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 2])
REFUSED = {
    "bins": lambda: torch.histogram(X, torch.tensor([0.0, 2.0, 4.0])),
    "weight": lambda: torch.histogram(X, 3, weight=X),
    "min": lambda: X.clamp(X),
    "max": lambda: X.clamp(0, X),
    "interpolation": lambda: torch.quantile(X, 0.3, interpolation="lower"),
    "out": lambda: torch.stack([X, X], out=X),
    "reduce": lambda: X.scatter(0, I, 1.0, reduce="add"),
    "output_size": lambda: X.repeat_interleave(2, output_size=6),
    "max_size": lambda: Resize(9, max_size=10)(torch.ones(3, 4, 4)),
    "lr that is a tensor": lambda: torch.optim.SGD([{"params": [X.clone()], "lr": X[0]}]),
    "learning rate that is a tensor": lambda: torch.optim.Adam([X.clone()], lr=X),
    "betas that is a tensor": lambda: torch.optim.Adam(
        [{"params": X.clone(), "betas": (0.9, X[0])}]
    ),
    "pickle_protocol": lambda: torch.save(X, io.BytesIO(), pickle_protocol=4),
    "encoding": lambda: torch.load(io.BytesIO(), weights_only=False, encoding="latin1"),
    "has_aux": lambda: torch.func.grad(torch.sum, has_aux=True),
    "out_dims that is not a number": lambda: torch.vmap(torch.sin, out_dims=(0,)),
    "parameter_and_buffer_dicts of several dicts": lambda: torch.func.functional_call(
        None, ({}, {})
    ),
    "assign": lambda: torch.nn.Linear(1, 1).load_state_dict({}, assign=True),
    "padding_side": lambda: torch.nn.utils.rnn.pad_sequence([X], padding_side="left"),
    "nested list as index": lambda: torch.ones(2, 2)[[[0, 1], [1, 0]]],
    "index of dtype uint8": lambda: X[torch.tensor([1, 0, 1], dtype=torch.uint8)],
}


@pytest.mark.parametrize("argument", REFUSED)
def test_it_is_refused_by_name(argument):
    with pytest.raises(NotImplementedError, match=f"argument '{argument}' is not supported"):
        REFUSED[argument]()
