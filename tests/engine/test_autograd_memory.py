"""Which memory a tensor looks into after `deepcopy` and `x.data = y`, and what a gradient may be."""

import copy

from goldens.oracle import error_of, same_as_torch


def described(tensors):
    return [
        (t.tolist(), t.stride(), t.storage_offset(), t._is_view(), t.requires_grad) for t in tensors
    ]


@same_as_torch
def test_copies_of_leaves_keep_their_gradients(torch):
    w = torch.arange(3.0, requires_grad=True)
    (w * w).sum().backward()
    w2, g2, d2 = copy.deepcopy([w, w.grad, w.detach()])
    d2[0] = 9.0
    model = torch.nn.Linear(2, 2)
    model.tied = model.weight
    model2 = copy.deepcopy(model)
    return w2, w2.grad is g2, d2, w, model2.tied is model2.weight, model2.weight._version


@same_as_torch
def test_saved_values_when_data_is_exchanged(torch):
    def run(use, change):
        x = torch.arange(1.0, 4.0).requires_grad_()
        y = use(x)
        change(x, y)
        return error_of(lambda: y.sum().backward()), x.grad

    def exchanged_and_changed(x, y):
        x.data = torch.zeros(3)
        with torch.no_grad():
            x.add_(1)

    def exchange_result(x, y):
        y.data = torch.zeros(3)

    def exchange(x, y):
        x.data = torch.zeros(3)

    return [
        run(use, change)
        for use in (lambda x: x * x, lambda x: x.exp())
        for change in (exchange, exchange_result, exchanged_and_changed)
    ]


@same_as_torch
def test_what_cannot_be_a_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    wrong = [x, 3, torch.ones(3), torch.ones(2, dtype=torch.float64)]
    errors = [error_of(lambda value=value: setattr(x, "grad", value)) for value in wrong]
    x.grad = x.detach()
    return errors, x.grad
