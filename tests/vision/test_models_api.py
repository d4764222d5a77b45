"""Networks and weights by name, as torchvision has them; how networks print."""

import hashlib
import re

import pytest
import vision_oracle
from goldens.oracle import ENGINE, engine

torch = engine()
ours = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own")


@pytest.mark.parametrize("name", ["resnet18", "resnet34", "resnet50"])
def test_printed_character_for_character(name):
    def program(v, t):
        model = getattr(v.models, name)(num_classes=7)
        total = sum(p.numel() for p in model.parameters())
        return [
            str(model),
            total,
            [n for n, _ in model.named_modules()],
            [n for n, _ in model.named_buffers()],
        ]

    vision_oracle.check(f"printed {name}", program)


def digits_network(v, t):
    """`resnet_digits`, and its definition written out with torchvision's blocks."""
    if hasattr(v.models, "resnet_digits"):
        return v.models.resnet_digits(num_classes=5)
    nn, block = t.nn, v.models.resnet.BasicBlock

    def stage(inplanes, planes):
        shortcut = nn.Sequential(
            nn.Conv2d(inplanes, planes, 1, 2, bias=False), nn.BatchNorm2d(planes)
        )
        return nn.Sequential(block(inplanes, planes, 2, shortcut))

    class DigitsResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(1, 16, 5, 2, 2, bias=False), nn.BatchNorm2d(16)
            self.relu = nn.ReLU(inplace=True)
            self.layer1, self.layer2, self.layer3 = (
                nn.Sequential(block(16, 16)),
                stage(16, 32),
                stage(32, 64),
            )
            self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(64, 5)

        def forward(self, x):
            x = self.layer3(self.layer2(self.layer1(self.relu(self.bn1(self.conv1(x))))))
            return self.fc(t.flatten(self.avgpool(x), 1))

    return DigitsResNet()


def test_the_shipped_weights_answer_the_same_in_pytorch():
    """In evaluation, and through two steps of fine-tuning, statistics included."""

    def program(v, t):
        import autolab

        state = autolab.vision.models.ResNetDigits_Weights.DEFAULT.get_state_dict()
        model = digits_network(v, t)
        missing = model.load_state_dict(
            {name: t.from_numpy(value.numpy().copy()) for name, value in state.items()}
        )
        digits = autolab.vision.datasets.Digits(train=False, size=32)
        images = t.from_numpy(digits.data[:12].unsqueeze(1).float().numpy() / 255)
        labels = t.from_numpy(digits.targets[:12].numpy()) % 5
        model.eval()
        with t.no_grad():
            found = [str(missing), repr(model), model(images)]
        model.train()
        optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for _ in range(2):
            loss = t.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return [*found, model.bn1.running_var, model.layer3[0].bn2.running_mean, model.fc.weight]

    vision_oracle.check("shipped weights", program, rtol=1e-4, atol=1e-5)


def test_facts_about_weights():
    def program(v, t):
        found = []
        for enum in (
            v.models.ResNet18_Weights,
            v.models.ResNet34_Weights,
            v.models.ResNet50_Weights,
        ):
            for member in enum:
                facts = ("min_size", "num_params", "recipe", "_metrics", "_ops", "_file_size")
                names = member.meta["categories"]
                found.append(
                    [
                        repr(member),
                        member.url,
                        {name: member.meta[name] for name in facts},
                        names[::50],
                    ]
                )
                found.append([len(names), hashlib.sha256("\n".join(names).encode()).hexdigest()])
        return found

    vision_oracle.check("facts about weights", program)


