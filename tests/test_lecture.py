"""Notebooks as slides: where slides begin, what is left out, notes from plans, and what a page must
not contain."""

import base64
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autolab import cli, lecture
from autolab.lecture import deck, kernel, markdown, notes, outputs, slides
from autolab.viz.html import form as page_form
from autolab.widgets import Prediction

COURSE = Path(__file__).parents[1] / "course"
PLAN = """# A plan

Bring chalk.

| section | minutes | slides |
|---|---|---|
| start | 3 | |
| 1 graphs | 6 | `#/a` |

- q9: half of a room says 6.

| exercise | mistakes |
|---|---|
| 01.6 a loop | clearing in `between` |
"""


def code(source, *outputs, **metadata):
    return new_code_cell(
        source, outputs=list(outputs), metadata=metadata, execution_count=9
    )  # as stored


def printed(text):
    return new_output("stream", name="stdout", text=text)


def of(*cells, plan=None):
    return slides.Slides(list(cells), Path("own.ipynb"), plan and notes.Plan(plan))


def bodies(made):
    return [["".join(slide.parts) for slide in column] for column in made.columns]


def test_columns_begin_at_headings_and_slides_at_lower_ones_and_where_the_screen_is_full():
    made = of(
        new_markdown_cell("# Title\n\nFirst.\n\nSecond."),
        new_markdown_cell("## One\n\nwords\n\n### Below\n\nmore"),
        new_markdown_cell("\n\n".join(f"paragraph {i}" for i in range(40))),
    )
    assert made.title == "Title" and [column[0].heading for column in made.columns] == [
        "Title",
        "One",
    ]
    first, second = bodies(made)
    assert ["First." in first[0], "Second." in first[1]] == [True, True]
    assert "words" in second[0] and second[1].startswith("<h3>Below</h3>")
    assert len(second) > 4 and all(slide.lines <= slides.LINES for slide in made.columns[1])
    assert len({slide.id for column in made.columns for slide in column}) == len(first) + len(
        second
    )


def asked_here(question):
    """Return the output of a cell that shows a prediction, as the kernel of a lecture stores it."""
    form = page_form(question) | {"kind": "Prediction", "stops": []}
    return new_output("display_data", data={kernel.PAGE: form})


MADE = 'guess = autolab.widgets.Prediction("x.grad?", ["6", "9"], because={"9": "That is y."})'


@pytest.mark.parametrize(
    "cells",
    [
        [("x = 3.0\n" + MADE + "\nguess", True)],
        [("x = 3.0\n" + MADE, False), ("display(guess)", True)],
        [
            ("x = 3.0", False),
            ("Prediction(\n  'x.grad?',\n  because={'9': 'That is y.'},\n)", True),
        ],
        [("x = 3.0\nguess = predict('my.q1', because='That is y.'); guess", True)],
        [("x = 3.0", False), ("show_my_question()", True)],
    ],
)
@pytest.mark.parametrize("alive", [True, False])
def test_an_answer_is_never_beside_its_prediction(cells, alive):
    """`alive`: run by the lecture; else its outputs are as stored, where a prediction is text."""
    question = asked_here(Prediction("x.grad?", ["6", "9"], because={"9": "That is y."}))
    output = question if alive or "show_my" in cells[-1][0] else printed("x.grad?")
    ask = [code(source, *[output] * shown) for source, shown in cells]
    ((*before, last, after),) = bodies(
        of(new_markdown_cell("## A"), *ask, code("print(x.grad)", printed("6")))
    )
    assert "x.grad" not in last.replace("x.grad?", "") and "6</pre>" in after
    listed = re.sub(r"<!--.*?-->", "", "".join([*before, last]))
    assert "That is y" not in listed and "3.0" in listed, "code before the question is shown"


def test_what_was_printed_comes_later_and_a_prediction_ends_its_slide():
    ask, run = code("ask()", printed("?"), tags=["predict"]), code("f()", printed("<6>"))
    made = of(new_markdown_cell("## A"), ask, run, code("x", printed("no"), tags=["exercise"]))
    ((slide, after),) = bodies(made)
    assert "ask" not in slide and "&lt;6&gt;" in after
    assert re.search(r'<div class="fragment"><pre class="printed[^>]*>&lt;6&gt;', after)
    assert "no" not in after, "what a checker says of no answer is not for a lecture"


