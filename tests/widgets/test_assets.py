"""The script that every explorer carries: joined from small files, complete, nothing fetched at run time."""

import re

import pytest

from autolab.viz import palette
from autolab.widgets import assets, heat

FILES = assets.files("explorer")
DRAWING = assets.files("drawing")


@pytest.mark.parametrize(
    ("files", "count"), [(FILES, 41), (DRAWING, 10)], ids=["explorer", "drawing"]
)
def test_every_file_stands_after_what_it_imports(files, count):
    seen = []
    for path in files:
        source = path.read_text()
        for other in re.findall(r'from "\./(\w+)\.js"', source):
            assert (
                other in seen
                or f'from "./{path.stem}.js"' in (path.parent / f"{other}.js").read_text()
            ), f"{path.stem} uses {other} before it is there"
        seen.append(path.stem)
    assert seen[-1] == files[-1].stem and len(seen) == len(set(seen)) == count


def test_what_is_imported_is_exported_there():
    for path in [*FILES, *DRAWING]:
        for names, other in re.findall(r'import \{([^}]*)\} from "\./(\w+)\.js"', path.read_text()):
            exported = re.findall(
                r"^export (?:async )?(?:function|class|const) (\w+)",
                (path.parent / f"{other}.js").read_text(),
                re.MULTILINE,
            )
            assert {name.strip() for name in names.split(",")} <= set(exported), (
                f"{path.stem} imports from {other}"
            )


@pytest.mark.parametrize("files", [FILES, DRAWING], ids=["explorer", "drawing"])
def test_top_level_names_are_used_once(files):
    names = [
        name
        for path in files
        for line in re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) ([\w, =]+)",
            path.read_text(),
            re.MULTILINE,
        )
        for name in re.findall(r"^\w+", line)
    ]
    assert sorted(names) == sorted(set(names))


def test_one_module_without_imports_comments_or_addresses():
    module = assets.module("explorer")
    assert module.count("export ") == 1 and "export default entry(" in module
    assert not re.search(r"^\s*(import |//)", module, re.MULTILINE)
    assert not re.search(r"https?://(?!www\.w3\.org/)", module), "nothing is fetched"
    assert "@import" not in module
    assert len(module) < 260_000


@pytest.mark.parametrize(
    "path", [p for f in ("*.js", "*.css") for p in assets.STATIC.glob(f)], ids=lambda p: p.name
)
def test_no_script_and_no_style_sheet_is_long(path):
    assert len(path.read_text().splitlines()) < 500


def test_a_missing_part_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport default {};\n')
    monkeypatch.setattr(assets, "STATIC", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"b\.js"):
        assets.module.__wrapped__("a")


PACKAGE = assets.STATIC.parent.parent
PAINTED = [
    *assets.STATIC.glob("*.js"),
    *assets.STATIC.glob("*.css"),
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
    styles = "".join(path.read_text() for path in assets.STATIC.glob("*.css"))
    scripts = "".join(path.read_text() for path in assets.STATIC.glob("*.js"))
    named = set(re.findall(r"var\(--(?!jp-)([\w-]+)", styles))
    own = set(
        re.findall(r"--([\w-]+)[:`\"]", styles + scripts)
    )  # sizes and counts that a script or a sheet sets
    in_scripts = {a or b for a, b in re.findall(r'PALETTE(?:\.(\w+)|\["([\w-]+)"\])', scripts)}
    assert in_scripts <= set(palette.FIXED) | set(palette.DRAWN)
    assert named | in_scripts == set(palette.FIXED) | set(palette.DRAWN) | set(palette.THEMES) | (
        own & named
    )
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
    assert heat.color(-1, 1) == palette.BLUE.lower() and heat.color(0, 1) == palette.PAPER
    assert (
        heat.color(1, 1) == palette.VERMILLION.lower()
        and heat.color("nan", 1) == palette.NOT_A_NUMBER
    )


def test_each_script_imports_what_it_calls_and_nothing_else():
    """In a bundle all names are there; on its own, and for whoever reads it, a script has only what it imports."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in assets.STATIC.glob("*.js")}
    exported = {
        name: file
        for file, text in sources.items()
        for name in re.findall(r"^export (?:async )?(?:function\*?|const|class) (\w+)", text, re.M)
    }
    assert {"grouped", "timelineOf", "goTo"} <= exported.keys()
    missing, unused = [], []
    for file, text in sources.items():
        imported = set(re.findall(r"\w+", " ".join(re.findall(r"^import \{([^}]*)\}", text, re.M))))
        body = re.sub(r"^import .*$|//.*", "", text, flags=re.M)
        for name in exported.keys() - imported:
            called = rf"""(?<![\w.$"'`-])(?:{name}(?=\()|new {name}\b)"""
            here = rf"(?:function\*?|const|let|class|,) {name}\b|\b{name}\(.*\) \{{|[({{,] ?{name}[,)}}=]"
            if exported[name] != file and re.search(called, body) and not re.search(here, body):
                missing.append((file, name))
        unused += [(file, name) for name in imported if not re.search(rf"\b{name}\b", body)]
    assert (missing, unused) == ([], [])
