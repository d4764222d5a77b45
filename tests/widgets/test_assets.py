"""The widgets' scripts: bundles built by `frontend/`, complete, without any request at run time."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from autolab.viz import html, palette
from autolab.widgets import assets, heat

FRONTEND = Path(__file__).parents[2] / "frontend"
SOURCES = sorted(
    p for ending in ("js", "ts", "css") for p in (FRONTEND / "src").glob(f"*.{ending}")
)


BUNDLES = sorted(path.stem for path in assets.STATIC.glob("*.js"))


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_is_one_module_that_fetches_nothing(name):
    module = assets.module(name)
    assert len(re.findall(r"\bexport\s*\{", module)) == 1 and "as default" in module
    assert not re.search(r"(?<![.\w])import\s*[{\"']", module) and "@import" not in module
    assert not re.search(r"https?://(?!www\.w3\.org/)", module), "nothing is fetched"
    assert html.as_value(module).rstrip().endswith(";")


@pytest.mark.parametrize(("name", "most"), [("explorer", 182_000), ("practice", 192_000)])
def test_a_bundle_is_small(name, most):
    assert len((assets.STATIC / f"{name}.js").read_text()) < most


def test_the_bundles_are_what_the_sources_build():
    """Run `npm run check`; skipped if the tool chain of `frontend/` is not installed."""
    if shutil.which("node") is None:
        pytest.skip(
            "Node is not installed: the bundles are compared with their sources where it is"
        )
    if not (FRONTEND / "node_modules").exists():
        pytest.skip("run `npm ci` in frontend/ to compare the bundles with their sources")
    done = subprocess.run(
        ["node", "build.mjs", "--check"], cwd=FRONTEND, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_no_script_and_no_style_sheet_is_long(path):
    assert len(path.read_text().splitlines()) < 500


def test_a_missing_bundle_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"nothing\.js"):
        assets.module("nothing")


PACKAGE = assets.STATIC.parent.parent
PAINTED = [
    *SOURCES,
    *PACKAGE.glob("widgets/*.py"),
    *PACKAGE.glob("viz/*.py"),
]


@pytest.mark.parametrize("path", sorted(PAINTED), ids=lambda p: p.name)
def test_colours_stand_in_the_palette_only(path):
    written = re.findall(
        r"#(?:[0-9a-fA-F]{3}){1,2}\b|\brgba?\(|\bhsla?\(", path.read_text(encoding="utf-8")
    )
    assert bool(written) == (path == PACKAGE / "viz" / "palette.py"), written


def test_every_colour_of_the_palette_is_used_and_every_one_used_is_there():
    styles = "".join(p.read_text() for p in SOURCES if p.suffix == ".css")
    scripts = "".join(p.read_text() for p in SOURCES if p.suffix != ".css")
    named = set(re.findall(r"var\(--(?!jp-)([\w-]+)", styles))
    own = set(
        re.findall(r"--([\w-]+)[:`\"]", styles + scripts)
    )  # sizes and counts that a script or a style sheet sets
    in_scripts = {a or b for a, b in re.findall(r'PALETTE(?:\.(\w+)|\["([\w-]+)"\])', scripts)}
    assert in_scripts <= set(palette.FIXED)
    assert named | in_scripts == set(palette.FIXED) | set(palette.THEMES) | (own & named)
    assert not own & (set(palette.FIXED) | set(palette.THEMES)), "a colour has one place"


def test_the_colours_are_those_of_every_other_picture():
    light, dark = assets.module("explorer").split("[data-theme=", 1)
    for name, color in (
        ("forward", palette.FORWARD),
        ("backward", palette.BACKWARD),
        ("leaf", palette.LEAF),
    ):
        assert f"--{name}: {color};" in light and f"--{name}: {palette.THEMES[name][1]};" in dark, (
            name
        )
    assert (
        f"--saved: {palette.SAVED};" in light
        and f"--bg: var(--jp-layout-color1, {palette.PAPER});" in light
    )
    assert heat.color(-1, 1) == palette.NEGATIVE.lower() and heat.color(0, 1) == palette.PAPER
    assert (
        heat.color(1, 1) == palette.POSITIVE.lower()
        and heat.color("nan", 1) == palette.NOT_A_NUMBER
    )
