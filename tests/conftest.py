"""What all tests share: helper modules on the path, and the header line that says what the engine is compared with."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest  # noqa: E402
from goldens import oracle  # noqa: E402 (needs the path set above)


BROWSER_TESTS = Path(__file__).parent / "browser"
# Files with few tests that take long. Begun last, one would run for a minute beside a worker with nothing to do.
LONG = {
    f"test_{name}.py"
    for name in (
        "pretraining",
        "finetune_digits",
        "skipped",
        "dot",
        "autograd_scale",
        "walks",
        "page_controls",
    )
}


def pytest_ignore_collect(collection_path, config):
    """`pytest tests` leaves the browser tests out: they run when they are named, for they need the machine alone."""
    if collection_path == BROWSER_TESTS:
        named = [
            (config.invocation_params.dir / arg.split("::")[0]).resolve() for arg in config.args
        ]
        return None if any(path.is_relative_to(BROWSER_TESTS) for path in named) else True
    return None


def pytest_collection_modifyitems(config, items):
    """Tests of a real GPU are left out where there is none, those of compiled functions where the plain engine runs,
    walks through whole lessons unless they are asked for. What takes long comes first."""
    import autolab
    from autolab.trace import guard

    guard.strict = True  # a fault of the recorder is seen here, and nowhere else

    items.sort(key=lambda item: item.path.name not in LONG)
    absent = [] if autolab.cuda.is_available() else ["gpu"]
    if os.environ.get("AUTOLAB_ENGINE") == "plain":
        absent.append("compiled")
    if "walks" not in config.getoption("-m"):
        absent.append("walks")
    out = [item for item in items if any(map(item.get_closest_marker, absent))]
    if out:
        config.hook.pytest_deselected(items=out)
        kept = set(items) - set(out)
        items[:] = [item for item in items if item in kept]


def pytest_report_header(config):
    return f"engine under test: {oracle.ENGINE}; compared with: {oracle.describe()}"


def pytest_sessionfinish(session, exitstatus):
    oracle.save_recorded(complete=exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED))


@pytest.fixture
def course(tmp_path):
    """A small course: two lessons, a data file in a folder, and what must not be copied."""
    source = tmp_path / "source"
    for name, text in {
        "01.ipynb": "one",
        "02.ipynb": "two",
        "data/points.csv": "1,2\n",
        "src/01/00.py": "source of a lesson",
        ".ipynb_checkpoints/01.ipynb": "left by Jupyter",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "mine"
