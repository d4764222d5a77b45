"""`python -m benchmarks`: speed and memory against PyTorch, mygrad, HIPS autograd and tinygrad; about eight minutes.

`--only lenet nodes` runs parts; `--quick` halves rounds and blocks. Results go to
benchmarks/results/<date>-<name>.{json,md}.
"""

import argparse

from . import imports, interleave, report
from .works import BACKENDS, PARTS, WORKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        default=[*PARTS, "imports"],
        choices=[*PARTS, "imports"],
        help="parts to run (default all)",
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="blocks per backend and work (default 7)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="length of a block (default 0.3)"
    )
    parser.add_argument("--quick", action="store_true", help="3 rounds of 0.15 seconds")
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[1, 2],
        help="numbers of threads for the networks (default 1 2)",
    )
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument(
        "--name", default="cpu", help="what the files are called after the date (default cpu)"
    )
    parser.add_argument(
        "--no-save", action="store_true", help="print only; write nothing to benchmarks/results"
    )
    options = parser.parse_args()
    rounds, seconds = (3, 0.15) if options.quick else (options.rounds, options.seconds)
    works = [name for name, work in WORKS.items() if work.part in options.only]
    record = {"date": report.today(), "machine": report.machine()}
    record["versions"], record["results"] = interleave.run(
        rounds, seconds, works, options.backends, options.threads
    )
    if "imports" in options.only:
        record["imports"] = imports.run()
    print("\n" + report.table(record))
    print("\n".join(report.targets(record)))
    if not options.no_save:
        print("written:", report.write(record, name=options.name))


if __name__ == "__main__":
    main()
