"""ResNet-18 written with the modules of the library `t`: torchvision's names of parameters, without torchvision.

Source: K. He, X. Zhang, S. Ren, J. Sun, https://arxiv.org/abs/1512.03385, and torchvision's naming.
"""


def resnet18(t, classes):
    """The network as a `t.nn.Module`."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self, inside, outside, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outside)
            self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outside)
            if stride != 1 or inside != outside:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)
                )
            else:
                self.downsample = nn.Identity()

        def forward(self, x):
            y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
            return (y + self.downsample(x)).relu()

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            inside = 64
            for number, outside in enumerate((64, 128, 256, 512), start=1):
                blocks = Block(inside, outside, 1 if number == 1 else 2), Block(outside, outside, 1)
                setattr(self, f"layer{number}", nn.Sequential(*blocks))
                inside = outside
            self.fc = nn.Linear(512, classes)

        def forward(self, x):
            x = self.maxpool(self.bn1(self.conv1(x)).relu())
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(x.mean((2, 3)))

    return ResNet()
