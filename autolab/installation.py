"""The commands that work in this installation: how to run `autolab-kit`, and how to install a
package beside it.

A command from the documentation works only if it is on the PATH. `uvx` and `make lab` install it
elsewhere, and PyPI's `autolab` is another project, so the kit's messages take their commands from
this module.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

KIT = "autolab-kit"
UVX_FOLDERS = (
    "archive-v",
    "environments-v",
)  # environments that `uvx` made for one command, in uv's cache


def command(arguments: str = "") -> str:
    """Return a command line that runs the kit in this installation, such as `autolab-kit lab`.

    Example:

        >>> from autolab.installation import command
        >>> command("doctor").endswith(" doctor")
        True
    """
    return f"{_program()} {arguments}".rstrip()


def install(*packages: str) -> str:
    """Return a command line that installs packages where the kit is; `autolab-kit[lab]` is the kit with an extra."""
    wanted = " ".join(f'"{package}"' if "[" in package else package for package in packages)
    if sys.platform == "emscripten":
        return f"%pip install {wanted}"
    if from_uvx():
        extras = [package.partition("[")[2].rstrip("]") for package in packages if "[" in package]
        others = "".join(f"--with {package} " for package in packages if "[" not in package)
        return f"uvx {others}--from {_requirement('lab', *extras)} {KIT} lab"
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {quoted(sys.executable)} {wanted}"
    return f"{quoted(sys.executable)} -m pip install {wanted}"


def from_uvx() -> bool:
    """Return whether `uvx` made this environment: nothing can be installed into it, and it is not
    on the PATH later."""
    return any(part.startswith(UVX_FOLDERS) for part in Path(sys.prefix).resolve().parts)


def _program() -> str:
    """Return the program that runs the kit: its name if it is on the PATH, else its full path, else
    Python and the package."""
    if from_uvx():
        return f"uvx --from {_requirement('lab')} {KIT}"
    script = shutil.which(KIT, path=sysconfig.get_path("scripts"))
    if script is None:
        return f"{quoted(sys.executable or 'python')} -m autolab"
    found = shutil.which(KIT)
    return KIT if found and os.path.samefile(found, script) else quoted(script)


def _requirement(*extras: str) -> str:
    """Return the argument of `uvx --from` for this kit: its name, or the file or folder that it was
    installed from."""
    name = f"{KIT}[{','.join(dict.fromkeys(extras))}]"
    try:
        origin = json.loads(metadata.distribution(KIT).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        origin = {}
    return f'"{name} @ {origin["url"]}"' if "url" in origin else f'"{name}"'


def quoted(path: str) -> str:
    """Return a path as text that a shell reads as one word."""
    return shlex.quote(path) if os.name == "posix" else f'"{path}"' if " " in path else path
