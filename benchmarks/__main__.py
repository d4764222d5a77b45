"""`python -m benchmarks [--rounds 9] [--seconds 0.3] [--backends torch autolab] [--works …] [--no-save]`"""

import argparse

from . import imports, interleave, report
from .works import BACKENDS, WORKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="blocks per backend and work (default 9)")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a block (default 0.3)")
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument("--works", nargs="+", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--no-save", action="store_true", help="print only; write nothing to benchmarks/results")
    options = parser.parse_args()
    record = {"date": report.today(), "machine": report.machine()}
    record["versions"], record["results"] = interleave.run(
        options.rounds, options.seconds, options.works, options.backends
    )
    record["imports"] = imports.run()
    print("\n" + report.table(record))
    print("\n".join(report.targets(record)))
    if not options.no_save:
        print("written:", report.write(record))


if __name__ == "__main__":
    main()
