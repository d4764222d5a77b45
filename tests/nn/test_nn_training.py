"""Whole trainings: the loss of every step is PyTorch's to the printed digit, from the same seed and the same code."""

import pytest
from goldens.oracle import check

OPTIMIZERS = {
    "SGD": lambda t, p: t.optim.SGD(p, lr=0.1),
    "SGD with momentum": lambda t, p: t.optim.SGD(
        p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True
    ),
    "Adam": lambda t, p: t.optim.Adam(p, lr=0.01),
    "AdamW": lambda t, p: t.optim.AdamW(p, lr=0.01, amsgrad=True),
    "RMSprop": lambda t, p: t.optim.RMSprop(p, lr=0.005, momentum=0.5, centered=True),
    "Adagrad": lambda t, p: t.optim.Adagrad(p, lr=0.05, lr_decay=0.01),
}


def regression(t, optimizer):
    t.manual_seed(0)
    x = t.linspace(-1, 1, 64).unsqueeze(1)
    y = x**3 + 0.1 * t.randn(64, 1)
    model = t.nn.Sequential(
        t.nn.Linear(1, 16), t.nn.Tanh(), t.nn.Linear(16, 16), t.nn.ReLU(), t.nn.Linear(16, 1)
    )
    optimizer, losses = optimizer(t, model.parameters()), []
    for _ in range(50):
        optimizer.zero_grad()
        loss = t.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.4f}")
    return losses


def classification(t, optimizer):
    t.manual_seed(1)
    x = t.randn(120, 4)
    y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 1).long()
    model = t.nn.Sequential(
        t.nn.Linear(4, 32), t.nn.LeakyReLU(0.1), t.nn.Dropout(0.2), t.nn.Linear(32, 3)
    )
    loader = t.utils.data.DataLoader(t.utils.data.TensorDataset(x, y), batch_size=32, shuffle=True)
    criterion, optimizer, losses = (
        t.nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer(t, model.parameters()),
        [],
    )
    schedule = t.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
    for _ in range(12):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(f"{loss.item():.4f}")
        schedule.step()
    with t.no_grad():
        accuracy = (model.eval()(x).argmax(1) == y).float().mean().item()
    return [losses, round(accuracy, 4), schedule.get_last_lr()]


@pytest.mark.parametrize("task", [regression, classification])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_loss_curve(task, name):
    check("test_nn_training", f"{task.__name__} {name}", lambda t: task(t, OPTIMIZERS[name]))
