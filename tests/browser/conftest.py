"""Pages looked at in a real browser: Debian's chromium, driven by playwright.

Tests here are skipped, with a word about what is missing, where either is not installed
(``apt-get install chromium`` and ``pip install "quell[browser]"``).
"""

import os
import shutil

import pytest

#: What chromium is called by different distributions.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Milliseconds that anything in a page may take on a loaded machine.
PATIENCE = 30_000
#: Chromium's sandbox does not start for root or in most containers; it may not ask its maker for
#: updates, so that every request seen is one of the page.
OPTIONS = [
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--no-first-run",
]  # fmt: skip


def find_chromium():
    """Where the system's chromium is; "" if it is not installed."""
    return next((path for path in map(shutil.which, NAMES) if path), "")


# Playwright leaves an event loop running in its thread: it must be gone before tests elsewhere.
@pytest.fixture(scope="package")
def browser():
    """The browser, for tests that need more than one page or a page of a special kind."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='playwright is not installed (pip install "quell[browser]")'
    )
    path = find_chromium()
    if not path:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    os.environ.setdefault("DBUS_SESSION_BUS_ADDRESS", "disabled:")  # it would complain of none
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def new_page(browser):
    """A function that opens a page; its options are those of ``browser.new_context``."""
    contexts = []

    def open_page(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        return watched(context.new_page())

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page):
    """A page of 1200 x 900 that keeps a record of what it does.

    ``page.complaints`` are errors and warnings on the console (violations of a content security
    policy among them) and exceptions that nobody caught; ``page.requests`` the addresses of all
    that was asked for, the page itself included.
    """
    return new_page(viewport={"width": 1200, "height": 900})


def watched(page):
    """The page with its records."""
    page.set_default_timeout(PATIENCE)
    page.complaints, page.requests = [], []

    def said(message):
        if message.type in ("error", "warning"):
            page.complaints.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    return page
