"""docs/gallery.md keeps up with the widgets and their pictures."""

import re
from pathlib import Path

import anywidget

from autolab import widgets

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = (DOCS / "gallery.md").read_text()


def test_every_widget_has_a_row_and_a_section():
    kinds = {name: getattr(widgets, name) for name in widgets.__all__}
    found = [n for n, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, anywidget.AnyWidget)]
    assert found == ["ConvExplorer", "DeviceExplorer", "Explorer", "FreezePanel", "Prediction", "ReceptiveField", "TrainingDashboard"]
    for name in found:
        assert f"| [{name}](#{name.lower()}) |" in GALLERY and f"\n## {name}\n" in GALLERY


def test_the_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]{20,}\]\((images/[\w-]+\.png)\)", GALLERY)
    assert sorted(shown) == sorted(str(p.relative_to(DOCS)) for p in (DOCS / "images").glob("*.png"))
    assert all(10_000 < (DOCS / name).stat().st_size < 200_000 for name in shown)


def test_the_files_named_exist():
    root = DOCS.parent
    for name in re.findall(r"`((?:autolab|tests|docs)/[\w/.]+)`", GALLERY):
        assert (root / name).exists(), name
