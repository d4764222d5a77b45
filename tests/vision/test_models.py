"""Networks: for the same seed the parameters, outputs and gradients of torchvision's and of the course's own
classes."""

import ast
import urllib.error
from pathlib import Path

import numpy as np
import pytest
import vision_oracle
from goldens.oracle import ENGINE, check, engine, error_of

torch = engine()
SEEDS = Path(__file__).parent.parent / "conformance" / "seeds"
ours = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own")


def course_class(name, t):
    """The class as the course defines it, with `t` for torch; in autolab, the one in vision.models."""
    if t.__name__ == "autolab":
        return getattr(t.vision.models, name)
    for path in sorted(SEEDS.glob("*.txt")):
        for cell in path.read_text().split("# %%"):
            code = cell.partition("\n")[2]
            if f"class {name}(" in code:
                parsed = ast.parse(code)
                parsed.body = [node for node in parsed.body if isinstance(node, ast.ClassDef)]
                namespace = {"torch": t, "nn": t.nn, "F": t.nn.functional, **_blocks(name, t)}
                exec(compile(parsed, str(path), "exec"), namespace)
                return namespace[name]
    raise LookupError(name)


def _blocks(name, t):
    return {"ResBlock": course_class("ResBlock", t)} if name == "ResNet9" else {}


def step(network, t, shape):
    """What a network tells of itself, one step of training, and an output in evaluation."""
    state = [
        (name, list(value.shape), value.double().sum())
        for name, value in network.state_dict().items()
    ]
    text, images = repr(network), t.rand(shape)
    outputs = network(images)
    loss = t.nn.functional.cross_entropy(outputs, t.arange(shape[0]) % 3)
    loss.backward()
    norms = [parameter.grad.double().norm() for parameter in network.parameters()]
    network.eval()
    with t.no_grad():
        return [state, text, outputs[:, :10], loss, norms, network(images)[:, :10], t.rand(1)]


@pytest.mark.parametrize(
    ("name", "shape"), [("LeNet", (4, 1, 28, 28)), ("ResNet9", (3, 3, 32, 32))]
)
def test_networks_of_the_course(name, shape):
    def program(t):
        t.manual_seed(3)
        return step(course_class(name, t)(), t, shape)

    check("test_models", name, program, rtol=1e-3)


NETWORKS = {
    "resnet18": lambda m: m.resnet18(num_classes=12),
    "bottleneck blocks": lambda m: m.ResNet(m.resnet.Bottleneck, [1, 2, 1, 1], num_classes=12),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_torchvision(name):
    def program(v, t):
        t.manual_seed(3)
        return step(NETWORKS[name](v.models), t, (3, 3, 48, 48))

    vision_oracle.check(name, program, rtol=1e-2)


def test_names_of_weights():
    def program(v, t):
        found = []
        for enum in (
            v.models.ResNet18_Weights,
            v.models.ResNet34_Weights,
            v.models.ResNet50_Weights,
        ):
            for member in (*enum, enum.DEFAULT):
                facts = [
                    repr(member),
                    str(member),
                    member.name,
                    member.url,
                    member.meta["num_params"],
                ]
                found.append([*facts, repr(member.transforms())])
            found.append(enum.verify("DEFAULT") is enum.DEFAULT)
        found.append(
            error_of(lambda: v.models.ResNet18_Weights.verify(v.models.ResNet34_Weights.DEFAULT))
        )
        found.append(error_of(lambda: v.models.ResNet18_Weights.verify("IMAGENET1K_V7")))
        wrong_classes = lambda: v.models.resnet18(
            weights=v.models.ResNet18_Weights.DEFAULT, num_classes=7
        )
        return [*found, error_of(wrong_classes)]

    vision_oracle.check("weights", program)


def test_preprocessing_of_pretrained_networks():
    def program(v, t):
        from PIL import Image

        pixels = np.random.RandomState(0).randint(0, 256, (30, 40, 3)).astype(np.uint8)
        image = Image.fromarray(np.kron(pixels, np.ones((10, 10, 1), np.uint8)))
        made = v.models.ResNet18_Weights.DEFAULT.transforms()(image)
        return [list(made.shape), made[:, ::40, ::40]]

    vision_oracle.check("preprocessing", program)


@ours
class TestWeights:
    @pytest.mark.filterwarnings("ignore:Arguments other than a weight enum")
    def test_pretrained_weights_are_downloaded_or_said_where_to_put(self, tmp_path, monkeypatch):
        def offline(*args, **kwargs):
            raise urllib.error.URLError("no network")

        monkeypatch.setattr("urllib.request.urlopen", offline)
        monkeypatch.setenv("TORCH_HOME", str(tmp_path))
        models = torch.vision.models
        url = "https://download.pytorch.org/models/resnet18-f37072fd.pth"
        place = tmp_path / "hub" / "checkpoints" / "resnet18-f37072fd.pth"
        for weights in (
            models.ResNet18_Weights.DEFAULT,
            "DEFAULT",
            "ResNet18_Weights.IMAGENET1K_V1",
        ):
            with pytest.raises(
                RuntimeError, match=f"Error downloading {url}: <urlopen error no network>"
            ) as caught:
                models.resnet18(weights=weights)
            assert (
                url in caught.value.__notes__[0]
                and f"put it at {place}" in caught.value.__notes__[0]
            )
        with pytest.warns(UserWarning, match="The parameter 'pretrained' is deprecated"):
            with pytest.raises(RuntimeError, match="Error downloading"):
                models.resnet18(pretrained=True)

    def test_weights_from_a_file(self, tmp_path):
        torch.manual_seed(0)
        saved = torch.vision.models.resnet18(num_classes=4)
        path = tmp_path / "mine.pth"
        torch.save(saved.state_dict(), path)
        torch.manual_seed(1)
        for given in (path, str(path)):
            loaded = torch.vision.models.resnet18(weights=given)
            assert loaded.fc.out_features == 4
            for name, value in saved.state_dict().items():
                assert np.array_equal(loaded.state_dict()[name].numpy(), value.numpy()), name
        with pytest.raises(RuntimeError, match="size mismatch for fc.weight"):
            torch.vision.models.resnet18(weights=path, num_classes=5)
        with pytest.raises(RuntimeError, match="Missing key"):
            torch.vision.models.resnet34(weights=path)
