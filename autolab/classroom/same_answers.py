"""Find submissions that have the same answers as another one."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import replace

from .submission import Submission

# shorter answers (counted in nodes of their syntax trees, about five lines) are often equal by chance
LEAST_NODES = 60


def flagged(submissions: list[Submission]) -> list[Submission]:
    """Return the submissions; add a remark to each one whose answers equal the answers of another one.

    Comments and layout do not count, names do. Cells as they were handed out, and answers so short that they are equal
    by chance, are not compared.
    """
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    prints = [_answers(one) for one in submissions]
    for one, code in zip(submissions, prints):
        if code:
            same[code].append(one.name)
    found = []
    for one, code in zip(submissions, prints):
        others = [name for name in same.get(code, ()) if name != one.name]
        remark = f"its answers are the same code as those of {', '.join(others[:5])}"
        found.append(replace(one, look=(*one.look, remark)) if others else one)
    return found


def _answers(submission: Submission) -> tuple[str, ...]:
    """Return the syntax of the cells that answer exercises, () for too little code."""
    trees = []
    for cell in submission.own_cells():
        if not cell.answers:
            continue
        try:
            trees.append(ast.parse(cell.source))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    if sum(1 for tree in trees for _ in ast.walk(tree)) < LEAST_NODES:
        return ()
    return tuple(ast.dump(tree) for tree in trees)
