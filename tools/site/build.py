"""Build the site of the course, the guides and the reference. `make site` does it, or, with the
packages of site.txt and the kit installed:

    python tools/site/build.py build/site

The pages need neither a server nor a network, so the folder can be opened from a disk or served by
any web server.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import api  # noqa: E402
import lessons  # noqa: E402
import run_it  # noqa: E402
import start  # noqa: E402

from autolab.viz import palette  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "urls"
]["Repository"]
GROUPS = {
    "Learn": [
        "docs/installing",
        "docs/gallery",
        "docs/practice",
        "docs/explorer",
        "docs/own_engine",
        "docs/progress",
        "docs/where_it_runs",
    ],
    "Teach": [
        "docs/teaching",
        "docs/authoring",
        "docs/grading",
        "docs/lectures",
        "docs/room",
    ],
    "From PyTorch": [
        "docs/pytorch",
        "docs/differences",
        "docs/checkpoints",
        "docs/finetuning",
        "docs/dev/viewers",
    ],
    "Contribute": [
        "CONTRIBUTING",
        "docs/project",
        "ARCHITECTURE",
        "docs/engine_tour",
        "docs/dev/contracts",
        "docs/dev/speed",
        "docs/dev/publishing",
        "CHANGELOG",
    ],
}
"""The guides; what is in docs/ and not named here comes last among those of the first group."""


def sources(folder: Path) -> None:
    """Write Sphinx's sources: the repository's own Markdown, lessons, the reference, and what names them all."""
    shutil.rmtree(folder, ignore_errors=True)
    written = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "course").glob("*.md"),
        *(ROOT / "course" / "plans").glob("*.md"),
    ]
    course = ROOT / "course"
    notebooks = [*sorted(course.glob("[0-9]*.ipynb")), *sorted(course.glob("more/[0-9]*.ipynb"))]
    pages = {path.relative_to(ROOT).with_suffix(".md") for path in [*written, *notebooks]}
    for path in written:
        name = path.relative_to(ROOT)
        target = folder / ("index.md" if name.name == "README.md" else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = start.page() if name.name == "README.md" else path.read_text(encoding="utf-8")
        if name.parts[0] == "docs":
            text = run_it.with_links(text, "../" * (len(name.parts) - 1) + "playground/index.html")
        target.write_text(links(text, path, pages), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", folder / "docs" / "images")
    for notebook in notebooks:
        target = folder / notebook.relative_to(ROOT).with_suffix(".md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(links(lessons.page(notebook), notebook, pages), encoding="utf-8")
    api.write(folder / "api")
    _contents(folder, [n.relative_to(ROOT).with_suffix("").as_posix() for n in notebooks])
    (folder / "_static").mkdir()
    colours = palette.page_css().replace("[theme=", "[data-theme=")
    (folder / "_static" / "site.css").write_text(
        colours + (HERE / "site.css").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for name, place in (("site.js", "_static"), ("favicon.svg", "_static"), ("conf.py", ".")):
        shutil.copy(HERE / name, folder / place / name)


def links(text: str, path: Path, pages: set[Path]) -> str:
    """Links to notebooks lead to their pages, links to files that are no pages to the repository."""

    def one(match: re.Match[str]) -> str:
        target = (path.parent / match[1]).resolve()
        if not match[1] or not target.exists() or not target.is_relative_to(ROOT):
            return match[0]
        name = target.relative_to(ROOT)
        if name == Path("README.md"):
            return f"](/index.md{match[2] or ''})"
        if (
            target.suffix == ".ipynb" and match[2]
        ):  # JupyterLab keeps what a heading's address leaves out
            place = re.sub(r"[^-\w]", "", match[2].lower())
            return f"](/{name.with_suffix('.md').as_posix()}#{place})"
        if name.with_suffix(".md") in pages:
            return f"](/{name.with_suffix('.md').as_posix()}{match[2] or ''})"
        if name.parts[:2] == ("docs", "images"):
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{name.as_posix()}{match[2] or ''})"

    return re.sub(r"\]\((?!https?:|#|mailto:|data:)([^)#\s]+)(#[^)\s]*)?\)", one, text)


def _contents(folder: Path, course: list[str]) -> None:
    """A page for each group, in the bar above, and the tree of contents."""
    named = {page for group in GROUPS.values() for page in group}
    others = sorted(
        f"docs/{path.stem}"
        for path in (folder / "docs").glob("*.md")
        if f"docs/{path.stem}" not in named
    )
    plans = sorted(
        f"course/plans/{path.stem}" for path in (folder / "course" / "plans").glob("*.md")
    )
    groups = {"Course": [*course, "course/glossary"], **GROUPS}
    groups["Learn"], groups["Teach"] = GROUPS["Learn"] + others, GROUPS["Teach"] + plans
    for title, pages in groups.items():
        there = [f"/{page}" for page in pages if (folder / f"{page}.md").exists()]
        rows = "\n".join(f"- [](<{page}.md>)" for page in there)
        text = f"# {title}\n\n{rows}\n\n```{{toctree}}\n:hidden:\n\n" + "\n".join(there) + "\n```\n"
        (folder / f"{_slug(title)}.md").write_text(text, encoding="utf-8")
    tree = "\n".join([*map(_slug, groups), "api/index"])
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.write(f"\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")


def main() -> int:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    source = ROOT / "build" / "site-source"
    sources(source)
    shutil.rmtree(output, ignore_errors=True)
    options = ["-q", "-W", "--keep-going", "-j", "2", "-d", str(ROOT / "build" / "site-trees")]
    done = subprocess.run([sys.executable, "-m", "sphinx", *options, str(source), str(output)])
    if not done.returncode:
        size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
        print(
            f"wrote {output}: {sum(1 for _ in output.rglob('*.html'))} pages, {size / 1e6:.0f} MB"
        )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
