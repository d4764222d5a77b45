"""The name that is the kit's alone: the command `autolab-kit`, and what to do about PyPI's other `autolab`.

The distribution `autolab-kit` has the package `autolab` and the command of that name. So has another project on PyPI,
`autolab`, for driving laboratory instruments. Installed into one environment they share `autolab/__init__.py`: the one
that came later has it, and uninstalling either takes it away. This module is no part of that package, so that it can
tell whatever was overwritten.
"""

from __future__ import annotations

import sys
from pathlib import Path

MEND = f"""Install the kit again, without the other one:
    {sys.executable} -m pip uninstall -y autolab
    {sys.executable} -m pip install --force-reinstall --no-deps autolab-kit"""

BESIDE = "PyPI's `autolab`, another project of that name, is installed in the same place: uninstalling it takes a part of the kit away."


def namesake() -> str:
    """The version of PyPI's other `autolab` that is installed here; "" where it is not."""
    from importlib import metadata  # `import autolab` loads this module: what it seldom needs waits

    try:
        return metadata.version("autolab")
    except metadata.PackageNotFoundError:
        return ""


def problem() -> str:
    """Why `import autolab` does not find the kit, and what to type; "" where it does.

    Example:

        >>> problem()
        ''
    """
    from importlib.util import find_spec

    spec = find_spec("autolab")
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if (
        origin is not None
        and (origin.parent / "engine" / "core").is_dir()
        and "automatic differentiation" in _begin(origin)
    ):
        return ""
    if namesake():
        return f"PyPI's `autolab` {namesake()}, another project of that name, lies where the kit was. {MEND}"
    if origin is None:
        return f"A part of the kit is missing: the package `autolab` has no __init__.py. {MEND}"
    return f"`import autolab` finds {origin}, which is not the kit. Rename that file or folder, or work in another folder."


def _begin(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return ""


def warn_of_namesake(package: str) -> None:
    """Warn where the other project is installed into the folder that holds the kit's `package` folder; called when it
    is imported first."""
    if any(Path(package).parent.glob("autolab-*.dist-info")):
        import warnings

        warnings.warn(f"{BESIDE} {MEND}", stacklevel=3)


def main() -> int:
    """The command `autolab-kit`: that of `autolab`, or what keeps it from running."""
    found = problem()
    if found:
        print(f"autolab-kit: {found}", file=sys.stderr)
        return 1
    from autolab.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
