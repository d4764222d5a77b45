"""Receptive fields: the frames compared with PyTorch's gradients, for layers of both libraries; rejected inputs."""

import json
import re

import numpy as np
import pytest
import traitlets
from goldens import oracle

import autolab as torch
from autolab.widgets import ReceptiveField

nn = torch.nn


def lenet(nn):
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
    )


NETWORKS = {
    "one layer": lambda nn: nn.Sequential(nn.Conv2d(1, 1, 3)),
    "lenet": lenet,
    "strides": lambda nn: nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=2, padding=1),
        nn.Conv2d(2, 2, (3, 2), stride=(1, 2), padding=(2, 0)),
    ),
    "dilation": lambda nn: nn.Sequential(
        nn.Conv2d(1, 2, 3, dilation=2), nn.Conv2d(2, 2, 3, padding="same")
    ),
    "nested": lambda nn: nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.Dropout(0.5)), nn.AvgPool2d(3, 2, 1)
    ),
    "adaptive": lambda nn: nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d((3, 2))),
}


def touched(torch, network, selected):
    """Return the first and last row and column of the image with a gradient other than 0. Max pooling is replaced by a
    mean, because which number is the maximum depends on the image."""
    torch.manual_seed(0)
    layers = [
        torch.nn.AvgPool2d(m.kernel_size, m.stride) if "MaxPool" in type(m).__name__ else m
        for m in NETWORKS[network](torch.nn)
    ]
    model = torch.nn.Sequential(*layers).eval()
    x = torch.randn(1, 1, 14, 15, requires_grad=True)
    model(x)[0, 0, selected[0], selected[1]].backward()
    rows, columns = np.nonzero(np.array(x.grad.tolist())[0, 0])
    return [int(v) for v in (rows.min(), rows.max(), columns.min(), columns.max())]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_field_is_where_pytorchs_gradient_is_not_zero(name):
    torch.manual_seed(0)
    image = torch.randn(14, 15)
    widget = ReceptiveField(image, NETWORKS[name](nn))
    *_, rows, columns = widget.data["maps"][-1]["size"]
    last = len(widget.data["maps"]) - 1
    for place in {(0, 0), (rows - 1, columns - 1), (rows // 2, columns // 2)}:
        wanted = oracle.answer(
            "test_field", f"{name} {place}", lambda torch, place=place: touched(torch, name, place)
        )
        assert widget.field([last, *place])[0] == tuple(wanted), place


def test_a_chosen_number_in_the_middle_reaches_back_from_there():
    widget = ReceptiveField(torch.rand(12, 12), lenet(nn), selected=[3, 2, 2])
    assert widget.field() == [(2, 7, 2, 7), (4, 5, 4, 5), (4, 5, 4, 5), (2, 2, 2, 2)]
    assert (
        repr(widget)
        == "ReceptiveField([2, 2] of 2: MaxPool2d sees rows 2 to 7, columns 2 to 7 of the image)"
    )


def test_the_gradient_kept_for_a_number_is_its_gradient():
    torch.manual_seed(1)
    model, image = (
        nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), nn.MaxPool2d(2)),
        torch.randn(2, 8, 8),
    )
    widget = ReceptiveField(image, model, channel=1)
    x = image.clone().requires_grad_()
    model(x)[1, 2, 0].backward()
    kept = widget.data["gradients"][2 * 3 + 0]
    wanted = np.abs(x.grad.numpy()).sum(0)
    np.testing.assert_allclose(kept["numbers"], wanted, rtol=1e-3, atol=1e-6)
    assert kept["count"] == np.count_nonzero(wanted) and kept["scale"] == pytest.approx(
        wanted.max(), rel=1e-3
    )
    np.testing.assert_allclose(
        widget.data["maps"][-1]["numbers"], model(image)[1].detach().numpy(), rtol=1e-3, atol=1e-4
    )


def test_the_network_is_left_as_it_was():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True))
    model[1].eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with torch.no_grad():
        widget = ReceptiveField(torch.rand(1, 1, 6, 6), model)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert model[0].training and not model[1].training and model[0].weight.grad is None
    assert len(widget.data["gradients"]) == 16
    assert (
        np.shape(widget.data["maps"][2]["numbers"]) == (4, 4)
        and np.min(widget.data["maps"][2]["numbers"]) < 0
    ), "a copy"


@pytest.mark.parametrize("name", NETWORKS)
def test_takes_pytorchs_own_modules(name):
    real = pytest.importorskip("torch")
    real.manual_seed(0)
    model = NETWORKS[name](real.nn)
    image = real.randn(1, 14, 15)
    widget = ReceptiveField(image, model)
    shown = widget.data["maps"][-1]
    if shown["numbers"] is not None:
        np.testing.assert_allclose(
            shown["numbers"], model.eval()(image[None])[0, 0].tolist(), rtol=1e-3, atol=1e-4
        )
    assert [m["size"] for m in widget.data["maps"]] == [
        m["size"] for m in ReceptiveField(image.tolist(), NETWORKS[name](nn)).data["maps"]
    ]


@pytest.mark.parametrize(
    ("image", "network", "options", "kind", "words"),
    [
        (torch.rand(6, 6), nn.Linear(6, 6), {}, TypeError, "not Linear"),
        (torch.rand(6, 6), [], {}, ValueError, "there are 0 layers"),
        (torch.rand(65, 6), nn.ReLU(), {}, ValueError, "this has shape [1, 65, 6]"),
        (torch.rand(2, 3, 6, 6), nn.ReLU(), {}, ValueError, "this has shape [2, 3, 6, 6]"),
        (torch.rand(6, 6), nn.Conv2d(1, 3, 3), {"channel": 3}, ValueError, "channel 3"),
        (torch.rand(6, 6), nn.Conv2d(2, 3, 3), {}, RuntimeError, "expected input"),
    ],
)
def test_what_cannot_be_shown_is_refused(image, network, options, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        ReceptiveField(image, network, **options)


def test_selected_must_be_in_a_map():
    widget = ReceptiveField(torch.rand(6, 6), nn.Conv2d(1, 1, 3))
    assert widget.selected == [1, 2, 2]
    for wrong in ([2, 0, 0], [1, 4, 0], [1, 0], []):
        with pytest.raises(traitlets.TraitError):
            widget.selected = wrong
    assert widget.selected == [1, 2, 2]


def test_stays_small_and_is_one_module(tmp_path):
    widget = ReceptiveField(torch.rand(28, 28), lenet(nn))
    assert len(json.dumps(widget.data, allow_nan=False)) < 60_000
    many = ReceptiveField(torch.rand(64, 64), nn.Conv2d(1, 1, 3))
    assert many.data["gradients"] == [] and len(json.dumps(many.data)) < 30_000
    page = widget.to_html(tmp_path / "field.html").read_text()
    assert "<title>Receptive field</title>" in page
    assert widget._repr_mimebundle_()[0]["text/plain"] == (
        f"{widget!r} is a view of what each number of a layer has seen of the image: run this cell in Jupyter (Shift+Enter) to see it."
    )
