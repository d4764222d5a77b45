import pytest

from autolab import progress
from autolab.lessons.book import record


@pytest.fixture(autouse=True)
def fresh_record():
    """What was checked, asked and predicted in one test is forgotten in the next."""
    record.__init__()
    progress.forget()
