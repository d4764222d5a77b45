"""The operations, grouped in files by topic. Importing this package registers every op."""

from importlib import import_module
from pathlib import Path

_HERE = Path(__file__).parent
for _file in [*sorted(_HERE.glob("*.py")), *sorted(_HERE.glob("further/*.py"))]:
    if _file.stem != "__init__":
        import_module(".".join((__name__, *_file.relative_to(_HERE).with_suffix("").parts)))
