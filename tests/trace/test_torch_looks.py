"""Widgets and plots take PyTorch's modules and tensors."""

import pytest

import autolab
from autolab.widgets import ConvExplorer, FreezePanel, ReceptiveField

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture
def trained():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    )
    images, classes = torch.randn(4, 1, 4, 4), torch.tensor([0, 1, 2, 0])
    loss = torch.nn.functional.cross_entropy(model(images), classes)
    loss.backward()
    return model, images, classes, loss


def test_a_freeze_panel_switches_a_model_of_pytorch(trained):
    model, images, classes, _ = trained
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    panel = FreezePanel(
        model, optimizer, forward=lambda: torch.nn.functional.cross_entropy(model(images), classes)
    )
    panel.trainable = ["3"]
    assert [p.requires_grad for p in model.parameters()] == [False, False, True, True]
    panel.trainable = {"": True}
    assert all(p.requires_grad for p in model.parameters())


def test_convolutions_of_pytorch_are_explored(trained):
    model, images, *_ = trained
    ConvExplorer(images[0, 0], model[0].weight[0, 0])
    ReceptiveField(images[0], model[:2])


def test_plots_take_tensors_and_modules_of_pytorch(trained):
    model, images, classes, loss = trained
    viz, guesses = autolab.viz, model(images).argmax(1)
    viz.plot_weight_histograms(model)
    viz.plot_gradient_histograms(model)
    viz.plot_filters(model[0])
    viz.plot_feature_maps(model[0](images))
    viz.plot_losses([loss.detach(), 2.0])
    viz.plot_confusion(torch.eye(3, dtype=torch.int64))
    viz.plot_misclassified(images, classes, guesses)
    assert viz.make_dot(loss, params=dict(model.named_parameters())) and viz.draw(loss)
