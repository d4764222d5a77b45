"""Read back what `autolab/widgets/packing.py` and `mathml.py` make, without their scripts."""

from __future__ import annotations

import re
from html import escape

from autolab.trace.captions.formulas import plain_name
from autolab.widgets import mathml, packing

NAME = re.compile(r"(?<!\\overset\{)\\mathrm\{(?:[^{}\\]|\\char\d+ |\\.)*\}")
PLACE = re.compile(r"<mtext>name(\d+)</mtext>")


def items(column, length):
    if "all" in column:
        return [column["all"]] * length
    if "count" in column:
        return list(range(length))
    if "forms" in column:
        fill = iter(column["fill"].split(" ") if "fill" in column else map(str, range(length)))
        holes = len(column["forms"][0].split(packing.HOLE)) - 1 if len(column["forms"]) == 1 else 0
        size = column["fill"].count(" ") // holes + 1 if holes and "fill" in column else length
        forms = [column["forms"][place] for place in column.get("at", [0] * size)]
        return [form and re.sub(packing.HOLE, lambda _: next(fill), form) for form in forms]
    if "each" in column:
        return column["each"]
    if "lists" in column:
        return [words.split() for words in items(column["lists"], length)]
    different = items(column["table"], max(column["at"]) + 1)
    return [different[place] for place in column["at"]]


def records(table):
    columns = {}
    for name, column in table["columns"].items():
        if isinstance(column.get("at"), int):
            column = column | {"at": [table["rows"][place][column["at"]] for place in table["at"]]}
        columns[name] = items(column, table["length"])
    assert all(len(column) == table["length"] for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def unpacked(data):
    values = records(data["values"])
    found = {}
    for part in ("nodes", "edges", "saved", "frames"):
        found[part] = records(data[part])
        for record in found[part]:
            for key in ("value", "grad", "grad_before", "total"):
                if record.get(key) is not None:
                    record[key] = values[record[key]]
            if "outputs" in record:
                record["outputs"] = [
                    o | {"value": None if o["value"] is None else values[o["value"]]}
                    for o in record["outputs"]
                ]
    never = [{pair["of"]: pair["why"] for pair in records(p["never"])} for p in data["passes"]]
    passes = [p | {"never": n} for p, n in zip(data["passes"], never, strict=True)]
    return {**data, **found, "passes": passes}, values


def mathml_of(tex):
    """The MathML of a formula whose numbers the converter has seen."""
    names = []

    def hide(match):
        names.append(match[0])
        return mathml.HOLE

    form = NAME.sub(hide, tex)
    return PLACE.sub(lambda m: filled(names[int(m[1])]), mathml._mathml(form))


def filled(hole):
    if hole[0] != "\\":
        return f"<mn>{hole}</mn>"
    return f'<mi mathvariant="normal">{escape(plain_name(hole[8:-1]), quote=False)}</mi>'
