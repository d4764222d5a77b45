"""The process that runs one submission: `python -m autolab.classroom.runner`, started by
`sandbox.py`.

It reads its work as one line of JSON from standard input. It writes lines of JSON to its original
standard output: which cell begins, which error it raised, what the answers returned. Everything
that learners print is dropped. It judges nothing, because learners control this process from their
first cell on.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any


def main() -> None:
    """Run the cells in order, and run each answer on the inputs of its exercise as soon as its cell
    has run."""
    job = json.loads(sys.stdin.readline())
    say = _speaker()
    _limit(job["memory"], job["seconds"])
    from ..lessons.book import exercise
    from ..lessons.registry import run
    from . import exam
    from .isolation import write_only_below

    if job["lesson"]:  # an instructor's own lesson; the cells import it from its current place
        stem, source, file = job["lesson"]
        run(stem, source, Path(file))

    def find(id: str) -> Any:
        return exercise(id) if job["variant"] is None else exam.exercises(job["variant"])[id]

    found = {id: find(id) for cell in job["cells"] for id in cell["answers"]}
    shell = _shell()
    write_only_below(os.getcwd())
    say({"ready": True})
    for cell in job["cells"]:
        say({"cell": cell["number"]})
        if cell["run"]:
            result = shell.run_cell(cell["source"])
            error = result.error_before_exec or result.error_in_exec
            if error is not None:
                say({"raised": cell["number"], "text": f"{type(error).__name__}: {error}"[:300]})
        for id, expression in cell["answers"].items():
            say({"answer": id})
            say({"seen": id, **_seen(found[id], expression, shell.user_ns)})
    say({"end": True})


def _seen(exercise: Any, expression: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return the results of the answer for each input, the public ones first, which is the order of
    judging."""
    from ..lessons import exercise as lessons
    from .wire import encode

    try:
        answer = eval(expression, names)
    except Exception as error:  # noqa: BLE001  what the learner's code raises is a result
        return {"missing": f"{type(error).__name__}: {error}"[:300]}
    if answer is None or answer is Ellipsis:
        return {"open": True}
    cases = sorted(exercise.cases, key=lambda case: not case.public)
    gave = [encode(lessons.observation(exercise, answer, case)) for case in cases]
    used = sorted(getattr(lessons, "names_in", lambda _: ())(answer))
    return {"gave": gave, "callable": callable(answer), "text": repr(answer)[:200], "names": used}


def _speaker() -> Any:
    """Return the function that writes a line. Standard output and standard error are dropped from
    now on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

    def say(line: dict[str, Any]) -> None:
        channel.write(json.dumps(line) + "\n")
        channel.flush()

    return say


def _limit(memory: int, seconds: int) -> None:
    """Set limits for this process, if the system has them: bytes of memory, bytes of one file, CPU
    seconds."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for name, most in (("AS", memory), ("FSIZE", 2**28), ("CPU", seconds), ("CORE", 0)):
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        except (ValueError, OSError):  # macOS cannot limit memory
            continue


def _shell() -> Any:
    """Return IPython's own shell, which also runs the cells in a kernel."""
    from IPython.core.interactiveshell import InteractiveShell

    warnings.simplefilter("ignore")
    shell = InteractiveShell.instance()
    if shell.history_manager is not None:
        shell.history_manager.enabled = False
    return shell


if __name__ == "__main__":
    main()
