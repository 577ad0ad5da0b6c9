"""The page of ``quell watch --browser`` in a browser: it follows, and harms nobody."""

import shutil
import warnings
from urllib.parse import urlsplit

import pytest
from helpers.problems import QUICK
from helpers.watching import HOSTILE, problem

import quell
from quell.watch.following import Follower
from quell.watch.server import serving

expect = pytest.importorskip("playwright.sync_api").expect
#: Milliseconds; conditions are locators, for the page's policy forbids scripts given as text.
PATIENCE = 30_000


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.quelljournal"
    how = {"budget": 16, "seed": 5006, "settings": QUICK, "progress": False, "journal": path}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        quell.infer(problem(), start=[2.5, 0.0], **how)
    return path


@pytest.fixture
def journal(kept, tmp_path):
    return shutil.copy(kept, tmp_path / "run.quelljournal")


def goes_on(path, n):
    """The run again, with so many evaluations."""
    how = {"settings": QUICK, "progress": False, "journal": path, "journal_check": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        quell.infer(problem(), budget=n, start=[2.5, 0.0], **how)


def test_the_page_is_drawn_and_follows_the_journal(page, journal):
    follower = Follower(journal)
    follower.look()
    with serving(follower, every=0.1) as server:
        page.goto(server.address)
        page.wait_for_selector("#tiles dd")
        assert page.text_content("#status") == "finished"
        assert "16 / 16" in page.text_content("#tiles")
        assert page.locator("#marginals figure").count() == 2
        assert page.locator("#trace path.curve").count() == 1
        assert page.locator("#values .dot").count() + page.locator("#values .bad").count() == 16
        assert page.title() == "16/16 run.quelljournal"
        goes_on(journal, 20)
        expect(page.locator("#tiles")).to_contain_text("20 / 20", timeout=PATIENCE)
        expect(page.locator("#values .dot, #values .bad")).to_have_count(20, timeout=PATIENCE)
        assert page.complaints == []
        hosts = {urlsplit(url).netloc for url in page.requests if not url.startswith("data:")}
        assert hosts == {f"127.0.0.1:{server.server_port}"}


def test_hostile_names_and_errors_are_text(page, journal):
    follower = Follower(journal)
    follower.look()
    with serving(follower, every=5.0) as server:
        page.goto(server.address)
        page.wait_for_selector("#marginals figcaption")
        assert page.locator("img").count() == 0
        assert HOSTILE.partition("\x1b")[0] in page.text_content("#marginals figcaption >> nth=0")
        assert "onerror" in page.text_content("#failures")
        assert page.complaints == []
        page.evaluate(
            "const tag = document.createElement('script'); tag.textContent = 'window.hit = 1';"
            "document.body.append(tag)"
        )
        assert page.evaluate("window.hit") is None  # the policy of the page lets no other code in


def test_light_dark_and_narrow(new_page, journal):
    follower = Follower(journal)
    follower.look()
    with serving(follower, every=5.0) as server:
        backs = set()
        for scheme in ("light", "dark"):
            page = new_page(viewport={"width": 420, "height": 800}, color_scheme=scheme)
            page.goto(server.address)
            page.wait_for_selector("#tiles dd")
            backs.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert len(backs) == 2


def test_it_says_when_the_watch_has_ended(page, journal):
    follower = Follower(journal)
    follower.look()
    with serving(follower, every=5.0) as server:
        page.goto(server.address)
        page.wait_for_selector("#tiles dd")
    expect(page.locator("#link")).to_contain_text("has ended", timeout=PATIENCE)
