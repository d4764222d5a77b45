"""The helpers of `autolab.finetune`: freezing by name, rates by layer, cached features, early stopping."""

import numpy as np
import pytest

import autolab as torch
from autolab import nn
from autolab.finetune import (
    EarlyStopping,
    cached_features,
    count_parameters,
    freeze,
    freeze_statistics,
    layers,
    parameter_groups,
    unfreeze,
)
from autolab.utils.data import DataLoader, TensorDataset
from autolab.vision.models import resnet18, resnet_digits


@pytest.fixture
def model():
    torch.manual_seed(0)
    return resnet_digits(num_classes=5)


def trained(model):
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


class TestFreeze:
    def test_all_of_it(self, model):
        names = [name for name, _ in model.named_parameters()]
        assert freeze(model) == names and trained(model) == []
        assert unfreeze(model) == names and trained(model) == names

    @pytest.mark.parametrize(
        ("patterns", "frozen"),
        [
            (["fc"], ["fc.weight", "fc.bias"]),
            (["fc.bias", "conv1"], ["conv1.weight", "fc.bias"]),
            (["*.bn1"], ["layer1.0.bn1.weight", "layer1.0.bn1.bias", "layer2.0.bn1.weight", "layer2.0.bn1.bias"]
                + ["layer3.0.bn1.weight", "layer3.0.bn1.bias"]),
            (["layer[23].0.conv1"], ["layer2.0.conv1.weight", "layer3.0.conv1.weight"]),
        ],
    )  # fmt: skip
    def test_by_name(self, model, patterns, frozen):
        assert freeze(model, *patterns) == frozen
        assert [
            name for name, _ in model.named_parameters() if name not in trained(model)
        ] == frozen

    def test_a_pattern_is_a_whole_name(self, model):
        with pytest.raises(ValueError, match="nothing matches 'layer'") as caught:
            freeze(model, "fc", "layer")
        assert caught.value.__notes__ == [
            "Names begin with bn1, conv1, fc, layer1, layer2, layer3."
        ]
        assert len(trained(model)) == len(list(model.parameters()))

    def test_gradients_are_dropped_so_that_no_optimizer_steps(self, model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
        images = torch.randn(4, 1, 32, 32)
        for _ in range(2):
            optimizer.zero_grad()
            model(images).sum().backward()
            optimizer.step()
        freeze(model, "layer1")
        before = model.layer1[0].conv1.weight.clone()
        optimizer.step()
        assert torch.equal(model.layer1[0].conv1.weight, before)
        assert model.fc.weight.grad is not None

    def test_statistics_of_frozen_normalisations(self, model):
        freeze(model, "conv1", "bn1", "layer1")
        assert freeze_statistics(model.train()) == ["bn1", "layer1.0.bn1", "layer1.0.bn2"]
        before = {name: value.clone() for name, value in model.named_buffers()}
        model(torch.randn(4, 1, 32, 32))
        same = {name for name, value in model.named_buffers() if torch.equal(value, before[name])}
        assert {name.rpartition(".")[0] for name in same} == {"bn1", "layer1.0.bn1", "layer1.0.bn2"}
        assert freeze_statistics(nn.Sequential(nn.InstanceNorm1d(3))) == ["0"], (
            "no parameters: nothing is trained"
        )

    def test_counts(self, model):
        assert count_parameters(model) == (77685, 77685)
        freeze(model)
        unfreeze(model, "fc")
        assert count_parameters(model) == (325, 77685)
        assert count_parameters(resnet18()) == (11689512, 11689512)
        twice = nn.Linear(3, 3)
        assert count_parameters(nn.Sequential(twice, twice)) == (12, 12)


class TestGroups:
    def test_layers_from_input_to_output(self, model):
        assert layers(model) == [("conv1", "bn1"), ("layer1",), ("layer2",), ("layer3",), ("fc",)]
        assert layers(nn.Sequential(nn.LayerNorm(3), nn.ReLU(), nn.Linear(3, 1))) == [
            ("0",),
            ("2",),
        ]

    def test_rates_halve_from_the_head_down(self, model):
        freeze(model, "conv1")
        groups = parameter_groups(model, lr=0.8, decay=0.5)
        assert [(g["name"], g["lr"]) for g in groups] == [
            ("conv1", 0.05), ("layer1", 0.1), ("layer2", 0.2), ("layer3", 0.4), ("fc", 0.8)
        ]  # fmt: skip
        assert [id(p) for g in groups for p in g["params"]] == [id(p) for p in model.parameters()]
        optimizer = torch.optim.SGD(groups, lr=1.0, momentum=0.9)
        assert [g["lr"] for g in optimizer.param_groups] == [0.05, 0.1, 0.2, 0.4, 0.8]

    def test_what_is_refused(self, model):
        with pytest.raises(ValueError, match="decay should be above 0, but got 0"):
            parameter_groups(model, 0.1, decay=0)
        with pytest.raises(
            ValueError, match=r"parameters \['weight', 'bias'\] are in no submodule"
        ):
            parameter_groups(nn.Linear(2, 2), 0.1)


class TestCachedFeatures:
    def data(self, n=7):
        torch.manual_seed(1)
        return TensorDataset(torch.randn(n, 1, 32, 32), torch.arange(n) % 5)

    def extractor(self, model):
        model.fc = nn.Identity()
        freeze(model)
        return model.eval()

    def test_they_are_what_the_network_answers(self, model):
        extractor, data = self.extractor(model), self.data()
        found = cached_features(extractor, DataLoader(data, batch_size=3))
        features, targets = found.tensors
        assert (
            features.shape == (7, 64)
            and targets.tolist() == [0, 1, 2, 3, 4, 0, 1]
            and not features.requires_grad
        )
        assert np.allclose(
            features.numpy(), extractor(data.tensors[0]).numpy(), rtol=1e-4, atol=1e-5
        )

    def test_training_mode_and_trained_parameters_are_refused(self, model):
        extractor, batches = self.extractor(model), [self.data().tensors]
        extractor.layer2[0].bn1.train()
        with pytest.raises(
            RuntimeError, match="the feature extractor is in training mode: layer2.0.bn1"
        ):
            cached_features(extractor, batches)
        extractor.eval()
        unfreeze(extractor, "layer3.0.conv2")
        with pytest.raises(
            RuntimeError, match="is not frozen: layer3.0.conv2.weight require gradients"
        ):
            cached_features(extractor, batches)
        freeze(extractor)
        extractor.fc = nn.Identity()  # in training mode, as everything new is
        assert len(cached_features(extractor, batches)) == 7
        with pytest.raises(ValueError, match="there are no batches to extract features from"):
            cached_features(extractor, [])


class TestEarlyStopping:
    @pytest.mark.parametrize(
        ("settings", "values", "stops_after", "best"),
        [
            (dict(patience=2), [3, 2, 2, 2], 4, (2, 1)),
            (dict(patience=2), [3, 2, 2.5, 1, 1.5, 1], 6, (1, 3)),
            (dict(patience=1), [1, float("nan")], 2, (1, 0)),
            (dict(patience=2, min_delta=0.5), [3, 2.6, 2.5], 3, (3, 0)),
            (dict(patience=3, min_delta=0.5), [3, 2.6, 2.4, 2], None, (2.4, 2)),
            (dict(patience=2, mode="max"), [0.1, 0.5, 0.4, 0.5], 4, (0.5, 1)),
            (dict(patience=2), [float("nan"), float("nan")], 2, (None, None)),
        ],
    )
    def test_when(self, settings, values, stops_after, best):
        stopping = EarlyStopping(**settings)
        answers = [stopping.step(value) for value in values]
        assert answers == [False] * (len(values) - 1) + [stops_after is not None]
        assert (stopping.best, stopping.best_at) == best
        assert stops_after is None or stops_after == len(values)

    def test_the_best_weights_come_back_with_their_statistics(self, model):
        stopping, states = EarlyStopping(patience=2), []
        for value in (2.0, 1.0, 1.5, 1.2):
            model(torch.randn(4, 1, 32, 32) * value)  # moves the statistics
            with torch.no_grad():
                model.fc.weight += value
            states.append({name: v.clone() for name, v in model.state_dict().items()})
            stopped = stopping.step(torch.tensor(value), model)
        assert stopped and stopping.best_at == 1
        stopping.restore(model)
        for name, value in model.state_dict().items():
            assert torch.equal(value, states[1][name]), name
        model.fc.weight.data.add_(1)
        stopping.restore(model)
        assert torch.equal(model.fc.weight, states[1]["fc.weight"]), (
            "what was kept is not shared with the model"
        )

    def test_what_is_refused(self, model):
        for settings, message in (
            (dict(patience=0), "patience should be an integer of at least 1, but got 0"),
            (dict(patience=1.5), "patience should be"),
            (dict(min_delta=-1), "min_delta should be at least 0, but got -1"),
            (dict(mode="best"), "mode should be 'min' or 'max', but got 'best'"),
        ):
            with pytest.raises(ValueError, match=message):
                EarlyStopping(**settings)
        stopping = EarlyStopping()
        stopping.step(1.0)
        with pytest.raises(RuntimeError, match="no weights were kept"):
            stopping.restore(model)
