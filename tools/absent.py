"""Write `autolab/engine/absent.txt`: the public names of PyTorch 2.13 that autolab lacks, one module per line.

python tools/absent.py          needs PyTorch 2.13; torchvision's line and the advice for absent names are kept
"""

import importlib
import types
from pathlib import Path

import autolab

TABLE = Path(autolab.__file__).parent / "engine" / "absent.txt"
MODULES = (
    "torch nn nn.functional nn.init nn.utils optim optim.lr_scheduler "
    "linalg func autograd autograd.functional cuda utils.data distributions functional"
).split()


def public(module) -> set[str]:
    """Return the public names of a module: its own names and its submodules."""
    submodules, own = set(), set()
    for name, thing in vars(module).items():
        if isinstance(thing, types.ModuleType):
            submodules |= {name} if thing.__name__ == f"{module.__name__}.{name}" else set()
        elif callable(thing) and (getattr(thing, "__module__", "") or "torch").startswith("torch"):
            own.add(name)
    listed = {*getattr(module, "__all__", own), *submodules}
    return {name for name in listed if not name.startswith("_")}


def has(place, name: str) -> bool:
    try:
        getattr(place, name)
    except AttributeError:
        return False
    return True


def main() -> None:
    lines = [TABLE.read_text(encoding="utf-8").splitlines()[0]]
    for name in MODULES:
        full = "torch" if name == "torch" else f"torch.{name}"
        theirs = importlib.import_module(full)
        if name in ("nn.functional", "linalg"):  # their `__all__` lacks some functions
            vars(theirs).pop("__all__", None)
        ours = importlib.import_module(full.replace("torch", "autolab", 1))
        absent = sorted(n for n in public(theirs) if not has(ours, n))
        lines.append(f"{full}: {' '.join(absent)}")
    tensor = importlib.import_module("torch").Tensor
    absent = sorted(n for n in dir(tensor) if not n.startswith("_") and not has(autolab.Tensor, n))
    lines.append(f"torch.Tensor: {' '.join(absent)}")
    full_names = {
        f"{module.removesuffix('.Tensor')}.{name}"
        for module, _, names in (line.partition(": ") for line in lines[1:])
        for name in names.split()
    }
    lines += [
        line
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith(("torchvision", "= torchvision"))
        or (line.startswith("= ") and line[2:].partition(": ")[0] in full_names)
    ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
