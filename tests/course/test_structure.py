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
NOTEBOOKS = [*sorted(COURSE.glob("*.ipynb")), *sorted((COURSE / "more").glob("*.ipynb"))]
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
    """Return the cells of each section, by heading."""
    found = {}
    for cell in read(path):
        if "section" in tags(cell):
            found[source(cell).splitlines()[0].removeprefix("## ")] = current = []
        if found:
            current.append(cell)
    return found


def name_of(path):
    """Return a notebook's name as the tool that builds it knows it: "01_graphs", "more/01_vectors"."""
    return path.relative_to(COURSE).with_suffix("").as_posix()


NAMES = {name_of(path): path for path in NOTEBOOKS}
CORES = [name for name in NAMES if "/" not in name]
SOURCES = {name: build_notebook.cells(COURSE / "src" / name) for name in NAMES}
SECTIONS = {name: sections(path) for name, path in NAMES.items()}
EVERY_SECTION = [(name, title) for name, found in SECTIONS.items() for title in found]
every_notebook = pytest.mark.parametrize("name", NAMES)
every_core = pytest.mark.parametrize("name", CORES)
every_section = pytest.mark.parametrize(("name", "title"), EVERY_SECTION, ids=[f"{n}: {t}" for n, t in EVERY_SECTION])
MOST_CELLS = 90


def number_of(name):
    """Return the number of the lesson to which a notebook belongs: "01"."""
    return name.removeprefix("more/")[:2]


def of_lesson(number):
    """Return the cells of all notebooks of a lesson."""
    return [cell for name, path in NAMES.items() if number_of(name) == number for cell in read(path)]


def test_there_is_a_notebook_for_every_source_and_the_other_way_round():
    assert sorted(NAMES) == build_notebook.sources()


@every_core
def test_a_core_is_small(name):
    assert len(SOURCES[name]) <= MOST_CELLS


@every_notebook
def test_code_fits_the_width_of_a_notebook(name):
    lines = [(c.id, line) for c in SOURCES[name] if c.cell_type == "code" and "colab" not in c.metadata.get("tags", [])
             for line in c.source.splitlines()]
    assert [(id, line) for id, line in lines if len(line) > 88] == []


@every_notebook
def test_cells_that_compare_hold_no_logic(name):
    for cell in SOURCES[name]:
        if "reveal" in cell.metadata.get("tags", []):
            assert re.fullmatch(r"q\d+\.reveal\(([\w.]+(, [\w.]+)*)?\)", cell.source), cell.source


@every_core
def test_a_lesson_links_its_further_notebooks_and_they_link_back(name):
    prose = "\n".join(c.source for c in SOURCES[name] if c.cell_type == "markdown")
    further = [other for other in NAMES if "/" in other and number_of(other) == number_of(name)]
    assert set(re.findall(r"\((more/\w+)\.ipynb\)", prose)) >= set(further)
    for other in further:
        assert f"](../{name}.ipynb)" in SOURCES[other][0].source


@every_notebook
def test_links_to_files_of_the_course_lead_there(name):
    folder = NAMES[name].parent
    for cell in SOURCES[name]:
        if cell.cell_type == "markdown":
            text = re.sub(r"`[^`]*`", "", cell.source)
            for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
                assert (folder / link).is_file(), f"{cell.id}: {link}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_what_its_source_says(path):
    assert build_notebook.stale(name_of(path)) == [], f"run: python tools/build_notebook.py {name_of(path)}"


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


@every_notebook
def test_first_code_cell_installs_on_colab_and_does_nothing_elsewhere(name):
    first = SOURCES[name][1]
    body = ast.parse(first.source).body
    assert [type(n) for n in body] == [ast.Import, ast.If], "nothing runs outside the if"
    assert first.metadata["jupyter"] == {"source_hidden": True}, "folded away"


def test_colab_installs_from_the_index_else_from_the_repository(monkeypatch):
    tried = []
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    shell = type("Shell", (), {"system": staticmethod(tried.append)})
    exec(SOURCES["01_graphs"][1].source, {"get_ipython": lambda: shell})
    repository, branch = address.current_address()
    archive = f"'autolab-kit @ {repository}/archive/{branch}.zip'"
    assert tried == [f"pip install -q autolab-kit || pip install -q {archive}"]


