"""The questions of a lesson for Moodle (GIFT) and for Canvas (QTI)."""

import io
import re
import zipfile
from xml.etree import ElementTree as xml

import pytest

from autolab import cli
from autolab.classroom import question_bank
from autolab.classroom.question_bank import Item

CHOICE = Item("my.q1", "What is {x} = 2: `a`?", "~6", ("3", "~6"), {"3": "No: that is x."})
NUMBER = Item("my.q2", "How many?", "78,010")
TEXT = Item("my.q3", "Which name?", "x.grad")


def test_gift_escapes_what_it_gives_a_meaning():
    text = question_bank.gift([CHOICE, NUMBER, TEXT], "my lesson")
    assert text.startswith("$CATEGORY: my lesson\n")
    assert r"::my.q1::[markdown]What is \{x\} \= 2\: `a`? {" in text
    assert "\n~3#No\\: that is x.\n=\\~6\n}" in text
    assert "\n#78010:78.01\n}" in text and "\n=x.grad\n}" in text


def test_qti_knows_the_right_answer_and_the_remarks():
    packed = zipfile.ZipFile(io.BytesIO(question_bank.qti([CHOICE, NUMBER], "my lesson")))
    manifest, questions = (
        xml.fromstring(packed.read(n)) for n in ("imsmanifest.xml", "questions.xml")
    )
    assert manifest.find(".//{*}file").get("href") == "questions.xml"
    choice, number = questions.findall(".//{*}item")
    assert [label.get("ident") for label in choice.findall(".//{*}response_label")] == ["c0", "c1"]
    scored = [c for c in choice.findall(".//{*}respcondition") if c.find("{*}setvar") is not None]
    assert scored[0].find(".//{*}varequal").text == "c1"
    shown = choice.find(".//{*}itemfeedback")
    assert shown.get("ident") == "f0" and shown.find(".//{*}mattext").text == "No: that is x."
    assert number.find(".//{*}varequal").text == "78,010"


@pytest.mark.parametrize("name", ["01", "02", "03", "04"])
def test_every_lesson_has_a_bank_whose_answers_are_among_the_choices(name):
    known, unknown = question_bank.items(name)
    assert len(known) > 2 * len(unknown)
    assert all(one.key in one.choices for one in known if one.choices)
    text = question_bank.gift(known, name)
    assert len(re.findall(r"^::", text, re.M)) == len(known)
    assert len(re.findall(r"^(=|#)|\{\n#", text, re.M)) == len(known)


def test_the_command_writes_a_file_and_says_what_is_left_out(tmp_path, capsys):
    path = tmp_path / "q.zip"
    assert cli.main(["questions", "01", "--format", "qti", "-o", str(path)]) == 0
    assert zipfile.is_zipfile(path) and "questions into" in capsys.readouterr().out
    assert cli.main(["questions", "99"]) == 1
