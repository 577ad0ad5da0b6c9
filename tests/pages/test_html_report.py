"""Reports: what is in them, and what must never be."""

import ast
import base64
import hashlib
import json
import re
from functools import cache
from itertools import pairwise

import html5lib
import numpy as np
import pytest
from helpers.files import constrained_result, noisy_result
from helpers.pages import (
    ERROR,
    HOSTILE,
    Page,
    hostile_result,
    large_result,
    plain_problem,
    plain_result,
)
from helpers.pages import infer as infer_quietly

import quell
from quell.cli import main
from quell.pages.door import page_of, report_html
from quell.pages.provenance import snippet
from quell.studies.result import Row, StudyResult
from quell.text import printable

MOST_BYTES = 1_000_000


@cache
def constrained():
    return constrained_result()


@cache
def subjects():
    """Everything that can be reported, by name."""
    runs = {"<b>one</b>": plain_result(), "two": plain_result(5104)}
    study = StudyResult(
        (
            Row("<i>anna</i>", 1, -3.2, 0.1, -3.3, 0.1, True, 80, status="stable"),
            Row("ben", 1, error=ERROR),
        ),
        {("<i>anna</i>", 1): plain_result()},
    )
    group = {
        "Bayesian": {f"S<{i}>": (-50.0 - 5 * (not i), 0.3) for i in range(5)},
        "fixed": {f"S<{i}>": (-55.0 + 5 * (not i), 0.3) for i in range(5)},
    }
    return {
        "a result": plain_result(),
        "hostile names": hostile_result(),
        "ten parameters": large_result(),
        "a constraint": constrained(),
        "a stack": quell.stack(runs.values()),
        "several runs": runs,
        "a study": study,
        "models": quell.compare({"<u>a</u>": (-40.1, 0.2), "b": (-42.0, 0.2)}),
        "a group": quell.compare(group),
    }


@pytest.fixture(scope="module")
def pages():
    return {name: report_html(subject) for name, subject in subjects().items()}


NAMES = [
    "a result", "hostile names", "ten parameters", "a constraint", "several runs", "a study",
    "models", "a group", "a stack",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
class TestEveryPage:
    def test_is_valid_html(self, pages, name):
        html5lib.HTMLParser(strict=True).parse(pages[name])

    def test_asks_nothing_of_a_network(self, pages, name):
        page = Page(pages[name])
        for tag, attributes in page.elements:
            for key in ("src", "href", "action", "xlink:href", "data", "srcset", "poster"):
                value = attributes.get(key, "#")
                assert value.startswith("#") or (tag, value) == ("link", "data:,"), (tag, key)
            assert not [key for key in attributes if key.startswith("on") or key == "style"]
        assert not re.search(r"url\(|@import|<base|http-equiv=.refresh", pages[name])
        elsewhere = pages[name].replace("http://www.w3.org/2000/svg", "")  # a name, not an address
        assert not re.search(r"""["'=(]\s*(https?:)?//\w""", elsewhere)
        policy = next(a["content"] for a in page.all("meta") if "http-equiv" in a)
        assert policy.startswith("default-src 'none';")
        assert "unsafe" not in policy

    def test_the_policy_allows_its_own_script_and_style(self, pages, name):
        policy = next(a["content"] for a in Page(pages[name]).all("meta") if "http-equiv" in a)
        found = [
            re.search(rf"<{tag}>(.*?)</{tag}>", pages[name], re.DOTALL).group(1)
            for tag in ("style", "script")
        ]
        for text in found:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy

    def test_has_only_our_own_elements(self, pages, name):
        page = Page(pages[name])
        assert len(page.all("script")) == 2
        known = {"script", "img", "b", "i", "u", "iframe", "object"} - {"script"}
        assert not {tag for tag, _ in page.elements} & known
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", pages[name])

    def test_can_be_read_by_those_who_do_not_see_it(self, pages, name):
        page = Page(pages[name])
        ids = [a["id"] for _, a in page.elements if "id" in a]
        assert len(ids) == len(set(ids))
        for tag, attributes in page.elements:
            for key in ("aria-labelledby", "aria-describedby", "for"):
                for one in attributes.get(key, "").split():
                    assert one in ids, (tag, one)
            if tag == "a":
                assert attributes["href"][1:] in ids
            if tag == "svg":
                assert attributes.get("aria-hidden") == "true" or "aria-labelledby" in attributes
            if tag == "th":
                assert "scope" in attributes
        assert len(page.all("caption")) == len(page.all("table"))
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))

    def test_is_small(self, pages, name):
        assert len(pages[name].encode()) < MOST_BYTES

    def test_data_for_the_script(self, pages, name):
        data = json.loads(Page(pages[name]).scripts[0])
        for chart in data["charts"].values():
            assert len(chart["x"]) == len(chart["y"]) == len(chart["words"])
            assert np.isfinite([*chart["x"], *chart["y"]]).all()
        ids = [a["id"] for _, a in Page(pages[name]).elements if "id" in a]
        assert set(data["charts"]) <= set(ids)