@pytest.mark.parametrize("page", ["docs/where_it_runs.md"])
def test_pages_open_the_lessons_on_colab(page):
    named = re.findall(r"https://colab\.research\.google\.com/[^)\s]*", (ROOT / page).read_text(encoding="utf-8"))
    assert named == [address.colab(name) for name in CORES]


@every_notebook
def test_sections_are_numbered(name):
    found = [int(title.split(".")[0]) for title in SECTIONS[name]]
    assert found == list(range(1, len(found) + 1)) != []


@every_section
def test_every_section_has_something_to_run(name, title):
    found = {tag for c in SECTIONS[name][title] for tag in tags(c)}
    assert found & {"code", "run", "exercise", "picture", "catch"}


@every_section
def test_every_prediction_comes_before_its_code_and_is_revealed_after_it(name, title):
    cells = SECTIONS[name][title]
    text = [source(c) for c in cells]
    question = rf'(q\d+) = predict\("{number_of(name)}\.\1"\)\n\1$'
    asked = {m[1]: i for i, t in enumerate(text) if (m := re.match(question, t))}
    revealed = {m[1]: i for i, t in enumerate(text) if (m := re.search(r"^(q\d+)\.reveal\(", t, re.MULTILINE))}
    assert asked.keys() == revealed.keys()
    for id, place in asked.items():
        between = cells[place + 1:revealed[id]]
        assert any({"code", "run"} & set(tags(c)) for c in between), f"{id}: nothing runs between question and answer"


READ = {
    "01.q27": ("Let's train with it and walk downhill", "There is a tool that tells you whether a backward is correct. `gradcheck`"),
    "01.q29": ("**3. With an optimizer.** It does the update",),
    "03.q17": ("`gradual()` hands over", "The loop is the same for all methods", "This cell takes the longest: six methods"),
    "03.q18": ("`gradual()` hands over", "The loop is the same for all methods", "This cell takes the longest: six methods"),
    "04.q8": ("The training loop is the one from lesson 1",),
}
"""How the prose begins that stands between a question and its reveal: somebody read it, and it tells nothing."""
EXPLAINED = {"01.q13", "03.q25"}
"""They apply what their section has explained before, in words that the answer uses, too: frozen."""


def runs_of_five(text):
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {tuple(words[i:i + 5]) for i in range(len(words) - 4)}


@every_notebook
def test_prose_tells_nothing_of_an_open_question(name):
    """Between a question and its reveal there is no prose but what was read for it. Nor do five words in a row of what
    is said to a wrong answer, or of the right one, stand there, in code or prose, or in what leads to the question from
    the beginning of its section on."""
    cells, begun, told, between = SOURCES[name], 0, {}, {}
    for place, cell in enumerate(cells):
        begun = place if "section" in tags(cell) else begun
        if not (asked := re.match(r'(q\d+) = predict\("(.+)"\)', source(cell))):
            continue
        end = next(i for i, c in enumerate(cells) if re.match(rf"{asked[1]}\.reveal\(", source(c)))
        prose = [source(c) for c in cells[place:end] if c["cell_type"] == "markdown"]
        if prose:
            between[asked[2]] = prose
        question = lesson(number_of(name)).QUESTIONS[asked[2]]
        right = [choice for choice in question.choices if choice not in question.because]
        said = set().union(*map(runs_of_five, [*question.because.values(), *right])) - runs_of_five(question.ask)
        before = [c for c in cells[begun:place] if c["cell_type"] == "markdown" and not {"explain", "keep"} & set(tags(c))]
        seen = set().union(*(runs_of_five(source(c)) for c in [*before, *cells[place:end]]))
        told |= {asked[2]: found} if (found := seen & said) else {}
    assert told.keys() <= EXPLAINED, told
    assert all(text.startswith(READ.get(id, ())) for id, prose in between.items() for text in prose), between
    assert between.keys() <= READ.keys()


@every_notebook
def test_every_notebook_has_takeaways_and_their_sources(name):
    kept = [source(c) for cells in SECTIONS[name].values() for c in cells if "keep" in tags(c)]
    assert kept and all("**Takeaway:** " in text and "https://docs.pytorch.org/" in text for text in kept)


