"""What a notebook shows: one line or a small table, with nothing in it that could act."""

from html.parser import HTMLParser

import numpy as np
import pytest
from helpers.problems import make, normal, run

from quell import Evaluations, Settings, StudyResult
from quell.interface import Html
from quell.studies.result import Row

HOSTILE = '<img src=x onerror="alert(1)">\x1b[2J&'


class Reader(HTMLParser):
    """The tags and the text of a page; a tag that is not closed is found."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.cells = [], [], "", 0
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.cells += tag in ("td", "th")
        assert all(name == "style" for name, _ in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def result():
    names = [HOSTILE, "b", "fixed"]
    box = {"lower": [-9, -9, 2], "upper": [9, 9, 2], "plausible_lower": [-2, -2, 2],
           "plausible_upper": [2, 2, 2]}  # fmt: skip
    return run(make(lambda theta: normal(theta[:2]), names=names, noise="exact", **box))


@pytest.fixture(scope="module")
def things(result):
    study = StudyResult(
        (Row(HOSTILE, 1, -3.2, 0.1, -3.3, 0.1, True, 80), Row("b", 1, error=HOSTILE))
    )
    few = Evaluations.from_arrays([[1.0]], [np.nan], errors=[HOSTILE], names=[HOSTILE])
    return [result, result.posterior, result.evaluations, few, study]


def test_a_problem_shows_each_parameter_as_its_text_does():
    box = {"lower": [-9, 0, 2], "upper": [9, 5, 2], "plausible_lower": [-2, 1, 2],
           "plausible_upper": [2, 3, 2]}  # fmt: skip
    problem = make(normal, names=["a", "k", "f"], integer=["k"], **box)
    text = Reader(problem._repr_html_()).text
    for row in repr(problem).splitlines()[2:]:
        for cell in row.split("  "):
            assert cell.strip() in text
    assert "integer" in text


def test_pages_are_whole_and_harmless(things):
    problem = make(normal, 2, names=[HOSTILE, "b"])
    for thing in [*things, problem]:
        page = Reader(thing._repr_html_())
        assert set(page.tags) <= {"div", "strong", "table", "tr", "th", "td"}
        assert "\x1b" not in page.text
        assert "onerror" in page.text  # as text
        assert "color:inherit" in thing._repr_html_()


def test_a_result_shows_its_figures(result):
    page = Reader(result._repr_html_())
    assert f"{result.log_evidence:.3f} ± {result.log_evidence_sd:.3f}" in page.text
    assert str(result.status) in page.text
    assert page.cells == 6 * 4
    assert "fixed" in page.text


def test_long_tables_are_cut(result):
    page = Reader(result.evaluations._repr_html_())
    assert page.cells == (1 + 5 + 1 + 5) * (1 + 3 + 4)
    assert f"{len(result.evaluations) - 1}" in page.text


def test_representations_are_one_line(things):
    for thing in things:
        assert "\n" not in repr(thing)
        assert "\x1b" not in repr(thing)
        assert len(repr(thing)) < 160
    assert "15 evaluations" in repr(things[0])
    assert str(things[0]) == things[0].summary()


def test_settings_show_what_was_changed():
    assert repr(Settings()) == "Settings()"
    changed = Settings(batch=3, acquisition="eig")
    assert repr(changed) == "Settings(acquisition='eig', batch=3)"
    assert eval(repr(changed)) == changed


def test_everything_on_a_page_is_escaped():
    page = str(Html().heading(HOSTILE).text(HOSTILE).table([HOSTILE], [[HOSTILE]]))
    assert Reader(page).tags == ["div", "div", "strong", "div", "table", "tr", "th", "tr", "td"]


def test_the_summary_as_a_data_frame(result):
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert list(frame.index) == list(result.posterior.names)
    assert list(frame.columns) == ["mean", "sd", "2.5 %", "median", "97.5 %"]
    np.testing.assert_array_equal(frame["mean"], result.posterior.mean())
    np.testing.assert_array_equal(frame[["2.5 %", "97.5 %"]], result.posterior.interval(0.95))
