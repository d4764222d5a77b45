"""The script that every explorer carries: joined from small files, complete, nothing fetched at run time."""

import re

import pytest

from autolab.viz import palette
from autolab.widgets import assets, heat

FILES = assets.files("explorer")


def test_every_file_stands_after_what_it_imports():
    seen = []
    for path in FILES:
        source = path.read_text()
        for other in re.findall(r'from "\./(\w+)\.js"', source):
            assert other in seen or f'from "./{path.stem}.js"' in (path.parent / f"{other}.js").read_text(), (
                f"{path.stem} uses {other} before it is there"
            )
        seen.append(path.stem)
    assert seen[-1] == "explorer" and len(seen) == len(set(seen)) == 14


def test_what_is_imported_is_exported_there():
    for path in FILES:
        for names, other in re.findall(r'import \{([^}]*)\} from "\./(\w+)\.js"', path.read_text()):
            exported = re.findall(
                r"^export (?:async )?(?:function|class|const) (\w+)",
                (path.parent / f"{other}.js").read_text(),
                re.MULTILINE,
            )
            assert {name.strip() for name in names.split(",")} <= set(exported), f"{path.stem} imports from {other}"


def test_top_level_names_are_used_once():
    names = [
        name
        for path in FILES
        for line in re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) ([\w, =]+)", path.read_text(), re.MULTILINE
        )
        for name in re.findall(r"^\w+", line)
    ]
    assert sorted(names) == sorted(set(names))


def test_one_module_without_imports_comments_or_addresses():
    module = assets.module("explorer")
    assert module.count("export ") == 1 and "export default {" in module
    assert not re.search(r"^\s*(import |//)", module, re.MULTILINE)
    assert not re.search(r"https?://(?!www\.w3\.org/)", module), "nothing is fetched"
    assert "@import" not in module
    assert len(module) < 115_000


@pytest.mark.parametrize("path", [p for f in ("*.js", "*.css") for p in assets.STATIC.glob(f)], ids=lambda p: p.name)
def test_no_file_is_long(path):
    assert len(path.read_text().splitlines()) < 500


def test_a_missing_part_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport default {};\n')
    monkeypatch.setattr(assets, "STATIC", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"b\.js"):
        assets.module.__wrapped__("a")


def test_the_colours_are_those_of_every_other_picture():
    css = (assets.STATIC / "explorer.css").read_text().lower()
    light = css[: css.index('[data-theme="dark"]')]
    for name, color in (
        ("forward", palette.FORWARD),
        ("backward", palette.BACKWARD),
        ("leaf", palette.LEAF),
        ("bad-line", palette.BAD),
        ("rule", palette.DATA),
        ("card", palette.PAPER),
    ):
        assert f"--{name}: {color.lower()};" in light, name
    assert palette.SAVED.lower() in css
    assert "#" + bytes(heat.NEGATIVE).hex() == palette.BLUE.lower()
    assert "#" + bytes(heat.POSITIVE).hex() == palette.VERMILLION.lower()
