"""A lesson has what a lesson needs: its sections predict, run, show, explain and exercise; nothing is stored unrun."""

import ast
import contextlib
import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autolab.lessons.book import lesson

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "course"
NOTEBOOKS = sorted(COURSE.glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"

sys.path.insert(0, str(ROOT / "tools"))
import address  # noqa: E402
import build_notebook  # noqa: E402


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


def tags(cell):
    return cell["metadata"].get("tags", [])


def sections(path):
    """The cells of each section, by heading."""
    found = {}
    for cell in read(path):
        if "section" in tags(cell):
            found[source(cell).splitlines()[0].removeprefix("## ")] = current = []
        if found:
            current.append(cell)
    return found


LESSONS = {path.stem[:2]: path for path in NOTEBOOKS}
SOURCES = {number: build_notebook.cells(COURSE / "src" / path.stem) for number, path in LESSONS.items()}
SECTIONS = {number: sections(path) for number, path in LESSONS.items()}
EVERY_SECTION = [(number, title) for number, found in SECTIONS.items() for title in found]
every_lesson = pytest.mark.parametrize("lesson_number", LESSONS)
every_section = pytest.mark.parametrize(("lesson_number", "title"), EVERY_SECTION, ids=[f"{n}: {t}" for n, t in EVERY_SECTION])


def number(title):
    """Of a section its number, of an extension its letter."""
    name = title.split(".")[0]
    return int(name) if name.isdigit() else name


def has_extensions(lesson_number):
    """Whether a lesson is a short core with extensions, which `tests/lessons/test_budget.py` counts."""
    return any(isinstance(number(title), str) for title in SECTIONS[lesson_number])


def test_there_is_a_notebook_for_every_source_and_the_other_way_round():
    assert [p.stem for p in NOTEBOOKS] == sorted(p.name for p in (COURSE / "src").iterdir())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_what_its_source_says(path):
    assert build_notebook.stale(path.stem) == [], f"run: python tools/build_notebook.py {path.stem}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_notebook_is_saved_without_outputs(path):
    code = [c for c in read(path) if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1)), "run from top to bottom, once"
    silent = [c["id"] for c in code if not c["outputs"] and not {"setup", "exercise", "code"} & set(tags(c))]
    assert silent == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_only_marked_cells_raise_and_they_do(path):
    for cell in read(path):
        raised = any(o["output_type"] == "error" for o in cell.get("outputs", []))
        assert raised == ("raises-exception" in tags(cell)), cell["id"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_stored_outputs_can_be_read_without_a_kernel(path):
    for cell in read(path):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            assert WIDGET not in data, f"{cell['id']}: a widget view without its kernel hides what is stored beside it"
            if "picture" in tags(cell) and "text/plain" in data and data["text/plain"][0].startswith(("Explorer", "DeviceExplorer")):
                assert "image/svg+xml" in data or ".ask(" in source(cell), f"{cell['id']}: no picture stored"
                assert "text/plain" in data
            if "predict" in tags(cell):
                assert "text/html" in data and "".join(data["text/plain"]).startswith("Predict: ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_nothing_stored_tells_where_it_was_made(path):
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    assert not re.search(r"0x[0-9a-f]{6,}|/tmp/|/home/|/root/", text)
    assert str(ROOT) not in text


@every_lesson
def test_first_code_cell_installs_on_colab_and_does_nothing_elsewhere(lesson_number):
    top, first = SOURCES[lesson_number][:2]
    assert f"[Open this lesson in Google Colab]({address.colab(LESSONS[lesson_number].stem)})" in top.source
    body = ast.parse(first.source).body
    assert [type(n) for n in body] == [ast.Import, ast.If], "nothing runs outside the if"


@pytest.mark.parametrize(("broken", "asked"), [(0, 1), (1, 2), (2, 2)], ids=["from PyPI", "from the repository", "not at all"])
def test_colab_installs_from_the_index_else_from_the_repository_else_says_so(monkeypatch, broken, asked):
    def run(command, **_):
        tried.append(command[-1])
        return subprocess.CompletedProcess(command, int(len(tried) <= broken), "", "a warning\nERROR: no network\n")

    tried = []
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    monkeypatch.setattr(subprocess, "run", run)
    code = compile(SOURCES["01"][1].source, "the first cell", "exec")
    refused = pytest.raises(SystemExit, match="Not installed from PyPI, nor from https://github.com/.*: ERROR: no network")
    with refused if broken == 2 else contextlib.nullcontext():
        exec(code, {})
    repository, branch = address.stands()
    assert tried == ["autolab-kit", f"autolab-kit @ {repository}/archive/{branch}.zip"][:asked]


@pytest.mark.parametrize("page", ["docs/where_it_runs.md"])
def test_pages_open_the_lessons_on_colab(page):
    named = re.findall(r"https://colab\.research\.google\.com/[^)\s]*", (ROOT / page).read_text(encoding="utf-8"))
    assert named == [address.colab(path.stem) for path in NOTEBOOKS]


@every_lesson
def test_numbered_sections_or_a_core_and_extensions(lesson_number):
    found = [number(title) for title in SECTIONS[lesson_number]]
    if not has_extensions(lesson_number):
        assert found == list(range(1, 13))
        return
    numbers, letters = [n for n in found if isinstance(n, int)], [n for n in found if isinstance(n, str)]
    assert found == [*range(1, len(numbers) + 1), *"ABCDEFGHIJKLMNOP"[: len(letters)]]


@every_section
@pytest.mark.parametrize("part", ["predict", "reveal", "code", "picture", "explain", "exercise", "keep"])
def test_every_section_has_its_parts(lesson_number, title, part):
    if has_extensions(lesson_number) and part in ("code", "picture", "exercise", "predict", "reveal"):
        found = {tag for c in SECTIONS[lesson_number][title] for tag in tags(c)}
        assert found & {"code", "run"} and found & {"predict", "picture"}, f"{title}: nothing to run, or nothing to answer"
        return
    assert any(part in tags(c) for c in SECTIONS[lesson_number][title]), f"{title} has no {part}"


@every_section
def test_every_prediction_comes_before_its_code_and_is_revealed_after_it(lesson_number, title):
    cells = SECTIONS[lesson_number][title]
    text = [source(c) for c in cells]
    asked = {
        m[1]: i for i, t in enumerate(text) if (m := re.match(rf'(q\d+) = predict\("{lesson_number}\.\1"\)\n\1$', t))
    }
    revealed = {m[1]: i for i, t in enumerate(text) if (m := re.search(r"^(q\d+)\.reveal\(", t, re.MULTILINE))}
    assert asked.keys() == revealed.keys()
    assert asked or has_extensions(lesson_number)
    for name, place in asked.items():
        between = cells[place + 1:revealed[name]]
        assert any({"code", "run"} & set(tags(c)) for c in between), f"{name}: nothing runs between question and answer"


READ = {
    "01.q27": ("Train with it: walk downhill", "There is a tool that tells. `gradcheck` changes"),
    "01.q29": ("**3. With an optimizer.** It does the update",),
    "03.q17": ("`gradual()` hands over", "The loop is the same for all.", "This cell takes the longest: six methods"),
    "03.q18": ("`gradual()` hands over", "The loop is the same for all.", "This cell takes the longest: six methods"),
    "04.q8": ("Training: forward, clear, backward",),
}
"""How the prose begins that stands between a question and its reveal: somebody read it, and it tells nothing."""
EXPLAINED = {"01.q13", "03.q25"}
"""They apply what their section has explained before, in words that the answer uses, too: frozen."""


def runs_of_five(text):
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {tuple(words[i:i + 5]) for i in range(len(words) - 4)}


@every_lesson
def test_prose_tells_nothing_of_an_open_question(lesson_number):
    """Between a question and its reveal there is no prose but what was read for it. Nor do five words in a row of what
    is said to a wrong answer, or of the right one, stand there, in code or prose, or in what leads to the question from
    the beginning of its section on."""
    cells, begun, told, between = SOURCES[lesson_number], 0, {}, {}
    for place, cell in enumerate(cells):
        begun = place if "section" in tags(cell) else begun
        if not (asked := re.match(r'(q\d+) = predict\("(.+)"\)', source(cell))):
            continue
        end = next(i for i, c in enumerate(cells) if re.match(rf"{asked[1]}\.reveal\(", source(c)))
        prose = [source(c) for c in cells[place:end] if c["cell_type"] == "markdown"]
        if prose:
            between[asked[2]] = prose
        question = lesson(lesson_number).QUESTIONS[asked[2]]
        right = [choice for choice in question.choices if choice not in question.because]
        said = set().union(*map(runs_of_five, [*question.because.values(), *right])) - runs_of_five(question.ask)
        before = [c for c in cells[begun:place] if c["cell_type"] == "markdown" and not {"explain", "keep"} & set(tags(c))]
        seen = set().union(*(runs_of_five(source(c)) for c in [*before, *cells[place:end]]))
        told |= {asked[2]: found} if (found := seen & said) else {}
    assert told.keys() == {id for id in EXPLAINED if id.startswith(lesson_number)}, told
    assert all(text.startswith(READ.get(id, ())) for id, prose in between.items() for text in prose), between
    assert {id for id in READ if id.startswith(lesson_number)} == between.keys()


@every_section
def test_every_section_ends_with_one_line_and_its_source(lesson_number, title):
    last = [c for c in SECTIONS[lesson_number][title] if "keep" in tags(c)][-1]
    assert "**Take along:** " in source(last) and "https://docs.pytorch.org/" in source(last)


@every_lesson
def test_all_exercises_and_questions_are_used_once_in_their_section(lesson_number):
    for title, cells in SECTIONS[lesson_number].items():
        text = "\n".join(source(c) for c in cells if c["cell_type"] == "code")
        checks = re.findall(rf'^check\("{lesson_number}\.(\d+)[ab]?"', text, re.MULTILINE)
        assert has_extensions(lesson_number) or set(map(int, checks)) == {number(title)}
    everything = "\n".join(source(c) for c in read(LESSONS[lesson_number]))
    module = lesson(lesson_number)
    assert sorted(re.findall(r'^check\("([^"]+)"', everything, re.MULTILINE)) == sorted(module.EXERCISES)
    assert sorted(re.findall(r'predict\("([^"]+)"\)', everything)) == sorted(module.QUESTIONS)


@every_lesson
def test_what_came_out_is_the_choice_that_no_reason_speaks_against(lesson_number):
    """Else the right answer would be called wrong."""
    for cell in read(LESSONS[lesson_number]):
        if found := re.match(r"(q\d+)\.reveal\(", source(cell)):
            question = lesson(lesson_number).QUESTIONS[f"{lesson_number}.{found[1]}"]
            (said,) = re.findall(r"<strong>It is: (.*?)</strong>", "".join(cell["outputs"][0]["data"]["text/html"]))
            said = re.sub("</?code>", "`", said)
            assert not question.choices or {html.unescape(said)} == set(question.choices) - question.because.keys(), cell["id"]


@every_lesson
def test_exercises_are_announced_by_the_name_the_checker_uses(lesson_number):
    text = "\n".join(map(source, read(LESSONS[lesson_number])))
    headings = dict(re.findall(r"^### Exercise ([\w.]+): (.+)$", text, re.MULTILINE))
    assert headings == {id: e.title[0].lower() + e.title[1:] for id, e in lesson(lesson_number).EXERCISES.items()}


@every_lesson
def test_given_code_in_the_notebook_is_what_the_checker_was_told(lesson_number):
    import numpy

    import autolab
    from autolab.lessons.exercise import observation
    space = {"torch": autolab, "nn": autolab.nn, "F": autolab.nn.functional, "np": numpy}
    codes = [re.fullmatch(r'(?s)(.+)\n\ncheck\("([^"]+)", (\w+)\)', source(c)) for c in read(LESSONS[lesson_number])]
    cells = {m[2]: (m[1], m[3]) for m in codes if m}
    given = {id: e for id, e in lesson(lesson_number).EXERCISES.items() if e.given is not None}
    assert set(given) <= set(cells)
    for id, exercise in given.items():
        code, name = cells[id]
        exec(code, space)
        for case in exercise.cases:
            shown, told = (repr(observation(exercise, code, case)) for code in (space[name], exercise.given))
            assert shown == told, id


@every_lesson
def test_prose_style(lesson_number):
    for cell in read(LESSONS[lesson_number]):
        if cell["cell_type"] != "markdown":
            continue
        text = re.sub(r"(?s)```.*?```|`[^`]*`|\$[^$]*\$|\[[^\]]*\]\([^)]*\)", "", source(cell))
        assert "!" not in text, cell["id"]
        assert not re.search(r"\b(obviously|simply|trivial\w*|of course|clearly)\b", text, re.IGNORECASE), cell["id"]
        for sentence in re.split(r"(?<=[.?:;])\s|\n\s*[-|#\n]", text):
            assert len(sentence.split()) <= 40, f"{cell['id']}: a sentence of {len(sentence.split())} words: {sentence}"


@every_lesson
def test_code_cells_are_short(lesson_number):
    for cell in read(LESSONS[lesson_number]):
        # four functions to be searched
        if cell["cell_type"] == "code" and "class Shift" not in source(cell):
            assert len(source(cell).splitlines()) <= 30, cell["id"]


@every_lesson
def test_minutes_of_the_plan_add_up(lesson_number):
    if has_extensions(lesson_number):
        return  # test_budget.py counts them
    plan = (COURSE / "plans" / f"{LESSONS[lesson_number].stem}.md").read_text(encoding="utf-8")
    minutes = [int(m) for m in re.findall(r"^\| (?:start|\d+ [\w ]+) \| (\d+) \|", plan, re.MULTILINE)]
    assert len(minutes) == len(SECTIONS[lesson_number]) + 1
    assert f"That is {sum(minutes)} minutes" in plan


@every_lesson
def test_glossary_links_lead_to_sections_of_the_lesson(lesson_number):
    links = re.findall(rf"\({LESSONS[lesson_number].name}#([^)]+)\)", (COURSE / "glossary.md").read_text(encoding="utf-8"))
    assert len(links) >= 8 and set(links) <= {title.replace(" ", "-") for title in SECTIONS[lesson_number]}


SHORTENED = {"01": (3, 12), "02": (7, 12), "03": (11, 12)}  # the plans leave these out first, where there are no extensions


@every_lesson
def test_what_the_plan_leaves_out_can_be_skipped(lesson_number):
    """No later section uses a name that only a section left out has made."""
    made: dict[int | str, set[str]] = {}
    extensions = [number(title) for title in SECTIONS[lesson_number] if isinstance(number(title), str)]
    for title, cells in SECTIONS[lesson_number].items():
        code = "\n".join(source(c) for c in cells if c["cell_type"] == "code")
        tree = compile(code, title, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
        own = {n.id for n in names if isinstance(n.ctx, ast.Store)} | {
            n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {
            n.asname or n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
        for left_out in extensions or SHORTENED[lesson_number]:
            elsewhere = set().union(*(names for place, names in made.items() if place != left_out and (not extensions or isinstance(place, int))))
            missing = {n.id for n in names if isinstance(n.ctx, ast.Load)} & made.get(left_out, set()) - own - elsewhere
            assert not missing, f"{title} needs {missing} of section {left_out}"
        made[number(title)] = own
