"""The networks of the course as works: LeNet, ResNet-9 and ResNet-18 in PyTorch's words, LeNet also in mygrad's and
tinygrad's."""

from __future__ import annotations

import importlib

import numpy as np

f32 = np.float32
LENET = [
    (6, 1, 5, 5),
    (6,),
    (16, 6, 5, 5),
    (16,),
    (120, 256),
    (120,),
    (84, 120),
    (84,),
    (10, 84),
    (10,),
]
"""The shapes of LeNet's parameters, layer by layer: weight, bias."""


def lenet_numbers(batch):
    """(parameters, images, class numbers): the same in every backend."""
    rng = np.random.default_rng(0)
    parameters, fan_in = [], 1
    for shape in LENET:
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else fan_in  # a bias follows its weight
        parameters.append(rng.uniform(-1, 1, shape).astype(f32) / f32(np.sqrt(fan_in)))
    return parameters, rng.standard_normal((batch, 1, 28, 28)).astype(f32), np.arange(batch) % 10


def build(backend: str, work: str):
    """The work as a function without arguments that returns the loss, or a number of the output."""
    if backend in ("mygrad", "tinygrad"):
        batch = int(work.removeprefix("lenet_"))
        return (_mygrad_lenet if backend == "mygrad" else _tinygrad_lenet)(batch)
    torch = importlib.import_module(backend)
    F = torch.nn.functional
    LeNet, ResNet9, ResNet18 = networks(torch)
    torch.manual_seed(0)
    kind, _, batch = work.partition("_")
    if kind == "resnet18":
        model, x, target = ResNet18().eval(), torch.randn(5, 3, 224, 224), torch.arange(5) % 2
        if batch == "head":
            for parameter in model.parameters():
                parameter.requires_grad_(False)
            model.fc = torch.nn.Linear(512, 2)
    elif kind == "lenet":
        model = LeNet()
        parameters, x, target = lenet_numbers(int(batch))
        for parameter, value in zip(model.parameters(), parameters):
            parameter.data = torch.from_numpy(value)
        x, target = torch.from_numpy(x), torch.from_numpy(target)
    else:
        model, x, target = (
            ResNet9(),
            torch.randn(int(batch), 3, 32, 32),
            torch.arange(int(batch)) % 10,
        )
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)

    def step():
        loss = F.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return (loss.item(),)

    def infer():
        with torch.no_grad():
            return (model(x)[0, 0].item(),)

    return infer if work == "resnet18" else step


def _mygrad_lenet(batch):
    import mygrad as mg
    from mygrad.nnet.activations import relu
    from mygrad.nnet.layers import conv_nd, max_pool
    from mygrad.nnet.losses import softmax_crossentropy

    parameters, x, target = lenet_numbers(batch)
    parameters = [mg.tensor(p) for p in parameters]

    def once():
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = parameters
        y = max_pool(relu(conv_nd(x, w1, stride=1) + b1.reshape(1, -1, 1, 1)), (2, 2), 2)
        y = max_pool(relu(conv_nd(y, w2, stride=1) + b2.reshape(1, -1, 1, 1)), (2, 2), 2).reshape(
            batch, -1
        )
        y = relu(mg.matmul(y, w3.T) + b3)
        y = mg.matmul(relu(mg.matmul(y, w4.T) + b4), w5.T) + b5
        loss = softmax_crossentropy(y, target)
        loss.backward()
        for p in parameters:
            p.data -= f32(0.01) * p.grad
            p.null_grad()
        return (loss.item(),)

    return once


def _tinygrad_lenet(batch):
    from .works import tinygrad

    Tensor, TinyJit = tinygrad().Tensor, tinygrad().TinyJit
    parameters, x, target = lenet_numbers(batch)
    parameters = [Tensor(p).contiguous().realize() for p in parameters]
    x, target = Tensor(x).realize(), Tensor(target.astype(np.int32)).realize()

    @TinyJit
    def step():
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = parameters
        y = (
            x.conv2d(w1, b1)
            .relu()
            .max_pool2d((2, 2))
            .conv2d(w2, b2)
            .relu()
            .max_pool2d((2, 2))
            .reshape(batch, -1)
        )
        y = (y.linear(w3.T, b3).relu().linear(w4.T, b4)).relu().linear(w5.T, b5)
        loss = y.sparse_categorical_crossentropy(target)
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.assign(p.detach() - 0.01 * p.grad)
        return loss.realize(*parameters)

    return lambda: (step().item(),)


def networks(torch):
    """LeNet, ResNet-9 and ResNet-18 in the words of `torch` (PyTorch or the engine)."""
    nn, F = torch.nn, torch.nn.functional

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
            self.fc1, self.fc2, self.fc3 = (
                nn.Linear(256, 120),
                nn.Linear(120, 84),
                nn.Linear(84, 10),
            )

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            return self.fc3(F.relu(self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))))

    def unit(inputs, outputs, pool=False):
        layers = [
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]
        return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if pool else []))

    class ResNet9(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(unit(3, 64), unit(64, 128, True))
            self.first = nn.Sequential(unit(128, 128), unit(128, 128))
            self.middle = nn.Sequential(unit(128, 256, True), unit(256, 256, True))
            self.second = nn.Sequential(unit(256, 256), unit(256, 256))
            self.head = nn.Sequential(nn.MaxPool2d(4), nn.Flatten(), nn.Linear(256, 10))

        def forward(self, x):
            x = self.stem(x)
            x = self.middle(self.first(x) + x)
            return self.head(self.second(x) + x)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn1, self.bn2, self.relu = (
                nn.BatchNorm2d(outputs),
                nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True),
            )
            self.down = None
            if stride != 1 or inputs != outputs:
                self.down = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            y += x if self.down is None else self.down(x)
            return self.relu(y)

    class ResNet18(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 64, 7, 2, 3, bias=False),
                nn.BatchNorm2d(64),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(3, 2, 1),
            )
            widths = [
                (64, 64, 1),
                (64, 64, 1),
                (64, 128, 2),
                (128, 128, 1),
                (128, 256, 2),
                (256, 256, 1),
                (256, 512, 2),
                (512, 512, 1),
            ]
            self.layers = nn.Sequential(*(Block(*width) for width in widths))
            self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 1000)

        def forward(self, x):
            return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))

    return LeNet, ResNet9, ResNet18
