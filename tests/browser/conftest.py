"""A real JupyterLab in a headless Chromium: one server for the session, one open notebook for the tests of a module."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from lab import LEARNER, PATIENCE, Notebook, Server, offline  # noqa: E402 (needs the path set above)

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("AUTOLAB_NO_BROWSER") == "1":
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="AUTOLAB_NO_BROWSER=1"))


@pytest.fixture(scope="session")
def chromium() -> str:
    named = os.environ.get("AUTOLAB_CHROMIUM")
    found = named or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.fail(
            "the browser tests need Chromium and found none. Install it (Debian, Ubuntu: `sudo apt install chromium`), "
            "or set AUTOLAB_NO_BROWSER=1 to go without these tests.",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any], chromium: str
) -> dict[str, Any]:
    return {
        **browser_type_launch_args,
        "executable_path": chromium,
        "args": ["--no-sandbox", "--disable-dev-shm-usage"],
    }


@pytest.fixture
def page_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of the browser's context behind `page`: a test's parameter, or what a module says by a fixture of this
    name."""
    return getattr(request, "param", {})


@pytest.fixture
def page(browser: Browser, page_options: dict[str, Any]) -> Iterator[Page]:
    """A page without network: for exported widgets. The test fails when the page complains of anything."""
    with offline(browser, **page_options) as page:
        yield page


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("lab"))
    yield running.wait()
    running.stop()


@pytest.fixture(scope="module")
def open_notebook(server: Server, browser: Browser) -> Iterator[Callable[..., Notebook]]:
    """`open_notebook(name, **context options)`: a page of its own for each call, closed after the module."""
    contexts: list[BrowserContext] = []

    def opened(name: str, **options: Any) -> Notebook:
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1500, "height": 1000}} | options)
        )
        return Notebook(server, contexts[-1], name)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    """The learner's explorer in a notebook that has been run."""
    server.write("learner.ipynb", LEARNER)
    return open_notebook("learner.ipynb").run()


@pytest.fixture
def notebook(shared: Notebook) -> Notebook:
    """The same, put back to how it began."""
    shared.reset()
    return shared
