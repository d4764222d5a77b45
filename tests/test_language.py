"""Every text that `translate` shows is listed in autolab/strings/en.json, and a translation is one file."""

import ast
import json
import re

import pytest

from autolab.language import STRINGS, translate
from autolab.widgets import Prediction

PACKAGE = STRINGS.parent


def texts():
    """Return the texts of all calls of `translate` in the package."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "translate":
                assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}"
                found.add(node.args[0].value)
    return found


def test_the_catalogue_lists_every_text_and_no_other():
    listed = json.loads((STRINGS / "en.json").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(texts())
    assert all(text == english for english, text in listed.items())


@pytest.mark.parametrize("path", sorted(STRINGS.glob("*.json")), ids=lambda path: path.stem)
def test_a_translation_keeps_the_places_of_values(path):
    for english, text in json.loads(path.read_text(encoding="utf-8")).items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", english))


def test_a_file_translates_a_question(tmp_path, monkeypatch):
    path = tmp_path / "de.json"
    path.write_text(json.dumps({"Predict": "Sag voraus", "It is: {outcome}": "Es ist: {outcome}"}))
    monkeypatch.setenv("AUTOLAB_LANGUAGE", str(path))
    guess = Prediction("x?", choices=["6", "12"])
    assert repr(guess).startswith("Sag voraus: x?") and "Run this cell" in guess._html()
    assert "Es ist: 12" in guess.reveal(12)._html()


def test_an_unknown_language_is_english(monkeypatch):
    monkeypatch.setenv("AUTOLAB_LANGUAGE", "none")
    assert translate("Predict") == "Predict"