class TestOneRun:
    def test_the_same_result_gives_the_same_page_also_from_a_file(self, pages, tmp_path):
        assert report_html(plain_result()) == pages["a result"]
        plain_result().save(tmp_path / "fit.quell")
        assert report_html(quell.load(tmp_path / "fit.quell")) == pages["a result"]

    def test_the_verdict_and_its_reasons(self, pages):
        text = Page(pages["a result"]).text
        result = plain_result()
        assert str(result.status) in text
        for reason in (*result.reasons, *(one.text for one in result.check().reasons)):
            assert reason in text
        for finding in result.findings:
            assert finding.test.replace("_", " ") in text

    def test_figures(self, pages):
        result = plain_result()
        text = Page(pages["a result"]).text
        for value, sd in (
            (result.log_evidence, result.log_evidence_sd), (result.elbo, result.elbo_sd)
        ):  # fmt: skip
            assert f"{value:.3f} ± {sd:.3f}" in text
        rows = page_of(result).parameters
        assert [row.name for row in rows] == list(result.posterior.names)
        for i, row in enumerate(rows):
            mean, sd = result.posterior.mean()[i], result.posterior.sd()[i]
            assert abs(float(row.mean) - mean) <= 0.01 * sd
            assert abs(float(row.sd) - sd) <= 0.01 * sd
            ends = result.posterior.interval(0.95, i)
            assert np.allclose([float(row.low), float(row.high)], ends, atol=0.01 * sd)
            assert (row.plausible, row.bounds) == ("-2 to 2", "-9 to 9")
            assert row.mean in text

    def test_evaluations(self):
        result = plain_result()
        section = page_of(result).evaluations
        best = np.sort(result.evaluations.log_joint[result.evaluations.ok])[::-1]
        assert [row[1] for row in section.best] == [f"{v:.3f}" for v in best[: len(section.best)]]
        assert len(section.data["rows"]) == len(result.evaluations)

    def test_failures_are_counted_by_their_text(self, pages):
        table = hostile_result().evaluations
        assert table.n_failed > 0
        [failure] = page_of(hostile_result()).evaluations.failures
        assert failure.count == table.n_failed
        assert failure.text == f"ValueError: {printable(ERROR)}"
        assert failure.first == int(np.flatnonzero(~table.ok)[0]) + 1
        assert failure.text in Page(pages["hostile names"]).text

    def test_hostile_names_are_shown_as_text(self, pages):
        text = Page(pages["hostile names"]).text
        for name in HOSTILE:
            assert printable(name) in text
        assert "{{ 7 * 7 }}" in text  # no template either

    def test_a_title(self):
        page = Page(report_html(plain_result(), title="<b>\x1b Pilot & co"))
        assert "<b>\\x1b Pilot & co" in page.text
        with pytest.raises(TypeError, match="title must be text"):
            report_html(plain_result(), title=3)

    def test_kinds_of_parameters(self):
        rows = page_of(hostile_result()).parameters
        assert "integer" in rows[1].note
        assert rows[1].bounds == "0 to 9"
        assert "periodic" in rows[2].note
        assert (rows[3].mean, rows[3].free) == ("2", False)

    @pytest.mark.parametrize("result", [hostile_result, plain_result, constrained])
    def test_the_code_to_make_it_again_is_code(self, result):
        one = result()
        tree = ast.parse(snippet(one))
        call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
        named = {word.arg: word.value for word in call.keywords}
        assert ast.literal_eval(named["names"]) == list(one.posterior.names)
        assert f"seed={one.seed}" in snippet(one)
        assert snippet(one).isascii()

    def test_a_file_without_its_constraint(self, tmp_path):
        constrained().save(tmp_path / "fit.quell")
        page = page_of(quell.load(tmp_path / "fit.quell"))
        assert "constraint=" in page.no_slices
        assert page.corner.data["parameters"][0]["curve"]
        assert page.corner.chart.svg.count('class="r50"') == 1

    def test_a_run_under_way(self, tmp_path):
        path = tmp_path / "run.quelljournal"
        seen = []

        def look(update):
            if update.iteration == 2:
                seen.append(report_html(quell.load(path)))

        noisy_result(budget=20, journal=path, callback=look)
        page = Page(seen[0])
        assert "Under way" in page.text
        assert "not finished" in page.text

    @pytest.mark.filterwarnings("ignore:.*improper:UserWarning")
    def test_an_improper_prior(self):
        problem = quell.Problem(
            lambda theta: -0.5 * theta[0] ** 2, lower=-np.inf, upper=np.inf, plausible_lower=-3,
            plausible_upper=3, noise="exact",
        )  # fmt: skip
        text = Page(report_html(infer_quietly(problem, budget=15, seed=5106))).text
        assert "log evidence undefined" in text
        assert "the prior is improper" in text

    def test_one_parameter(self):
        problem = quell.Problem(
            lambda theta: -0.5 * theta[0] ** 2, lower=-9, upper=9, plausible_lower=-3,
            plausible_upper=3, noise="exact",
        )  # fmt: skip
        html = report_html(infer_quietly(problem, budget=15, seed=5105))
        html5lib.HTMLParser(strict=True).parse(html)
        assert "no noise to audit" in html


