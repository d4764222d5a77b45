"""Change the repository's address in all files: `python tools/address.py OWNER/NAME`.

pyproject.toml defines the current address; badges, the citation file, Binder and the documentation repeat it.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def forms(repository: str) -> list[str]:
    """Return the forms of OWNER/NAME in files: the addresses of GitHub and its pages."""
    owner, name = repository.split("/")
    hosts = (
        "github.com",
        "githubusercontent.com",
        "github",
        "gh",
    )  # the last two are the addresses of Colab and Binder
    return [f"{owner}.github.io/{name}", *(f"{host}/{repository}" for host in hosts)]


def current_address() -> tuple[str, str]:
    """Return the repository's address and the branch from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["project"]["urls"]["Repository"], project["tool"]["autolab"]["branch"]


def colab(lesson: str) -> str:
    """Return the address that opens a lesson, such as "01_graphs", in Google Colab."""
    repository, branch = current_address()
    return f"{repository.replace('https://github.com', 'https://colab.research.google.com/github')}/blob/{branch}/course/{lesson}.ipynb"


def main() -> int:
    before = current_address()[0].removeprefix("https://github.com/")
    if len(sys.argv) != 2 or sys.argv[1].count("/") != 1:
        print(f"usage: python tools/address.py OWNER/NAME     (now: {before})", file=sys.stderr)
        return 2
    for name in subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0"):
        path = ROOT / name
        if (
            not name
            or path.suffix in (".png", ".pth", ".npz", ".safetensors")
            or not path.is_file()
        ):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new = text
        for old, wanted in zip(forms(before), forms(sys.argv[1])):
            new = new.replace(old, wanted)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
