"""`autolab-kit check-course`: what is stored in notebooks is what they give."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from autolab import cli
from autolab.classroom import course_check


def notebook(path, *cells):
    """Of (source, text that is stored as printed, or None)."""
    made = []
    for number, (source, printed) in enumerate(cells, 1):
        ran = (
            {}
            if printed is None
            else {
                "outputs": [new_output("stream", name="stdout", text=printed)],
                "execution_count": number,
            }
        )
        made.append(new_code_cell(source, **ran))
    path.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=made), path)


def test_what_differs_is_told_by_notebook_and_the_status_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    notebook(
        tmp_path / "01.ipynb",
        ("print('took 3 ms')", "took 5 ms\n"),
        ("open('my_notes.txt', 'w').write('x'); print(2)", "3\n"),
    )
    (tmp_path / "broken.ipynb").write_text("{")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "02.ipynb").write_text("{")
    assert cli.main(["check-course", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert (
        said.startswith("There is no Graphviz here")
        and 'pip install "autolab-kit[graphviz]"' in said
    )
    assert "01.ipynb: 2 cells, 1 differ: 1 (counted from 0, code only)" in said, (
        "times are left out, numbers are not"
    )
    assert "broken.ipynb: cannot be read as a notebook" in said and "02.ipynb" not in said
    assert "mismatch 'stdout'" in said, "what differs is shown"
    assert not list(tmp_path.rglob("my_*")) and not list(tmp_path.rglob("*.xml")), "a copy is run"


def test_as_stored_is_status_0(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "dot")
    notebook(tmp_path / "01.ipynb", ("import os; print(os.environ['AUTOLAB_PROGRESS'])", "off\n"))
    notebook(tmp_path / "more" / "my_own.ipynb", ("print(1)", None))
    assert cli.main(["check-course", str(tmp_path), "--jobs", "2"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "01.ipynb: 1 cells, all as stored"
    assert second == "more/my_own.ipynb: 1 cells, all ran; no outputs are stored to compare with"


def test_without_notebooks_or_nbval_a_sentence_says_what_to_do(tmp_path, capsys, monkeypatch):
    assert cli.main(["check-course", str(tmp_path)]) == 1
    assert (
        f"there is no notebook (.ipynb) in {tmp_path}\nName the folder" in capsys.readouterr().err
    )
    monkeypatch.setattr(course_check.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["check-course"]) == 1
    assert 'pip install "autolab-kit[teach]"' in capsys.readouterr().err
    assert (
        cli.main(["check-course", "--jobs", "0"]) == 1
        and "jobs should be at least 1" in capsys.readouterr().err
    )
