"""A wheelhouse: a folder with everything that a room without internet needs to install the kit,
with instructions."""

from __future__ import annotations

import base64
import hashlib
import platform
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from .._version import __version__
from ..engine.core.errors import fail

KIT = "autolab-kit"
CLONE = Path(__file__).parents[2]
BY_PIP = {
    "INSTALLER",
    "REQUESTED",
    "RECORD",
    "direct_url.json",
    "uv_cache.json",
}  # written by the installer
MADE = "made on: "


def collect(folder: Path, say: Callable[[str], None] = print) -> str:
    """Collect the kit, JupyterLab and everything they need as wheels in a folder, and write a
    README.txt. Return sentences about the result. pip downloads what is missing.

    Raises OSError for a folder that cannot be written, and RuntimeError without pip or if pip
    fails.
    """
    folder = folder.expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        note = "Name a folder that you may write to, such as one on a USB stick."
        raise fail(OSError, f"folder {folder} cannot be made: {error.strerror}", note) from None
    say(f"collecting what {KIT} and JupyterLab need, some 100 MB, into {folder} …")
    kit = _kit(folder)
    _pip(
        "download",
        "--only-binary=:all:",
        "--find-links",
        str(folder),
        "--dest",
        str(folder),
        f"{kit}[lab,graphviz]",
    )
    said = folder / "README.txt"  # also files of an earlier run, perhaps on another machine
    before = said.read_text(encoding="utf-8").splitlines() if said.exists() else []
    made = dict.fromkeys([*(line for line in before if line.startswith(MADE)), MADE + _made_for()])
    said.write_text(_README.format(made="\n".join(made)), encoding="utf-8")
    wheels = sorted(folder.glob("*.whl"), key=lambda path: -path.stat().st_size)
    sizes = [path.stat().st_size / 1e6 for path in wheels]
    largest = ", ".join(
        f"{path.name.partition('-')[0]} {size:.0f}" for path, size in zip(wheels, sizes[:4])
    )
    return (
        f"{folder} has {len(wheels)} packages, those for {_made_for()} among them: {sum(sizes):.0f} MB "
        f"(the largest: {largest}).\nREADME.txt in it says how they are installed without the internet."
    )


def _made_for() -> str:
    return f"{platform.system()} {platform.machine()}, Python {sys.version_info[0]}.{sys.version_info[1]}"


def _kit(folder: Path) -> Path:
    """Return the kit's own wheel in the folder: built from a clone, or else packed from the
    installed files."""
    if not (CLONE / "pyproject.toml").exists():
        return repacked(KIT, folder)
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(CLONE))
    return folder / f"autolab_kit-{__version__}-py3-none-any.whl"


def _pip(*arguments: str) -> None:
    """Run this Python's pip without output; its last line becomes the error."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True)
    if "No module named pip" in done.stderr:
        uvx = f'uvx --with pip --from "{KIT}[lab]" autolab-kit wheelhouse FOLDER'
        note = f"Type `{sys.executable} -m ensurepip`, or with uv `{uvx}`."
        raise fail(RuntimeError, f"pip is not installed for {sys.executable}", note)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or [
            "it said nothing"
        ]
        note = "This machine needs the internet to collect packages; the room does not. What is there already stays."
        raise fail(RuntimeError, f"pip {arguments[0]} failed: {last[0]}", note)


def repacked(name: str, folder: Path) -> Path:
    """Return the wheel of an installed distribution, packed again from its files.

    Raises RuntimeError if it was not installed from a wheel.
    """
    found = metadata.distribution(name)
    tags = [
        line.partition(": ")[2]
        for line in (found.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag: ")
    ]
    files = found.files or []
    inside = next((file.parts[0] for file in files if file.parts[0].endswith(".dist-info")), "")
    if (
        not tags
        or not inside
        or found.read_text("direct_url.json")
        and '"editable": true' in str(found.read_text("direct_url.json"))
    ):
        note = "Install it from a wheel, or run the command in a clone."
        raise fail(
            RuntimeError,
            f"{name} was not installed from a wheel, so none can be packed of it",
            note,
        )
    stem = inside.removesuffix(".dist-info")
    wheel, record = folder / f"{stem}-{tags[0]}.whl", []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            parts = file.parts
            if "__pycache__" in parts or parts[0] == inside and parts[1] in BY_PIP:
                continue
            while parts[0] == "..":
                parts = parts[1:]
            if (
                parts != file.parts
            ):  # data outside the packages, such as share/jupyter; the installer makes the scripts
                if parts[0] in ("bin", "Scripts"):
                    continue
                parts = (f"{stem}.data", "data", *parts)
            data = Path(str(file.locate())).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            packed.writestr("/".join(parts), data)
            record.append(f"{'/'.join(parts)},sha256={digest},{len(data)}")
        packed.writestr(f"{inside}/RECORD", "\n".join([*record, f"{inside}/RECORD,,", ""]))
    return wheel


_README = """autolab-kit without the internet
================================

This folder has the kit, JupyterLab and all they need, for machines such as those it was
{made}
Others need files of their own: run `autolab-kit wheelhouse` on one of them, into the same folder.

Each learner needs Python of that version, and an environment (on Windows: py -m venv autolab-env, then
autolab-env\\Scripts\\activate):

    python3 -m venv autolab-env
    . autolab-env/bin/activate

1. From this folder, on a USB stick or copied. In the folder:

    python -m pip install --no-index --find-links . "autolab-kit[lab,graphviz]"

2. From the instructor's laptop. There, in this folder:

    python -m http.server 8000

   and each learner, with the laptop's address in the place of 192.168.1.5:

    python -m pip install --no-index --trusted-host 192.168.1.5 --find-links http://192.168.1.5:8000/ "autolab-kit[lab,graphviz]"

Then, in the environment and in a folder to work in:

    autolab-kit lab

`autolab-kit doctor` says what was found on a machine. Ctrl-C stops the server: as long as it runs, all in the network can
read this folder.
"""
