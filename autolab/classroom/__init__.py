"""Tools for instructors: plans, solutions, notebooks to hand out and to grade, a cheat sheet.

Each of them is a command: `autolab-kit plans`, `solutions`, `release`, `grade`, `cheatsheet`,
`inventory` (docs/teaching.md, docs/grading.md).
"""
