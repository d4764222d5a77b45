"""docs/gallery.md lists all widgets and their pictures."""

import re
from pathlib import Path

import anywidget

from autolab import widgets

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = (DOCS / "gallery.md").read_text()


def test_every_widget_has_a_section_with_its_line_of_code():
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
        section = GALLERY.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"{name}(" in section or name == "Explorer" and "autolab.explore(" in section


def test_the_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]{20,}\]\((images/[\w-]+\.png)\)", GALLERY)
    assert sorted(shown) == sorted(
        str(p.relative_to(DOCS)) for p in (DOCS / "images").glob("*.png")
    )
    assert all(10_000 < (DOCS / name).stat().st_size < 200_000 for name in shown)


def test_a_picture_has_one_line():
    """One paragraph stands before each picture; the widget's docstring has the rest."""
    for section in GALLERY.split("\n## ")[1:]:
        paragraphs = [one for one in section.split("\n\n")[1:] if not one.startswith("![")]
        assert all(len(one.split()) < 45 for one in paragraphs), section[:40]
