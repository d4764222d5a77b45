"""Every public name has a docstring, and the examples in docstrings print what they say, here and
in PyTorch."""

import doctest
import importlib
import inspect
import re
import types

import pytest

import autolab

try:
    import torch
except ImportError:
    torch = None

OURS = {"Tensor.cuda", "blame", "compare", "explain", "explore", "record", "record_devices"}
"""Names whose examples use things that PyTorch lacks, or has only with a GPU."""

OUR_ROOMS = (
    "finetune",
    "inventory",
    "lessons",
    "practice",
    "progress",
    "room",
    "specimens",
    "trace",
    "viz",
    "vision",
    "widgets",
)

PUBLIC = """
accelerator autograd autograd.function autograd.functional autograd.grad_mode autograd.graph autograd.profiler
backends cuda finetune func hub inventory lessons linalg nn nn.functional nn.init nn.modules nn.parameter nn.utils nn.utils.rnn optim
optim.lr_scheduler practice profiler progress random room serialization specimens testing trace utils utils.checkpoint
utils.data utils.hooks vision vision.datasets vision.models vision.transforms vision.transforms.functional vision.utils viz widgets
"""
"""The modules that users may import from; all others are internal."""


def public_modules():
    return [autolab, *(importlib.import_module(f"autolab.{name}") for name in PUBLIC.split())]


def public_names(module):
    """Yield the public names of a module: functions, classes and modules of autolab."""
    for name in module.__all__:
        value = getattr(module, name)
        home = (
            value.__name__
            if isinstance(value, types.ModuleType)
            else getattr(value, "__module__", None) or ""
        )
        if (callable(value) or isinstance(value, types.ModuleType)) and home.startswith(
            ("autolab", "torch")
        ):
            yield name, value


def members(cls):
    """Yield the public methods and properties of a class of autolab and of its bases."""
    for base in cls.__mro__:
        if base.__module__.startswith(("autolab", "torch")):
            for name, value in vars(base).items():
                if not name.startswith("_") and (
                    callable(value) or isinstance(value, (property, classmethod, staticmethod))
                ):
                    yield name


def documented():
    """Yield (name, docstring) for everything public: modules, their names, and the members of their
    classes."""
    for module in public_modules():
        room = module.__name__.removeprefix("autolab").removeprefix(".")
        yield room or "autolab", module.__doc__
        for name, value in public_names(module):
            full = f"{room}.{name}".removeprefix(".")
            yield (
                full,
                vars(value).get("__doc__") if isinstance(value, type) else inspect.getdoc(value),
            )
            if isinstance(value, type):
                yield from (
                    (f"{full}.{member}", inspect.getdoc(getattr(value, member)))
                    for member in members(value)
                )


def is_own(module):
    """Whether a home is this module, or of a package that only names what its files define, one of those files."""
    public = {m.__name__ for m in public_modules()}
    defines = re.search(r"^(def|class) [a-z]", inspect.getsource(module), re.M)
    return lambda home: (
        home == module.__name__
        or (not defines and home.startswith(f"{module.__name__}.") and home not in public)
    )


@pytest.mark.parametrize("module", public_modules(), ids=lambda m: m.__name__)
def test_all_names_what_is_public(module):
    """`__all__` lists existing names only, and a module's function or class that it does not list
    begins with an underscore."""
    names = module.__all__
    assert (
        len(set(names)) == len(names)
        and [name for name in names if name.startswith("_") or not hasattr(module, name)] == []
    )
    here = is_own(module)
    own = {
        name
        for name, value in vars(module).items()
        if callable(value) and here(getattr(value, "__module__", None) or "")
    }
    assert sorted(name for name in own - set(names) if not name.startswith("_")) == []


def test_every_public_name_has_a_docstring():
    assert [name for name, words in documented() if not words] == []


def test_records_tell_their_formulas_and_gradients():
    """A function that was registered without words of its own has those of its record; in place is said."""
    assert autolab.sin.__doc__.split("\n\n")[1] == (
        r"In LaTeX: ``\sin input``. Of the result's gradient g, `input` gets ``g \cdot \cos input``."
    )
    assert autolab.Tensor.sin_.__doc__.startswith("In place: Return the sine (of radians).")
    words = [
        f.__doc__
        for f in vars(autolab.Tensor).values()
        if "torch.ops.aten." in (getattr(f, "__doc__", None) or "")
    ]
    assert words
    if torch is not None:
        for text in words:
            name = text.partition("torch.ops.aten.")[2].partition(".")[0]
            assert hasattr(torch.ops.aten, name), name


