import json
from pathlib import Path

import pytest

from autolab.trace.model import Trace


@pytest.fixture(scope="session")
def sample():
    return Trace.from_json(
        json.loads((Path(__file__).parents[1] / "trace" / "sample_trace.json").read_text())
    )
