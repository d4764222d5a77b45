"""The training loop: its records, what may be changed between them, and going on to the same bits."""

import itertools

import numpy as np
import pytest

import autolab as torch
from autolab import nn
from autolab.finetune import (
    EarlyStopping,
    evaluate,
    freeze,
    freeze_statistics,
    gradient_norms,
    training,
    unfreeze,
)
from autolab.utils.data import DataLoader, TensorDataset

KEYS = [
    "epoch",
    "step",
    "train_loss",
    "val_loss",
    "train_accuracy",
    "val_accuracy",
    "learning_rate",
    "gradient_norms",
]


def network():
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)
    )  # normalisation, and random numbers in every step


def data(n=20, seed=5):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=generator)
    return TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long())


class Scene:
    """A model, all that trains it, and a `Training`."""

    def __init__(self, epochs=3, every=None, seed=0, shuffle=True, patience=None, momentum=0.9):
        torch.manual_seed(seed)
        self.model = network()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=momentum)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, 0.5)
        self.stopping = None if patience is None else EarlyStopping(patience)
        self.loaders = (
            DataLoader(data(), batch_size=6, shuffle=shuffle),
            DataLoader(data(12, 6), batch_size=5),
        )
        self.training = training(
            self.model, self.optimizer, self.loaders, epochs,
            scheduler=self.scheduler, stopping=self.stopping, every=every,
        )  # fmt: skip

    def bits(self):
        """Everything that training changes, to the bit."""
        tensors = [v.numpy().tobytes() for v in self.model.state_dict().values()]
        tensors += [
            s["momentum_buffer"].numpy().tobytes()
            for s in self.optimizer.state.values()
            if "momentum_buffer" in s
        ]
        return tensors + [
            [g["lr"] for g in self.optimizer.param_groups],
            torch.get_rng_state().numpy().tobytes(),
        ]