@ours
class TestOurNetworks:
    def test_sizes_of_images(self):
        m = torch.vision.models
        shapes = {"lenet5": (1, 32, 32), "resnet9": (3, 32, 32), "resnet_digits": (1, 32, 32)}
        for name, shape in shapes.items():
            model = getattr(m, name)(num_classes=3).eval()
            assert model(torch.zeros(2, *shape)).shape == (2, 3)
        assert m.resnet_digits()(torch.zeros(2, 1, 16, 16)).shape == (2, 10), (
            "the least that its documentation says"
        )

    @pytest.mark.parametrize(
        ("name", "parameters"),
        [
            ("lenet5", 61706),
            ("resnet9", 2447946),
            ("resnet_digits", 78010),
            ("resnet18", 11689512),
            ("resnet34", 21797672),
            ("resnet50", 25557032),
        ],
    )
    def test_as_many_parameters_as_the_documentation_says(self, name, parameters):
        m = torch.vision.models
        builder = getattr(m, name)
        assert sum(p.numel() for p in builder().parameters()) == parameters
        assert re.search(r"([\d,]+) parameters", builder.__doc__)[1] == f"{parameters:,}"
        enum = builder.weights_enum
        for member in enum or ():
            model = builder(num_classes=len(member.meta["categories"]))
            assert member.meta["num_params"] == sum(p.numel() for p in model.parameters())


@ours
class TestShippedWeights:
    def known(self, train):
        digits = torch.vision.datasets.Digits(train=train, size=32)
        chosen = digits.targets < 5
        return digits.data[chosen].unsqueeze(1).float() / 255, digits.targets[chosen]

    def test_the_accuracy_is_the_one_that_the_metadata_state(self):
        m = torch.vision.models
        model = m.resnet_digits(weights="DEFAULT")
        assert model.training and model.fc.out_features == 5
        images, labels = self.known(train=False)
        with torch.no_grad():
            right = int((model.eval()(images).argmax(1) == labels).sum())
        stated = m.ResNetDigits_Weights.DEFAULT.meta["_metrics"]["UCI digits 0 to 4, test"]["acc@1"]
        assert len(labels) == 180 and stated == round(100 * right / 180, 3) > 95

    def test_facts(self):
        member = torch.vision.models.ResNetDigits_Weights.ZERO_TO_FOUR_V1
        path = torch.vision.models._api.SHIPPED / member.url
        content = path.read_bytes()
        assert member.meta["sha256"] == hashlib.sha256(content).hexdigest()
        assert member.meta["_file_size"] == round(len(content) / 2**20, 3)
        assert member.meta["categories"] == ["0", "1", "2", "3", "4"]
        assert "CC BY 4.0" in member.meta["license"] and member.meta["source"].startswith(
            "https://doi.org/10.24432/C50P49"
        )
        assert member.meta["recipe"] == "tools/pretrain_digits.py"

    def test_the_preprocessing_is_that_of_the_training(self):
        """The digits at 32x32, and the same through the transforms from any image."""
        weights, Digits = (
            torch.vision.models.ResNetDigits_Weights.DEFAULT,
            torch.vision.datasets.Digits,
        )
        digits = Digits(train=False, size=32)
        first = next(i for i in range(len(digits)) if digits.targets[i] < 5)
        picture, _ = digits[first]
        made = weights.transforms()(picture)
        assert made.shape == (1, 32, 32) and torch.equal(made, self.known(train=False)[0][0])
        assert weights.transforms()(picture.convert("RGB").resize((50, 60))).shape == (1, 32, 32)

    def test_a_damaged_file_is_refused(self, tmp_path, monkeypatch):
        m = torch.vision.models
        member = m.ResNetDigits_Weights.DEFAULT
        content = bytearray((m._api.SHIPPED / member.url).read_bytes())
        content[-1] ^= 1
        (tmp_path / member.url).write_bytes(content)
        monkeypatch.setattr(m._api, "SHIPPED", tmp_path)
        for load in (
            lambda: m.resnet_digits(weights=member),
            lambda: member.get_state_dict(check_hash=True),
        ):
            with pytest.raises(
                RuntimeError,
                match=r'invalid hash value \(expected "[0-9a-f]{64}", got "[0-9a-f]{64}"\)',
            ):
                load()

    def test_the_number_of_classes_must_fit(self):
        with pytest.raises(
            ValueError, match="The parameter 'num_classes' expected value 5 but got 10 instead"
        ):
            torch.vision.models.resnet_digits(weights="DEFAULT", num_classes=10)
