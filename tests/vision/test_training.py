"""From files to a trained network: data set, transforms, loader, LeNet and optimiser print PyTorch's losses."""

import pytest
from goldens.oracle import check
from test_models import course_class

import autolab

pytestmark = pytest.mark.trained


def digits(t, size, transform=None):
    """The shipped digits as (N, 1, size, size) tensors from 0 to 1 and labels, in either library."""
    data = autolab.vision.datasets.Digits(size=size)
    return t.from_numpy(data.data.numpy()).unsqueeze(1).float() / 255, t.from_numpy(
        data.targets.numpy()
    )


def lenet32(t):
    """LeNet for 32x32 images: ours, or the course's with as many inputs to the first linear layer."""
    if t.__name__ == "autolab":
        return t.vision.models.LeNet(image_size=32)
    base = course_class("LeNet", t)
    linear = t.nn.Linear
    try:
        t.nn.Linear = lambda in_features, out_features: linear(
            400 if in_features == 256 else in_features, out_features
        )
        return base()
    finally:
        t.nn.Linear = linear


def train(t, model, batches, lr=0.1):
    """The loss of every batch."""
    optimizer, losses = t.optim.SGD(model.parameters(), lr=lr, momentum=0.9), []
    for images, labels in batches:
        loss = t.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    ("size", "make"), [(28, lambda t: course_class("LeNet", t)()), (32, lenet32)]
)
def test_an_epoch_of_lenet_on_digits_prints_pytorchs_losses(size, make):
    def program(t):
        t.manual_seed(0)
        model = make(t)
        loader = t.utils.data.DataLoader(
            t.utils.data.TensorDataset(*digits(t, size)), batch_size=64, shuffle=True
        )
        losses = train(t, model, loader, lr=0.02)
        return [losses[:16], t.rand(1)]

    check("test_training", f"LeNet, {size}x{size}", program, rtol=1e-3)
