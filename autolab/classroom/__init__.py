"""What somebody who teaches with the course needs: plans, solutions, notebooks to hand out and to grade, a cheat sheet.

All of it is on the command line: `autolab-kit plans`, `solutions`, `release`, `grade`, `cheatsheet`, `inventory`
(docs/teaching.md, docs/grading.md).
"""