LEARNED = """
add sub mul div neg pow square exp log sqrt sin cos tan abs sign floor ceil round clamp maximum minimum where eq gt lt allclose equal
tensor as_tensor from_numpy zeros ones full empty eye zeros_like ones_like arange linspace manual_seed rand randn randint randperm
matmul mm bmm dot einsum outer sum mean prod var std norm max min argmax argmin all any cumsum sort topk logsumexp
reshape permute transpose flatten squeeze unsqueeze cat stack split chunk unbind flip gather index_select tril
relu sigmoid tanh softmax log_softmax is_tensor no_grad enable_grad set_grad_enabled is_grad_enabled inference_mode
Generator device Size Tensor get_default_dtype detach clone numel
Tensor.view Tensor.expand Tensor.repeat Tensor.backward Tensor.grad Tensor.grad_fn Tensor.is_leaf Tensor.requires_grad
Tensor.requires_grad_ Tensor.retain_grad Tensor.register_hook Tensor.detach Tensor.clone Tensor.item Tensor.tolist Tensor.numpy
Tensor.to Tensor.cpu Tensor.cuda Tensor.float Tensor.long Tensor.size Tensor.shape Tensor.ndim Tensor.device Tensor.T Tensor.zero_
Tensor.fill_ Tensor.add_ Tensor.copy_ Tensor.contiguous Tensor.sum Tensor.reshape Tensor.matmul
nn.Module nn.Parameter nn.Linear nn.Conv2d nn.ReLU nn.Sigmoid nn.Tanh nn.Softmax nn.Dropout nn.BatchNorm2d nn.LayerNorm nn.MaxPool2d
nn.Flatten nn.Embedding nn.Sequential nn.ModuleList nn.MSELoss nn.CrossEntropyLoss nn.BCEWithLogitsLoss nn.utils.clip_grad_norm_
nn.functional.relu nn.functional.sigmoid nn.functional.softmax nn.functional.log_softmax nn.functional.cross_entropy
nn.functional.mse_loss nn.functional.one_hot nn.functional.dropout
autograd.grad autograd.Function autograd.gradcheck autograd.functional.jacobian func.grad func.vmap
optim.SGD optim.Adam optim.AdamW optim.lr_scheduler.StepLR optim.lr_scheduler.LambdaLR optim.lr_scheduler.CosineAnnealingLR
optim.lr_scheduler.ReduceLROnPlateau utils.data.Dataset utils.data.TensorDataset utils.data.DataLoader utils.data.random_split
save load vision.utils.make_grid explore record record_devices explain trace.trace viz.make_dot viz.draw
"""
"""What learners meet first; each of these has an example that runs."""


def find(name):
    value = autolab
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_what_a_learner_meets_first_has_an_example():
    assert len(set(LEARNED.split())) >= 150
    assert [
        name for name in LEARNED.split() if ">>> " not in (inspect.getdoc(find(name)) or "")
    ] == []


NOT_PYTORCHS = {"autograd.graph.Node.backward_raw", "autograd.graph.Node.backward_traced"}
"""What the plain engine's nodes have and PyTorch's do not; tests/engine/test_core.py runs its example."""


def sessions():
    """Yield (name, docstring) of every example, once."""
    found = {}
    for name, words in documented():
        if words and ">>> " in words and name not in NOT_PYTORCHS:
            found.setdefault(words[words.index(">>> ") :], (name, words))
    return [pytest.param(name, words, id=name) for name, words in found.values()]


def names_for(library):
    """Return the names that the examples may use without importing them."""
    return {"torch": library, "nn": library.nn, "F": library.nn.functional}


def run(words, library):
    """Run an example; fail with what it printed."""
    test = doctest.DocTestParser().get_doctest(
        inspect.cleandoc(words), names_for(library), "example", None, 0
    )
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name, words", sessions())
def test_examples_print_what_they_say(name, words):
    run(words, autolab)


@pytest.mark.skipif(torch is None, reason="compares with PyTorch")
@pytest.mark.parametrize(
    "name, words", [p for p in sessions() if p.id not in OURS and not p.id.startswith(OUR_ROOMS)]
)
def test_examples_print_the_same_in_pytorch(name, words):
    run(words, torch)