class TestSeveral:
    def test_runs(self, pages):
        page = Page(pages["several runs"])
        runs = {"<b>one</b>": plain_result(), "two": plain_result(5104)}
        found = quell.diagnose(runs)
        for reason in found.reasons:
            assert reason in page.text
        assert f"{found.mmtv[0, 1]:.3f}" in page.text
        assert "<b>one</b>" in page.text

    def test_one_in_a_list_is_the_page_of_that_one(self, pages):
        assert report_html([plain_result()]) == pages["a result"]

    def test_runs_of_different_problems(self):
        with pytest.raises(ValueError, match="one problem"):
            report_html([plain_result(), hostile_result()])

    def test_a_study(self, pages):
        text = Page(pages["a study"]).text
        assert "<i>anna</i>" in text
        assert printable(ERROR) in text
        assert "1 of 2 stable" in text

    def test_models(self, pages):
        comparison = subjects()["models"]
        text = Page(pages["models"]).text
        assert comparison.verdict() in text
        assert f"{comparison.probabilities[0]:.3f}" in text
        assert comparison.cautions == () or comparison.cautions[0] in text

    def test_a_group(self, pages):
        group = subjects()["a group"]
        text = Page(pages["a group"]).text
        assert group.verdict() in text
        assert f"{group.omnibus_risk:.3f}" in text
        assert "S<4>" in text

    @pytest.mark.parametrize("wrong", [3, "fit.quell", [1, 2], {"a": None}])
    def test_what_cannot_be_reported(self, wrong):
        with pytest.raises(TypeError, match="a report is about"):
            report_html(wrong)

    def test_nothing(self):
        with pytest.raises(ValueError, match="at least one"):
            report_html([])
        with pytest.raises(ValueError, match="no runs"):
            report_html(StudyResult(()))


