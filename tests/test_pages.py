"""README, changelog and docs: short, and every path, link and heading that they name is there."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *DOCS,
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md")),
    *(ROOT / name for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "deploy/hub/README.md")),
    *sorted((ROOT / "course").rglob("*.md")),
]
ROOMS = "autolab|benchmarks|binder|course|deploy|docs|tests|tools|\\.github|\\.devcontainer"
PATTERN = re.compile(r"NN|/name\.|^course/(source/|nbgrader_config)")
"""Names that stand for others, and files in a folder of the reader's that a command makes."""


def words(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").split())


@cache
def anchors(path: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_front_page_and_the_docs_are_short():
    assert words(ROOT / "README.md") <= 600
    assert words(ROOT / "CHANGELOG.md") <= 800
    assert sum(map(words, DOCS)) <= 20_000


def test_the_first_things_that_a_reader_sees_are_the_two_commands():
    first = re.findall(r"^    (.*?)\s+#", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert first[:2] == ["make lab", "make test"]


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_link_leads_somewhere(file):
    text = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.S)
    for target, _, place in (
        link.partition("#") for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text)
    ):
        path = (file.parent / target).resolve() if target else file
        assert path.exists(), target
        if place and path.suffix == ".md":
            assert place in anchors(path), f"{target}#{place}"


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_path_that_is_named_exists(file):
    text = file.read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{ROOMS})/[\w./-]*)`", text)
    named += re.findall(rf"(?:python|sh) ((?:{ROOMS})/[\w./-]+\.(?:py|sh))", text)
    missing = [name for name in named if not (ROOT / name).exists() and not PATTERN.search(name)]
    assert missing == [], missing


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_target_of_make_that_is_named_exists(file):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    named = re.findall(r"(?:`|^    )make ([a-z][\w-]*)", file.read_text(encoding="utf-8"), re.M)
    assert [name for name in named if name not in targets] == []


def test_the_readmes_example_is_what_the_picture_shows():
    """docs/screenshots.py records the same program."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    loss = re.search(r"^loss = .*$", readme, re.M)[0]
    assert loss in (ROOT / "docs" / "screenshots.py").read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "images" / "backward.svg").read_text(encoding="utf-8")
    assert "@keyframes" in picture and "backward" in picture and len(picture) < 300_000


def test_messages_of_the_kit_name_pages_that_exist():
    found = {
        name
        for path in (ROOT / "autolab").rglob("*.py")
        for name in re.findall(r"docs/[\w/]+\.md", path.read_text(encoding="utf-8"))
        if "pytorch.org" not in name
    }
    assert len(found) > 5 and [name for name in found if not (ROOT / name).exists()] == []


def test_only_the_newest_results_of_each_benchmark_are_kept():
    kinds = [path.stem[11:] for path in (ROOT / "benchmarks" / "results").glob("*.md")]
    assert sorted(kinds) == sorted(set(kinds))
