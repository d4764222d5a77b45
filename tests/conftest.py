"""What all tests share: helper modules on the path, and the header line that says what the engine is compared with."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from goldens import oracle  # noqa: E402 (needs the path set above)


def pytest_report_header(config):
    return f"engine under test: {oracle.ENGINE}; compared with: {oracle.describe()}"


def pytest_sessionfinish(session, exitstatus):
    oracle.save_recorded()