class TestTheFile:
    def test_methods_write_the_same_file(self, pages, tmp_path):
        path = plain_result().report(tmp_path / "fit.html")
        assert path.read_text(encoding="utf-8") == pages["a result"]
        for name in ("a study", "models", "a group"):
            path = subjects()[name].report(tmp_path / "fit.html")  # in the other's place
            assert path.read_text(encoding="utf-8") == pages[name]

    def test_a_file_that_is_no_report_is_left(self, tmp_path):
        path = tmp_path / "fit.html"
        path.write_text("<!doctype html><p>mine", encoding="utf-8")
        with pytest.raises(quell.FileError, match=r"was not written by result\.report"):
            plain_result().report(path)
        assert path.read_text(encoding="utf-8") == "<!doctype html><p>mine"

    def test_overwrite(self, tmp_path):
        path = plain_result().report(tmp_path / "fit.html")
        with pytest.raises(quell.FileError, match="exists"):
            plain_result().report(path, overwrite=False)

    def test_no_folder(self, tmp_path):
        with pytest.raises(quell.FileError, match="does not exist"):
            plain_result().report(tmp_path / "no" / "fit.html")
        with pytest.raises(quell.FileError, match=r"such as 'fit.html'"):
            plain_result().report(tmp_path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed in (5102, 5104):
        plain_result(seed).save(folder / f"fit{seed}.quell")
    return folder


class TestTheCommand:
    def test_one_run(self, files, pages, capsys):
        out = files / "one.html"
        assert main(["report", str(files / "fit5102.quell"), "--out", str(out)]) == 0
        assert capsys.readouterr().out.strip() == str(out)
        assert out.read_text(encoding="utf-8") == pages["a result"]

    def test_several_runs_have_the_names_of_their_files(self, files):
        out = files / "two.html"
        paths = [str(files / "fit5102.quell"), str(files / "fit5104.quell")]
        assert main(["report", *paths, "--out", str(out), "--title", "Both"]) == 0
        text = Page(out.read_text(encoding="utf-8")).text
        assert "fit5102" in text
        assert "fit5104" in text
        assert "Both" in text

    def test_a_study(self, files, tmp_path):
        problem = plain_problem()
        quell.study({"anna": problem}, budget=20, seeds=[1], folder=tmp_path / "study",
                    progress=False)  # fmt: skip
        assert main(["report", str(tmp_path / "study"), "--out", str(tmp_path / "s.html")]) == 0
        assert "anna" in (tmp_path / "s.html").read_text(encoding="utf-8")
        paths = [str(tmp_path / "study"), str(files / "fit5102.quell")]
        assert main(["report", *paths, "--out", str(tmp_path / "s.html")]) == 2

    @pytest.mark.parametrize("arguments", [["no.quell"], ["no.quell", "nor.quell"]])
    def test_what_is_not_there(self, arguments, capsys, tmp_path):
        assert main(["report", *arguments, "--out", str(tmp_path / "x.html")]) == 2
        assert capsys.readouterr().err == "quell: there is no file 'no.quell'\n"
        assert not (tmp_path / "x.html").exists()

    def test_different_problems(self, files, capsys, tmp_path):
        hostile_result().save(tmp_path / "other.quell")
        paths = [str(files / "fit5102.quell"), str(tmp_path / "other.quell")]
        assert main(["report", *paths, "--out", str(tmp_path / "x.html")]) == 2
        assert "quell.compare" in capsys.readouterr().err
