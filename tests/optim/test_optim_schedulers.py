"""Learning-rate schedules: PyTorch's numbers to the last bit, its warnings and errors."""

import warnings

import pytest
from goldens.oracle import check, error_of, same_as_torch

import autolab as torch

SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.3),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 11], gamma=0.5),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.93),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 7),
    "CosineAnnealingLR eta_min": lambda s, o: s.CosineAnnealingLR(o, T_max=10, eta_min=0.01),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "LambdaLR list": lambda s, o: s.LambdaLR(
        o, [lambda epoch: 1 / (epoch + 1), lambda epoch: epoch]
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, max_lr=0.5, total_steps=26),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.2], epochs=5, steps_per_epoch=6, anneal_strategy="linear"
    ),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR down": lambda s, o: s.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=9),
    "CyclicLR": lambda s, o: s.CyclicLR(o, base_lr=0.01, max_lr=0.3, step_size_up=4),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(
        o, [0.01, 0.1], [0.3, 0.4], 3, 5, mode="triangular2"
    ),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(
        o, 0.01, 0.3, 4, mode="exp_range", gamma=0.97, base_momentum=[0.7, 0.6], max_momentum=0.99
    ),
    "warm restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "warm restarts longer": lambda s, o: s.CosineAnnealingWarmRestarts(
        o, T_0=3, T_mult=2, eta_min=0.01
    ),
}


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_learning_rates(name, kind):
    """Adam matters where the momentum changes, too: its momentum is a beta."""
    if kind == "Adam" and "Cyc" not in name:
        return

    def program(t):
        parameters = [t.nn.Parameter(t.ones(1)) for _ in range(2)]
        groups = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.7}]
        optimizer = (
            t.optim.SGD(groups, lr=0.1, momentum=0.9)
            if kind == "SGD"
            else t.optim.Adam(groups, lr=0.1)
        )
        scheduler = SCHEDULES[name](t.optim.lr_scheduler, optimizer)
        found = [[scheduler.get_last_lr(), getattr(scheduler, "last_epoch", None)]]
        for _ in range(25):
            optimizer.step()
            scheduler.step()
            groups = optimizer.param_groups
            found.append(
                [
                    [g["lr"].hex() for g in groups],
                    scheduler.get_last_lr() == [g["lr"] for g in groups],
                    [g.get("momentum", g.get("betas")) for g in groups],
                ]
            )
        return [found, sorted(scheduler.state_dict()), sorted(optimizer.param_groups[0])]

    check("test_optim_schedulers", f"{name} {kind}", program)


@same_as_torch
def test_plateau(t):
    found = []
    losses = [
        1.0,
        0.9,
        0.9,
        0.91,
        0.92,
        0.5,
        0.5,
        0.5,
        0.5,
        0.5,
        0.5,
        0.5,
        0.49999,
        0.4,
        0.4,
        0.4,
        0.4,
        0.4,
    ]
    for options in (
        {},
        {"patience": 1},
        {"mode": "max", "patience": 2},
        {"patience": 0, "threshold": 0.1, "threshold_mode": "abs", "cooldown": 2},
        {"patience": 1, "min_lr": [0.05]},
        {"patience": 1, "factor": 0.5, "eps": 0.01},
    ):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        rates = []
        for loss in losses:
            scheduler.step(t.tensor(loss))
            rates.append(scheduler.get_last_lr()[0])
        found.append(
            [
                rates,
                scheduler.best,
                scheduler.num_bad_epochs,
                scheduler.in_cooldown,
                sorted(scheduler.state_dict()),
            ]
        )
    return found


@same_as_torch
def test_warnings(t):
    s = t.optim.lr_scheduler
    found = []
    for use in (
        lambda o: s.StepLR(o, 1).step(),
        lambda o: s.StepLR(o, 1).get_lr(),
        lambda o: (sch := s.StepLR(o, 1), o.step(), sch.step())[0].last_epoch,
    ):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            use(optimizer)
        found.append([[str(w.message) for w in caught], optimizer.param_groups[0]["lr"]])
    return found


