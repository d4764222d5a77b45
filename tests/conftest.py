"""What all tests share: helper modules on the path, and the header line that says what the engine is compared with."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from goldens import oracle  # noqa: E402 (needs the path set above)


BROWSER_TESTS = Path(__file__).parent / "browser"


def pytest_ignore_collect(collection_path, config):
    """`pytest tests` leaves the browser tests out: they run when they are named, for they need the machine alone."""
    if collection_path == BROWSER_TESTS:
        named = [(config.invocation_params.dir / arg.split("::")[0]).resolve() for arg in config.args]
        return None if any(path.is_relative_to(BROWSER_TESTS) for path in named) else True
    return None


def pytest_collection_modifyitems(config, items):
    """Tests of a real GPU are left out where there is none, those of compiled functions where the plain engine runs."""
    import autolab

    absent = [] if autolab.cuda.is_available() else ["gpu"]
    if os.environ.get("AUTOLAB_ENGINE") == "plain":
        absent.append("compiled")
    out = [item for item in items if any(map(item.get_closest_marker, absent))]
    if out:
        config.hook.pytest_deselected(items=out)
        kept = set(items) - set(out)
        items[:] = [item for item in items if item in kept]


def pytest_report_header(config):
    return f"engine under test: {oracle.ENGINE}; compared with: {oracle.describe()}"


def pytest_sessionfinish(session, exitstatus):
    oracle.save_recorded()
