"""The predictions of a lesson as a question bank: GIFT for Moodle, QTI 1.2 for Canvas and other platforms."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass, field
from xml.etree import ElementTree as xml

from ..engine.core.errors import fail
from ..lessons.book import lesson
from ..room.questions import course, declared
from ..widgets.predict import numbers

FORMATS = ("gift", "qti")


@dataclass(frozen=True)
class Item:
    """A question with its right answer. choices: empty if the answer is typed in. because: remarks on wrong answers."""

    id: str
    ask: str
    key: str
    choices: tuple[str, ...] = ()
    because: dict[str, str] = field(default_factory=dict)


def items(name: str) -> tuple[list[Item], list[str]]:
    """Return the questions of a lesson whose answer is known, and the ids of the others (it depends on a run).

    name: a lesson such as "01", or one that was registered. Raises KeyError for an unknown lesson.
    """
    found = lesson(name)
    told = course() if name.isdigit() else {}
    stored = getattr(found, "notebook", None)
    told = told or (declared(stored) if stored else {})
    known, unknown = [], []
    for id, one in found.QUESTIONS.items():
        key = one.key if isinstance(one.key, str) else told[id].key if id in told else ""
        if key and (not one.choices or key in one.choices):
            known.append(Item(id, one.ask, key, tuple(one.choices), dict(one.because)))
        else:
            unknown.append(id)
    return known, unknown


def export(several: list[Item], kind: str, title: str) -> bytes:
    """Return a file for a learning platform. kind: "gift" (text) or "qti" (a ZIP file).

    Raises ValueError for another kind.
    """
    if kind == "gift":
        return gift(several, title).encode()
    if kind == "qti":
        return qti(several, title)
    raise fail(ValueError, f"format should be one of {', '.join(FORMATS)}, but is {kind!r}")


def gift(several: list[Item], title: str) -> str:
    """Return the questions in Moodle's GIFT format."""
    lines = [f"$CATEGORY: {title}", ""]
    for one in several:
        head = f"::{_gift(one.id)}::[markdown]{_gift(one.ask)} {{"
        if not one.choices:
            number = _number(one.key)
            right = [f"#{number:.12g}:{abs(number) * 1e-3:g}"] if number is not None else []
            lines += [head, *(right or [f"={_gift(one.key)}"]), "}", ""]
            continue
        for choice in one.choices:
            remark = f"#{_gift(one.because[choice])}" if choice in one.because else ""
            lines_of = "=" if choice == one.key else "~"
            head += f"\n{lines_of}{_gift(choice)}{remark}"
        lines += [head, "}", ""]
    return "\n".join(lines)


def _gift(text: str) -> str:
    """Escape the characters that GIFT gives a meaning."""
    return re.sub(r"([~=#{}:\\])", r"\\\1", text).replace("\n", "\\n")


def _number(text: str) -> float | None:
    try:
        found = numbers(text)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    return float(found) if found is not None and not found.ndim else None


def qti(several: list[Item], title: str) -> bytes:
    """Return a QTI 1.2 package: a ZIP file of a manifest and one assessment."""
    root = xml.Element("questestinterop", xmlns="http://www.imsglobal.org/xsd/ims_qtiasiv1p2")
    assessment = xml.SubElement(root, "assessment", ident="autolab", title=title)
    section = xml.SubElement(assessment, "section", ident="root_section")
    for one in several:
        _item(section, one)
    manifest = xml.Element(
        "manifest",
        identifier="autolab",
        xmlns="http://www.imsglobal.org/xsd/imscp_v1p1",
    )
    xml.SubElement(manifest, "organizations")
    resources = xml.SubElement(manifest, "resources")
    resource = xml.SubElement(
        resources,
        "resource",
        identifier="questions",
        type="imsqti_xmlv1p2",
        href="questions.xml",
    )
    xml.SubElement(resource, "file", href="questions.xml")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, tree in (("imsmanifest.xml", manifest), ("questions.xml", root)):
            archive.writestr(name, xml.tostring(tree, encoding="utf-8", xml_declaration=True))
    return packed.getvalue()


def _item(section: xml.Element, one: Item) -> None:
    """Add a question: choices are a `render_choice`, a typed answer is a `render_fib`."""
    item = xml.SubElement(section, "item", ident=one.id, title=one.id)
    kind = "multiple_choice_question" if one.choices else "short_answer_question"
    fields = xml.SubElement(xml.SubElement(item, "itemmetadata"), "qtimetadata")
    for label, entry in (("question_type", kind), ("points_possible", "1")):
        pair = xml.SubElement(fields, "qtimetadatafield")
        xml.SubElement(pair, "fieldlabel").text = label
        xml.SubElement(pair, "fieldentry").text = entry
    presentation = xml.SubElement(item, "presentation")
    _text(presentation, one.ask)
    processing = xml.SubElement(item, "resprocessing")
    outcomes = xml.SubElement(processing, "outcomes")
    xml.SubElement(outcomes, "decvar", maxvalue="100", minvalue="0", varname="SCORE")
    if one.choices:
        response = xml.SubElement(
            presentation, "response_lid", ident="answer", rcardinality="Single"
        )
        offered = xml.SubElement(response, "render_choice")
        for n, choice in enumerate(one.choices):
            _text(xml.SubElement(offered, "response_label", ident=f"c{n}"), choice)
        right = f"c{one.choices.index(one.key)}"
    else:
        response = xml.SubElement(
            presentation, "response_str", ident="answer", rcardinality="Single"
        )
        xml.SubElement(response, "render_fib")
        right = one.key
    for n, choice in enumerate(one.choices):
        if choice in one.because:
            condition = _condition(processing, f"c{n}", "Yes")
            xml.SubElement(condition, "displayfeedback", feedbacktype="Response", linkrefid=f"f{n}")
    condition = _condition(processing, right, "No")
    xml.SubElement(condition, "setvar", action="Set", varname="SCORE").text = "100"
    for n, choice in enumerate(one.choices):
        if choice in one.because:
            shown = xml.SubElement(item, "itemfeedback", ident=f"f{n}")
            _text(xml.SubElement(shown, "flow_mat"), one.because[choice])


def _condition(processing: xml.Element, answer: str, goes_on: str) -> xml.Element:
    condition = xml.SubElement(processing, "respcondition", {"continue": goes_on})
    tested = xml.SubElement(condition, "conditionvar")
    xml.SubElement(tested, "varequal", respident="answer").text = answer
    return condition


def _text(parent: xml.Element, text: str) -> None:
    material = xml.SubElement(parent, "material")
    xml.SubElement(material, "mattext", texttype="text/plain").text = text