@pytest.mark.parametrize("number", ["01", "02", "03", "04"])
def test_all_exercises_and_questions_are_used_once(number):
    everything = "\n".join(source(c) for c in of_lesson(number))
    module = lesson(number)
    assert sorted(re.findall(r'^check\("([^"]+)"', everything, re.MULTILINE)) == sorted(module.EXERCISES)
    assert sorted(re.findall(r'predict\("([^"]+)"\)', everything)) == sorted(module.QUESTIONS)
    assert sorted(re.findall(r'in_words\("([^"]+)"\)', everything)) == sorted(getattr(module, "WORDS", {}))


@every_notebook
def test_what_came_out_is_the_choice_that_no_reason_speaks_against(name):
    """Else the right answer would be called wrong."""
    lesson_number = number_of(name)
    for cell in read(NAMES[name]):
        if found := re.match(r"(q\d+)\.reveal\(", source(cell)):
            question = lesson(lesson_number).QUESTIONS[f"{lesson_number}.{found[1]}"]
            (said,) = re.findall(r"<strong>It is: (.*?)</strong>", "".join(cell["outputs"][0]["data"]["text/html"]))
            said = re.sub("</?code>", "`", said)
            assert not question.choices or {html.unescape(said)} == set(question.choices) - question.because.keys(), cell["id"]


@pytest.mark.parametrize("lesson_number", ["01", "02", "03", "04"])
def test_exercises_are_announced_by_the_name_the_checker_uses(lesson_number):
    text = "\n".join(map(source, of_lesson(lesson_number)))
    headings = dict(re.findall(r"^### Exercise ([\w.]+): (.+)$", text, re.MULTILINE))
    assert headings == {id: e.title[0].lower() + e.title[1:] for id, e in lesson(lesson_number).EXERCISES.items()}


@pytest.mark.parametrize("lesson_number", ["01", "02", "03", "04"])
def test_given_code_in_the_notebook_is_what_the_checker_was_told(lesson_number):
    import numpy

    import autolab
    from autolab.lessons.exercise import observation
    space = {"torch": autolab, "nn": autolab.nn, "F": autolab.nn.functional, "np": numpy}
    codes = [re.fullmatch(r'(?s)(.+)\n\ncheck\("([^"]+)", (\w+)\)', source(c)) for c in of_lesson(lesson_number)]
    cells = {m[2]: (m[1], m[3]) for m in codes if m}
    given = {id: e for id, e in lesson(lesson_number).EXERCISES.items() if e.given is not None}
    assert set(given) <= set(cells)
    for id, exercise in given.items():
        code, name = cells[id]
        exec(code, space)
        for case in exercise.cases:
            shown, told = (repr(observation(exercise, code, case)) for code in (space[name], exercise.given))
            assert shown == told, id


@every_notebook
def test_prose_style(name):
    for cell in read(NAMES[name]):
        if cell["cell_type"] != "markdown":
            continue
        text = re.sub(r"(?s)```.*?```|`[^`]*`|\$[^$]*\$|\[[^\]]*\]\([^)]*\)", "", source(cell))
        assert "!" not in text, cell["id"]
        assert not re.search(r"\b(obviously|simply|trivial\w*|of course|clearly)\b", text, re.IGNORECASE), cell["id"]
        for sentence in re.split(r"(?<=[.?:;])\s|\n\s*[-|#\n]", text):
            assert len(sentence.split()) <= 40, f"{cell['id']}: a sentence of {len(sentence.split())} words: {sentence}"


@every_notebook
def test_code_cells_are_short(name):
    for cell in read(NAMES[name]):
        # four functions to be searched
        if cell["cell_type"] == "code" and "class Shift" not in source(cell):
            assert len(source(cell).splitlines()) <= 30, cell["id"]


def test_glossary_links_lead_to_sections():
    glossary = (COURSE / "glossary.md").read_text(encoding="utf-8")
    links = re.findall(r"\(([\w/]+)\.ipynb(?:#([^)]+))?\)", glossary)
    assert len(links) > 90
    for name, place in links:
        assert name in NAMES and (not place or place in {t.replace(" ", "-") for t in SECTIONS[name]}), (name, place)