@same_as_torch
def test_errors(t):
    s = t.optim.lr_scheduler
    o = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
    over = s.OneCycleLR(
        t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1, momentum=0.9), 0.1, total_steps=1
    )
    return {
        "no optimizer": error_of(lambda: s.StepLR(3, 1)),
        "resume": error_of(lambda: s.StepLR(o, 1, last_epoch=3)),
        "lambdas": error_of(lambda: s.LambdaLR(o, [len, len])),
        "factor": error_of(lambda: s.ReduceLROnPlateau(o, factor=1.0)),
        "mode": error_of(lambda: s.ReduceLROnPlateau(o, mode="x")),
        "threshold mode": error_of(lambda: s.ReduceLROnPlateau(o, threshold_mode="x")),
        "min_lr": error_of(lambda: s.ReduceLROnPlateau(o, min_lr=[0, 0])),
        "steps": error_of(lambda: s.OneCycleLR(o, 0.1)),
        "total": error_of(lambda: s.OneCycleLR(o, 0.1, total_steps=-1)),
        "epochs": error_of(lambda: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1)),
        "pct": error_of(lambda: s.OneCycleLR(o, 0.1, total_steps=3, pct_start=2.0)),
        "strategy": error_of(lambda: s.OneCycleLR(o, 0.1, 3, anneal_strategy="x")),
        "max_lr": error_of(lambda: s.OneCycleLR(o, [0.1, 0.2], 3)),
        "base": error_of(lambda: s.LRScheduler(o)),
        "momentum": error_of(
            lambda: s.OneCycleLR(t.optim.Adagrad([t.nn.Parameter(t.ones(1))]), 0.1, 3)
        ),
        "over": error_of(lambda: [over.step() for _ in range(3)]),
        "linear start": error_of(lambda: s.LinearLR(o, 0.0)),
        "linear end": error_of(lambda: s.LinearLR(o, 0.5, 1.5)),
        "cyclic mode": error_of(lambda: s.CyclicLR(o, 0.1, 0.2, mode="x")),
        "cyclic lr": error_of(lambda: s.CyclicLR(o, [0.1, 0.2], 0.2)),
        "cyclic optimizer": error_of(lambda: s.CyclicLR(None, 0.1, 0.2)),
        "cyclic momentum": error_of(
            lambda: s.CyclicLR(t.optim.Adagrad([t.nn.Parameter(t.ones(1))]), 0.1, 0.2)
        ),
        "T_0": error_of(lambda: s.CosineAnnealingWarmRestarts(o, 0)),
        "T_mult": error_of(lambda: s.CosineAnnealingWarmRestarts(o, 1, 0.5)),
        "eta_min": error_of(lambda: s.CosineAnnealingWarmRestarts(o, 1, 1, "x")),
        "epoch": error_of(lambda: s.CosineAnnealingWarmRestarts(o, 1).step(-1)),
    }


def test_an_epoch_is_refused():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    schedules = torch.optim.lr_scheduler
    for step in (
        lambda: schedules.ExponentialLR(optimizer, 0.9).step(4),
        lambda: schedules.ReduceLROnPlateau(optimizer).step(1.0, epoch=3),
    ):
        with pytest.raises(NotImplementedError, match="'epoch'"):
            step()


RESUMED = {
    "CyclicLR": lambda s, o: s.CyclicLR(
        o, 0.1, 0.2, 3, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
    "warm restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2),
}


@same_as_torch
def test_resuming(t):
    def start():
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
        return optimizer, t.optim.lr_scheduler.CosineAnnealingLR(optimizer, 9)

    def go(optimizer, scheduler, n):
        for _ in range(n):
            optimizer.step()
            scheduler.step()
        return scheduler.get_last_lr()

    optimizer, scheduler = start()
    go(optimizer, scheduler, 4)
    saved = optimizer.state_dict(), scheduler.state_dict()
    end = go(optimizer, scheduler, 3)
    other, resumed = start()
    other.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    plateau = t.optim.lr_scheduler.ReduceLROnPlateau(other)
    plateau.load_state_dict(plateau.state_dict())

    class Halving:
        def __init__(self):
            self.factor = 0.5

        def __call__(self, epoch):
            return self.factor**epoch

    custom = t.optim.lr_scheduler.LambdaLR(
        t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1), Halving()
    )
    state = custom.state_dict()
    custom.load_state_dict({**state, "lr_lambdas": [{"factor": 0.25}]})
    return [
        end == go(other, resumed, 3),
        state["lr_lambdas"],
        custom.lr_lambdas[0].factor,
        sorted(state),
    ]