class TestRecords:
    def test_one_after_each_epoch(self):
        scene = Scene()
        records = list(scene.training)
        assert [list(r) for r in records] == [KEYS] * 3
        assert [(r["epoch"], r["step"], r["learning_rate"]) for r in records] == [
            (0, 4, 0.1),
            (1, 8, 0.05),
            (2, 12, 0.025),
        ]
        assert list(scene.training) == [], "it is over"

    def test_the_numbers_are_those_of_the_loop_written_out(self):
        scene = Scene(epochs=2, every=2)
        records = list(scene.training)
        torch.manual_seed(0)
        model, expected = network(), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        train, validation = scene.loaders
        for epoch in range(2):
            losses, right, samples = 0.0, 0, 0
            for number, (x, y) in enumerate(train):
                out = model(x)
                loss = nn.functional.cross_entropy(out, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses, right = (
                    losses + loss.item() * len(y),
                    right + int((out.argmax(1) == y).sum()),
                )
                samples += len(y)
                if number in (1, 3):
                    expected.append(
                        [
                            epoch,
                            losses / samples,
                            right / samples,
                            model[4].weight.grad.double().norm().item(),
                        ]
                    )
                    losses, right, samples = 0.0, 0, 0
            model.eval()
            with torch.no_grad():
                out = torch.cat([model(x) for x, _ in validation])
            expected[-1] += [
                nn.functional.cross_entropy(out, data(12, 6).tensors[1]).item(),
                (out.argmax(1) == data(12, 6).tensors[1]).float().mean().item(),
            ]
            model.train()
            optimizer.param_groups[0]["lr"] *= 0.5
        for record, (epoch, loss, accuracy, _, *found) in zip(records, expected, strict=True):
            assert (record["epoch"], record["train_loss"], record["train_accuracy"]) == (
                epoch,
                loss,
                accuracy,
            )
            if found:
                assert record["val_loss"] == pytest.approx(found[0], rel=1e-6)
                assert record["val_accuracy"] == pytest.approx(found[1], rel=1e-6)
        own, bias = expected[-1][3], model[4].bias.grad.double().norm().item()
        assert records[-1]["gradient_norms"]["4"] == pytest.approx((own**2 + bias**2) ** 0.5)
        assert list(records[-1]["gradient_norms"]) == ["0", "1", "4"]

    @pytest.mark.trained
    def test_without_validation_and_without_classes(self):
        torch.manual_seed(0)
        model, x = nn.Linear(3, 1), torch.randn(8, 3)
        pairs = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        records = list(training(model, optimizer, (pairs, None), 150, loss=nn.functional.mse_loss))
        # A straight line: each step takes a part of the error away, rounding errors too. Seed 0 ends at 3e-5, the worst
        # of 40 at 2e-4.
        assert records[-1]["train_loss"] < 1e-3 < records[0]["train_loss"]
        assert all(
            r["val_loss"] is r["val_accuracy"] is r["train_accuracy"] is None for r in records
        )

    def test_what_is_refused(self):
        model = nn.Linear(4, 3)
        optimizer, loader = (
            torch.optim.SGD(model.parameters(), lr=0.1),
            DataLoader(data(), batch_size=5),
        )
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        for arguments, settings, message in (
            ((loader, 1), {}, r"loaders should be a pair \(training, validation\)"),
            (((loader, None), 1.5), {}, "epochs should be an integer of at least 0, but got 1.5"),
            (
                ((loader, None), 1),
                {"every": 0},
                "every should be an integer of at least 1, but got 0",
            ),
            (
                ((loader, None), 1),
                {"stopping": EarlyStopping()},
                "early stopping needs validation batches",
            ),
            (
                ((loader, None), 1),
                {"scheduler": plateau},
                "ReduceLROnPlateau needs validation batches",
            ),
        ):
            with pytest.raises(ValueError, match=message):
                training(model, optimizer, *arguments, **settings)
        with pytest.raises(ValueError, match="there are no batches to train on"):
            next(training(model, optimizer, ([], None), 1))
        with pytest.raises(ValueError, match="there are no batches to evaluate"):
            next(training(model, optimizer, (loader, []), 1))


class TestWhatIsChangedInBetween:
    def test_the_learning_rate(self):
        """With rate 0 nothing moves any more, and what was set is what the next record says."""
        scene = Scene(epochs=4, every=2, momentum=0.0)
        scene.scheduler.step = lambda: None
        records, weights = [], []
        for record in scene.training:
            records.append(record["learning_rate"])
            weights.append(scene.model[0].weight.detach().clone())
            scene.optimizer.param_groups[0]["lr"] = {1: 0.01, 2: 0.0}.get(len(records), 0.0)
        assert records == [0.1, 0.01] + [0.0] * 6
        assert not torch.equal(weights[0], weights[1]) and torch.equal(weights[1], weights[-1])

    def test_freezing_and_unfreezing(self):
        scene, seen = Scene(epochs=3), []
        freeze(scene.model)
        unfreeze(scene.model, "4")
        for record in scene.training:
            seen.append(list(record["gradient_norms"]))
            if record["epoch"] == 0:
                unfreeze(scene.model, "0")
            elif record["epoch"] == 1:
                freeze(scene.model, "4")
        assert seen == [["4"], ["0", "4"], ["0"]]

    def test_modes_are_left_as_they_are(self):
        scene = Scene(epochs=2)
        freeze(scene.model, "0", "1")
        freeze_statistics(scene.model)
        mean = scene.model[1].running_mean.clone()
        list(scene.training)
        assert [m.training for m in scene.model] == [True, False, True, True, True]
        assert torch.equal(scene.model[1].running_mean, mean)

    def test_after_an_interrupt_it_goes_on(self):
        scene, calls = Scene(epochs=2), itertools.count()
        forward = scene.model.forward

        def interrupted(x):
            if next(calls) == 2:
                raise KeyboardInterrupt
            return forward(x)

        scene.model.forward = interrupted
        with pytest.raises(KeyboardInterrupt):
            next(scene.training)
        assert scene.training.step == 2
        assert [r["step"] for r in scene.training] == [4, 8]


class TestStopping:
    def test_it_stops_and_keeps_the_best(self):
        scene = Scene(epochs=50, patience=2)
        for group in scene.optimizer.param_groups:
            group["lr"] = 1.5  # gets worse sooner or later
        losses = [record["val_loss"] for record in scene.training]
        assert len(losses) < 50 and scene.training.stopped
        best = int(np.argmin(losses))
        assert (len(losses) - 1 - best, scene.stopping.best_at) == (2, best)
        scene.stopping.restore(scene.model)
        assert evaluate(scene.model, scene.loaders[1])[0] == min(losses)


def test_gradient_norms_and_evaluate():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1)))
    assert gradient_norms(model) == {}
    model[1][0].weight.grad, model[0].bias.grad = (
        torch.tensor([[3.0, 4.0]]),
        torch.tensor([0.0, 2.0]),
    )
    assert gradient_norms(model) == {"0": 2.0, "1.0": 5.0}
    scores = TensorDataset(
        torch.tensor([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]]), torch.tensor([0, 1, 1])
    )
    loss, accuracy = evaluate(nn.Identity(), DataLoader(scores, batch_size=2))
    assert accuracy == 2 / 3
    assert loss == pytest.approx((2 * np.log1p(np.exp(-2)) + np.log1p(np.exp(2))) / 3, rel=1e-6)