@pytest.mark.parametrize("lesson", sorted(COURSE.rglob("*.ipynb")), ids=lambda path: path.stem)
def test_no_answer_stands_in_a_deck_before_it_is_asked_for(lesson):
    """A question ends its slide, what is printed waits for a key, and a verdict is folded away."""
    cells = nbformat.read(lesson, as_version=4).cells
    tags = [tag for cell in cells for tag in cell.metadata.get("tags", ())]
    told = [slide for column in bodies(of(*cells)) for slide in column]
    asked = [
        html.split("aria-label='Predict'")[-1] for html in told if "aria-label='Predict'" in html
    ]
    asks = lesson.stem != "02_lenet"  # the one notebook without a question
    assert len(asked) == tags.count("predict") and (len(asked) > 0) == asks
    assert not any("printed" in after for after in asked)
    folded = re.compile(r"(?s)<details\b(?:(?!</details>).)*?<summary>What it is.*?</details>")
    assert sum(len(folded.findall(html)) for html in told) == tags.count("reveal")
    assert (tags.count("reveal") > 0) == asks
    for html in told:
        assert "It is: " not in folded.sub("", html)
        waits = html.count('<div class="fragment"><pre class="printed') + html.startswith(
            '<pre class="printed'
        )
        assert html.count('<pre class="printed') == waits, (
            "with the next key, or on a slide of its own"
        )


def test_slide_types_and_tags_of_the_notebook_come_first():
    slide = lambda kind: {"slideshow": {"slide_type": kind}}
    made = of(
        new_markdown_cell("# T"),
        code("first", **slide("slide")),
        code("below", **slide("subslide")),
        code("later", **slide("fragment")),
        code("never", **slide("skip")),
        code("import x", tags=["setup"]),
        new_markdown_cell("Say **this**.", metadata=slide("notes")),
        code("hidden", printed("seen"), tags=["remove-input"]),
    )
    title, column = bodies(made)
    assert len(column) == 2 and "first" in column[0]
    assert (
        "never" not in column[1]
        and "import" not in column[1]
        and "hidden" not in column[1]
        and "seen" in column[1]
    )
    assert re.search(
        r'<div class="fragment"><pre class="code"[^>]*><code><span[^>]*>later', column[1]
    )
    assert made.columns[1][1].notes == ["<p>Say <strong>this</strong>.</p>\n"]


def test_a_plan_is_cut_into_notes():
    made = of(
        new_markdown_cell("# T"),
        new_markdown_cell("## 1. Graphs"),
        code('q = predict("01.q9")\nq', printed("?"), tags=["predict"]),
        new_markdown_cell("### Exercise 01.6: mend it\n\nDo."),
        plan=PLAN,
    )
    said = [" ".join(slide.notes) for column in made.columns for slide in column]
    assert "Bring chalk" in said[0] and "<dd>3</dd>" in said[0]
    assert (
        "<dt>minutes</dt><dd>6</dd>" in said[1]
        and "half of a room" in said[1]
        and "#/a" not in said[1]
    )
    assert "clearing in <code>between</code>" in said[2]


def test_markdown_brings_its_pictures_and_formulas_and_no_links_to_files(tmp_path):
    (tmp_path / "dot.png").write_bytes(b"png")
    source = "$x^2$ ![a](dot.png) ![b](https://e.org/b.png) [c](other.md) [d](https://e.org)"
    html = "".join(text for _, text in markdown.blocks(source, tmp_path))
    assert "<math" in html and 'src="data:image/png;base64,cG5n"' in html
    assert "https://e.org/b.png" in html and html.count("<img") == 1, (
        "a picture from elsewhere would be a request"
    )
    assert "other.md" not in html and '<a href="https://e.org">d</a>' in html
    assert markdown.mathml(r"\notknown{") == r"<code>\notknown{</code>"


