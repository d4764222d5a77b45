"""Dependencies point one way: engine <- autograd, nn, optim, utils, vision <- trace <- viz <- widgets <- lessons.

The namespace `autolab` itself re-exports the engine and loads the rest on first use; all but the engine may use it.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "autolab"
LAYERS = [
    {"engine"},
    {"autograd", "distributions", "functional", "nn", "optim", "utils", "vision", "finetune"}
    | {
        "cuda",
        "jupyterlite",
        "accelerator",
        "amp",
        "linalg",
        "random",
        "func",
        "testing",
        "backends",
        "profiler",
        "serialization",
        "hub",
        "installation",
        "language",
    },
    {"trace"},
    {"viz"},
    {"widgets", "progress"},
    {"lessons", "practice", "specimens", "lecture", "inventory", "classroom", "room"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
ENTRANCES = {
    "__init__",
    "__main__",
    "cli",
    "_version",
}  # the namespace and the command see everything


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, source: str) -> set[str]:
    """Return the absolute names of everything a file imports, anywhere in it; `from a import b`
    counts as `a.b`."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found = set()
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            found.update(".".join([*base, alias.name]) for alias in node.names)
    return found


def wrong_imports(path: Path, source: str) -> list[str]:
    """Return the imports that a file of the package must not have, as "file imports module" lines."""
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in ENTRANCES:
        return []
    wrong = []
    for name in sorted(imported_modules(path, source)):
        parts = name.split(".")
        if parts[0] != "autolab":
            continue
        target = parts[1] if len(parts) > 1 else "__init__"
        if target in RANK:
            allowed = RANK[target] <= RANK[room]
        else:  # the namespace itself, by any of its names: the engine's public face
            allowed = room != "engine" or target == "_version"
        if not allowed:
            wrong.append(f"{path.relative_to(PACKAGE.parent)} imports {name}")
    return wrong


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_place_in_the_order():
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in sources()}
    assert rooms - ENTRANCES <= set(RANK), "name the new room in LAYERS, and in ARCHITECTURE.md"


def test_imports_point_down():
    wrong = [
        line for path in sources() for line in wrong_imports(path, path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        (
            "engine/ops/x.py",
            "from ...trace import model",
            ["autolab/engine/ops/x.py imports autolab.trace.model"],
        ),
        (
            "engine/x.py",
            "def f():\n    import autolab.nn",
            ["autolab/engine/x.py imports autolab.nn"],
        ),
        ("engine/x.py", "from .. import tensor", ["autolab/engine/x.py imports autolab.tensor"]),
        ("nn/x.py", "from autolab.viz import dot", ["autolab/nn/x.py imports autolab.viz.dot"]),
        (
            "trace/__init__.py",
            "from ..widgets import x",
            ["autolab/trace/__init__.py imports autolab.widgets.x"],
        ),
        ("nn/x.py", "import autolab as torch\nfrom autolab import exp", []),
        (
            "widgets/x.py",
            "import autolab as torch\nfrom ..trace import model\nfrom .assets import read",
            [],
        ),
        ("engine/autograd/__init__.py", "from . import hooks\nfrom ..core import errors", []),
    ],
)
def test_the_check_sees_wrong_and_right_imports(file, source, expected):
    assert wrong_imports(PACKAGE / file, source) == expected


def test_the_engine_needs_only_numpy():
    foreign = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in sorted((PACKAGE / "engine").rglob("*.py"))
        for name in imported_modules(path, path.read_text(encoding="utf-8"))
        if name.split(".")[0]
        not in {"autolab", "numpy", "cupy", "cupyx", "__future__", *sys.stdlib_module_names}
    }
    assert not foreign


def test_test_files_have_names_of_their_own():
    """pytest imports them by name alone; those of the browser run apart."""
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py") if p.parent.name != "browser"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_every_file_says_what_it_is_for():
    """The first line of each file says what the file is for, because ARCHITECTURE.md describes
    folders only."""
    silent = [
        str(path.relative_to(PACKAGE))
        for path in sources()
        if path.read_text(encoding="utf-8").strip()
        and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent, f"these files have no docstring: {silent}"


# -- the engine's core -------------------------------------------------------------------------------------------------
CORE = PACKAGE / "engine" / "core"


def core_files() -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(CORE.glob("*.py"))}


def without_type_checking(tree: ast.Module) -> ast.Module:
    """Return a file's code without the parts under `if TYPE_CHECKING`, which only type checkers
    read."""

    class Runs(ast.NodeTransformer):
        def visit_If(self, node):
            self.generic_visit(node)
            return (
                node.orelse or ast.Pass()
                if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
                else node
            )

    return Runs().visit(tree)


def imported_by_core(source: str) -> set[str]:
    """Return what a file of the core imports, anywhere in it: neighbours by name, other modules in
    full."""
    found = set()
    for node in ast.walk(without_type_checking(ast.parse(source))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 1:
            found.update([node.module] if node.module else [alias.name for alias in node.names])
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def forbidden_in_core(source: str) -> set[str]:
    """Return imports of other rooms, and calls that compile text to code."""
    allowed = {"numpy", *sys.stdlib_module_names, *core_files()}
    wrong = {name for name in imported_by_core(source) if name.split(".")[0] not in allowed}
    called = {
        node.func.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return wrong | called & {"exec", "eval", "compile", "__import__"}


def reading_order() -> list[str]:
    """Return the files of the core in the order that its docstring gives."""
    listed = re.findall(r"^\d+\. (.*?): ", core_files()["__init__"].replace("\n   ", " "), re.M)
    return [name for line in listed for name in re.findall(r"`(\w+)\.py`", line)]


def later_imports(order: list[str], files: dict[str, str]) -> set[str]:
    """Return imports of a file that comes later in the order, because they could make a circle."""
    place = {name: i for i, name in enumerate(order)}
    return {
        f"{name} imports {other}"
        for name in order
        for other in imported_by_core(files[name]) & set(order)
        if place[other] >= place[name]
    }


def test_the_core_imports_nothing_above_it_and_compiles_nothing():
    assert {
        name: wrong for name, source in core_files().items() if (wrong := forbidden_in_core(source))
    } == {}


def test_the_reading_order_names_every_file_and_none_imports_a_later_one():
    order = reading_order()
    assert sorted(order) == sorted(set(core_files()) - {"__init__"}) and len(order) > 10
    assert later_imports(order, core_files()) == set()
