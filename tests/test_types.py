"""The public API is typed: the package is `py.typed`."""

import importlib
import inspect

import pytest

TYPED = """
. accelerator autograd autograd.functional distributions autograd.graph autograd.profiler backends cuda finetune func hub lessons
lessons.lesson01 lessons.lesson02 lessons.lesson03 linalg nn nn.functional nn.init nn.modules nn.parameter nn.utils
nn.utils.rnn optim optim.lr_scheduler practice profiler progress random serialization testing utils utils.checkpoint utils.data
utils.hooks vision vision.datasets vision.models vision.transforms vision.transforms.functional vision.utils viz widgets
"""
"""The modules of which every public function, class and method has types throughout; "." is autolab itself."""

KIT = "finetune lessons practice progress vision.utils viz widgets"
"""The modules without a counterpart in PyTorch, or that say more than it: their functions name every argument."""

OPEN = {"Module.forward", "_SizedByInput.reset_parameters"}
"""What a subclass, or the layer that it is mixed into, defines as it likes."""


def is_ours(cls):
    """Whether it is a class of the package outside the engine, and none that is mixed into modules of its user's."""
    home = cls.__module__
    return (
        home.startswith(("autolab.", "torch."))
        and not home.startswith("autolab.engine")
        and not cls.__name__.endswith("Mixin")
    )


def functions(name):
    """(name, function) of what a module names, and of the methods that its classes define themselves or inherit from
    autolab."""
    module = importlib.import_module("autolab" if name == "." else f"autolab.{name}")
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value):
            for base in value.__mro__:
                if is_ours(base):
                    for method, f in vars(base).items():
                        f = getattr(f, "__func__", f)
                        if (
                            inspect.isfunction(f)
                            and (method == "__init__" or not method.startswith("_"))
                            and f"{base.__name__}.{method}" not in OPEN
                        ):
                            yield f"{base.__name__}.{method}", f
        elif inspect.isfunction(value):
            f = inspect.unwrap(value)
            if not f.__module__.startswith("autolab.engine"):
                yield public, f


def untyped(f):
    """Return the arguments without a type; 'return' stands for the result."""
    names = [
        p.name for p in inspect.signature(f).parameters.values() if p.name not in ("self", "cls")
    ]
    if f.__name__ != "__init__":
        names.append("return")
    return [name for name in names if name not in f.__annotations__]


@pytest.mark.parametrize("room", TYPED.split())
def test_public_functions_have_types(room):
    assert {name: missing for name, f in functions(room) if (missing := untyped(f))} == {}


@pytest.mark.parametrize("room", KIT.split())
def test_the_kit_hides_no_arguments(room):
    """Behind `**options`, neither help() nor an editor finds them. (A widget's own traits come by their names: of the
    explorer's there are many.)"""
    hidden = {
        name
        for name, f in functions(room)
        for parameter in inspect.signature(f).parameters.values()
        if parameter.kind is parameter.VAR_KEYWORD and not name.startswith("Module.")
    }
    assert hidden <= {"Explorer.__init__", "Practice.ask"}  # the latter refuses whatever comes