def test_stored_outputs_make_a_deck_without_a_kernel(tmp_path):
    data = {"image/png": "cG5n", "text/plain": "<Figure>"}
    error = new_output("error", ename="E", evalue="v", traceback=["\x1b[31mE\x1b[0m: v"])
    cells = [
        new_markdown_cell("# My own"),
        code("plot()", new_output("display_data", data=data), error),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "own.ipynb")
    page = lecture.write(tmp_path / "own.ipynb", tmp_path / "deck.html", run=False).read_text(
        encoding="utf-8"
    )
    assert 'alt="&lt;Figure&gt;" src="data:image/png;base64,cG5n"' in page and ">E: v</pre>" in page
    assert "<title>My own</title>" in page
    assert not re.search(
        r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?!data:)\w+:""", page
    ), "it makes no request"


def test_phones_find_the_questions_that_have_a_name(tmp_path):
    """The QR code and the link around it have the same address."""
    pytest.importorskip("segno")
    asked = Prediction("What is `x.grad`?", choices=["6", "12"], id="my.1")
    form = page_form(asked) | {"kind": "Prediction", "stops": []}
    cells = [
        code("asked", new_output("display_data", data={outputs.PAGE: form | {"asked": "my.1"}})),
        code("asked", new_output("display_data", data={outputs.PAGE: form | {"model": "another"}})),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "own.ipynb")
    told = {"room": "http://192.168.1.5:8765", "code": "4kd2"}
    page = lecture.write(
        tmp_path / "own.ipynb", tmp_path / "deck.html", run=False, **told
    ).read_text(encoding="utf-8")
    links = re.findall(r'<figure class="phone"><a href="([^"]+)"', page)
    assert links == ["http://192.168.1.5:8765/phone#4KD2/my.1/6/12"]
    plain = lecture.write(tmp_path / "own.ipynb", tmp_path / "deck.html", run=False).read_text(
        encoding="utf-8"
    )
    assert '<figure class="phone">' not in plain
    assert (
        cli.main(["lecture", str(tmp_path / "own.ipynb"), "--no-run", "--room", "ftp://here"]) == 1
    )


def test_a_cell_that_fails_is_named(tmp_path):
    nbformat.write(
        new_notebook(
            cells=[
                code("1 / 0", tags=["raises-exception"]),
                code("ok = 1"),
                code("wrong"),
                code("later"),
            ]
        ),
        tmp_path / "own.ipynb",
    )
    told = []
    with pytest.raises(
        RuntimeError, match=r"cell 3 of own.ipynb failed: NameError: name 'wrong' is not defined"
    ):
        lecture.write(
            tmp_path / "own.ipynb", tmp_path / "deck.html", tell=lambda *run: told.append(run)
        )
    assert not (tmp_path / "deck.html").exists()
    assert told == [("own.ipynb", cell, 4) for cell in range(4)]


def test_all_lessons_and_a_page_that_names_them(tmp_path):
    for name in ("01_a", "02_b"):
        cells = [new_markdown_cell(f"# Lesson {name}"), new_markdown_cell("## 1. Part", id="one")]
        nbformat.write(new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "02_b.md").write_text(PLAN)
    index = lecture.write_all(
        [tmp_path / "01_a.ipynb", tmp_path / "02_b.ipynb"], tmp_path / "out", run=False
    )
    assert re.findall(r'href="([^"]+)">([^<]+)', index.read_text()) == [
        ("01_a.html", "Lesson 01_a"),
        ("01_a.html#/one", "1. Part"),
        ("02_b.html", "Lesson 02_b"),
        ("02_b.html#/one", "1. Part"),
    ]
    assert (
        "Bring chalk" in (tmp_path / "out" / "02_b.html").read_text()
        and "Bring chalk" not in (tmp_path / "out" / "01_a.html").read_text()
    )


def test_the_core_of_a_deck_leaves_out_what_learners_do_alone(tmp_path):
    cells = [
        new_markdown_cell("# Lesson"),
        new_markdown_cell("## 1. Part", metadata={"tags": ["section", "exercise"]}),
        code("print('shown')", printed("shown")),
        new_markdown_cell("### Exercise 1", metadata={"tags": ["exercise"]}),
        code("solve()", tags=["exercise"]),
        code("f = str\ncheck('my.1', f)"),
        code("hint('my.1')"),
        code("in_words('w1')", tags=["words"]),
        code("autolab.practice()", tags=["practice"]),
        new_markdown_cell("Your turn.", metadata={"tags": ["open"]}),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "own.ipynb")
    path = lecture.write(tmp_path / "own.ipynb", tmp_path / "deck.html", run=False, core=True)
    page = path.read_text()
    assert "1. Part" in page and "shown" in page
    for word in ("Exercise 1", "solve", "check(", "hint(", "in_words", "practice(", "Your turn"):
        assert word not in page.partition("<script")[0], word


def test_core_of_all_lessons_leaves_out_the_further_notebooks(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(lecture, "write_all", lambda names, folder, **asked: written.extend(names))
    cli.main(["lecture", "--all", "--core"])
    assert len(written) == 4 and not any("more" in path.parts for path in written)


# -- notebooks of somebody else ----------------------------------------------------------------------------------------
SECRET = b"-----BEGIN PRIVATE KEY-----"


@pytest.fixture
def received(tmp_path):
    """A folder with a notebook that somebody sent, and other files around it."""
    folder = tmp_path / "sent"
    (folder / "plots").mkdir(parents=True)
    (folder / "plots" / "a b.png").write_bytes(b"picture")
    (folder / "notes.txt").write_bytes(SECRET)
    (tmp_path / "secret.png").write_bytes(SECRET)
    (tmp_path / "sent-by-others").mkdir()
    (tmp_path / "sent-by-others" / "x.png").write_bytes(SECRET)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path)
    (folder / "plans").mkdir()
    (folder / "plans" / "talk.md").symlink_to(tmp_path / "secret.png")
    return folder


ADDRESSES = ["../secret.png", "plots/../../secret.png", "link.png", "out/secret.png", "notes.txt", "../sent-by-others/x.png",
             "..%2fsecret.png", "%2e%2e/secret.png", "{}/secret.png", "file://{}/secret.png"]  # fmt: skip


@pytest.mark.parametrize("write", ["deck", "page"])
def test_no_file_from_elsewhere_gets_in(received, tmp_path, write):
    addresses = [address.format(tmp_path) for address in ADDRESSES]
    text = " ".join(f"![p]({address})" for address in addresses)
    html = "".join(f'<img src="{address}">' for address in addresses)
    cells = [new_markdown_cell(f"# Talk\n\n![p](plots/a%20b.png) {text}\n\n{html}")]
    nbformat.write(new_notebook(cells=cells), received / "talk.ipynb")
    if write == "deck":
        made = lecture.write(received / "talk.ipynb", tmp_path / "deck.html", run=False).read_text()
        assert base64.b64encode(b"picture").decode() in made
        assert all(f"(a picture at {escape(address)})" in made for address in addresses[:6])
    else:
        pytest.importorskip("nbconvert")
        from autolab.lecture.page import Page

        made = Page().from_filename(str(received / "talk.ipynb"))[0]
    assert base64.b64encode(SECRET).decode()[:20] not in made and SECRET.decode() not in made


class Attributes(HTMLParser):
    """Collects all attributes of a page that run code."""

    def __init__(self, page):
        super().__init__()
        self.live = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.live += [name for name, _ in attrs if name.startswith("on")]


def test_no_attribute_ends_early(tmp_path):
    breaks = 'x" onload="window.pwn = 1" y="'
    form = page_form(Prediction("?", choices=["6"])) | {
        "kind": breaks,
        "stops": [],
        "model": breaks,
    }
    shown = [
        {"image/jpeg": breaks, "text/plain": breaks},
        {"image/gif": breaks},
        {outputs.PAGE: form},
    ]
    cells = [
        new_markdown_cell(
            f"# T\n\n![a](data:image/png,{breaks.replace(' ', '%20')}) ![b](<data:{breaks}>)"
        ),
        new_markdown_cell("![c](attachment:c.png)", attachments={"c.png": {breaks: breaks}}),
        new_markdown_cell(f'## Part {breaks}\n\n[d](<https://e.org/{breaks}> "{breaks}")'),
        code("f()", *(new_output("display_data", data=data) for data in shown)),
    ]
    made = slides.Slides(cells, Path("own.ipynb"), None)
    for column in made.columns:
        for slide in column:
            slide.id = breaks
    page = deck.page(made)
    assert "window.pwn" in page and Attributes(page).live == []
    with pytest.raises(ValueError):
        of(code("f()", new_output("display_data", data={outputs.PAGE: form | {"stops": [breaks]}})))
