"""docs/gallery.md keeps up with the widgets and their pictures."""

import re
from pathlib import Path

import anywidget

from autolab import widgets

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = (DOCS / "gallery.md").read_text()


def test_every_widget_has_a_row_and_a_section():
    kinds = {name: getattr(widgets, name) for name in widgets.__all__}
    found = [
        n
        for n, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, anywidget.AnyWidget)
    ]
    assert found == [
        "ConvExplorer", "DeviceExplorer", "DrawDigit", "Explorer", "FreezePanel", "LossLandscape", "Prediction", "ReceptiveField",
        "TrainingDashboard",
    ]  # fmt: skip
    for name in found:
        assert f"| [{name}](#{name.lower()}) |" in GALLERY and f"\n## {name}\n" in GALLERY


def test_the_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]{20,}\]\((images/[\w-]+\.png)\)", GALLERY)
    assert sorted(shown) == sorted(
        str(p.relative_to(DOCS)) for p in (DOCS / "images").glob("*.png")
    )
    assert all(10_000 < (DOCS / name).stat().st_size < 200_000 for name in shown)


def test_the_files_named_exist():
    root = DOCS.parent
    for name in re.findall(r"`((?:autolab|tests|docs)/[\w/.]+)`", GALLERY):
        assert (root / name).exists(), name


def test_the_readme_names_files_and_widgets_that_exist():
    readme = (DOCS.parent / "README.md").read_text()
    linked = re.findall(r"\]\(([^)#:]+)\)", readme) + re.findall(r"`(course/[\w/.]+)`", readme)
    assert len(linked) >= 10
    assert [name for name in linked if not (DOCS.parent / name).exists()] == []
    named = set(re.findall(r"`(\w+Explorer|\w+Panel|\w+Dashboard|\w+Field)`", readme))
    assert named == set(widgets.__all__) & named and len(named) >= 4
    lessons = sorted(p.name for p in (DOCS.parent / "course").glob("[0-9]*.ipynb"))
    assert [name for name in lessons if f"`course/{name}`" not in readme] == []
