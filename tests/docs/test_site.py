"""The documentation as a site: its pages have their places, and what it must have is there."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import quell
import quell.baselines
import quell.plots

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = Path(quell.__file__).parent
pytestmark = pytest.mark.skipif(
    not DOCS.is_dir(), reason="the documentation is not part of this source tree"
)
#: The entry of each place in the code that warns, by file and function: beginnings of headings of
#: docs/troubleshooting.md. A new warning needs an entry there, and a line here.
WARNINGS = {
    ("journal/journal.py", "_open"): "the journal … was damaged",
    ("journal/reading.py", "read_journal"): "the write-ahead log … is damaged",
    ("native/__init__.py", "_load"): "compiled kernels are of other C files",
    ("plots/corner.py", "plot_corner"): "parameters two by two",
    ("plots/evaluations.py", "plot_evaluations"): "parameters two by two",
    ("problem/constraint.py", "warn_where_it_fails"): "prior failed at …",
    ("problem/integers.py", "space_with_integers"): "plausible bounds too close",
    ("problem/prior.py", "make_prior"): "the prior of … has … of its mass outside",
    ("records/problem.py", "restore_problem"): "the prior in the file has another density",
    ("run/session.py", "keep"): "the result is not kept in the journal",
    ("run/stopping.py", "warn_if_too_short"): "a budget of … is too small",
    ("space/bounds.py", "_with_margin"): "plausible bounds too close to a hard bound",
}


def read(page):
    return (DOCS / page).read_text(encoding="utf-8")


def headings(page):
    """The headings of a page, as they stand there."""
    return re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)


def calls(tree, name):
    """All calls of a function or method of this name, each with the function it is in."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for call in ast.walk(node):
            function = getattr(call, "func", None)
            if name in (getattr(function, "attr", None), getattr(function, "id", None)):
                yield node.name, call


def warning_places():
    """File and function of every warning that the package gives."""
    return {
        (path.relative_to(SOURCE).as_posix(), function)
        for path in SOURCE.rglob("*.py")
        for function, call in calls(ast.parse(path.read_text(encoding="utf-8")), "warn")
        if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "warnings"
    }


def finding_names():
    """The names of all tests of a verdict, from where their findings are made."""
    found = {"stability"}
    for path in (SOURCE / "diagnostics").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for maker in ("Finding", "_finding"):
            for _, call in calls(tree, maker):
                if call.args and isinstance(call.args[0], ast.Constant):
                    found.add(call.args[0].value)
    return found


class TestTroubleshooting:
    def test_every_finding_has_an_entry(self):
        names = finding_names()
        assert {"residual_scale", "core_prediction_error", "share_left_out"} <= names
        assert not names - set(headings("troubleshooting.md"))

    def test_every_warning_has_an_entry(self):
        assert warning_places() == set(WARNINGS)
        entries = headings("troubleshooting.md")
        for heading in WARNINGS.values():
            assert any(entry.startswith(heading) for entry in entries), heading

    def test_the_words_of_warnings_are_those_of_the_code(self):
        """A heading is the message as it is given, with … for what differs."""
        texts = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
        flat = re.sub(r'"\s+f?"', "", texts)  # literals over several lines
        for heading in headings("troubleshooting.md"):
            if heading[0].islower() and " " in heading:
                for part in re.split(r" ?… ?", heading):
                    assert part in flat, heading

    def test_reasons_of_a_check_name_a_section_of_the_page(self):
        problem = quell.Problem(
            lambda theta: -0.5 * theta[0] ** 2, lower=-9, upper=9, plausible_lower=-3,
            plausible_upper=3, noise="exact",
        )  # fmt: skip
        with pytest.warns(quell.BudgetWarning):
            result = quell.infer(problem, budget=12, seed=1, progress=False)
        page, section = result.check().reasons[-1].page.split("#")
        assert (ROOT / page).is_file()
        assert section in headings(Path(page).name)


class TestContents:
    def test_every_page_is_in_the_contents(self):
        listed = set(re.findall(r"^[\w/-]+$", read("index.md"), re.MULTILINE))
        pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.md")}
        pages = {p for p in pages if not p.startswith(("_build", "reference/generated"))}
        own = {"index"} | {p for p in pages if p.startswith("experiments/")}  # by a pattern
        assert pages - own <= listed
        assert "experiments/README" in listed

    def test_every_public_name_is_in_the_reference(self):
        page = read("reference/api.md")
        for module in (quell, quell.baselines, quell.likelihoods, quell.plots, quell.priors):
            block = page if module is quell else page.split(f"currentmodule:: {module.__name__}")[1]
            for name in module.__all__:
                thing = getattr(module, name)
                if inspect.isclass(thing) or inspect.isroutine(thing):
                    assert re.search(rf"^   {name}$", block, re.MULTILINE), name

    def test_links_between_pages_and_to_sections(self):
        """Also those of the README. The build checks the rest."""
        pages = [p for p in DOCS.rglob("*.md") if "_build" not in p.parts]
        for page in [ROOT / "README.md", *pages]:
            for link, anchor in re.findall(
                r"\]\((?!http)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8")
            ):
                target = (page.parent / link).resolve() if link else page
                assert target.exists(), (page.name, link)
                if anchor and target.suffix == ".md":
                    assert anchor in anchors(target), (page.name, link, anchor)

    def test_the_readme_is_short(self):
        assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def anchors(page):
    """What the headings of a page are called in links, as on code hosts and on the site."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in found}


@pytest.mark.parametrize("page", ["start", "bounds", "noise", "extend"])
@pytest.mark.filterwarnings("ignore::quell.BudgetWarning")
def test_the_code_of_a_page(page, capsys):
    """As it stands, from top to bottom."""
    names: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", read(f"{page}.md"), re.DOTALL)
    assert len(blocks) > 1
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out


def test_the_example_of_the_readme(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(
        compile(example.replace("seed=1)", "seed=1, budget=50, progress=False)"), "README", "exec"),
        {},
    )
    assert "log evidence" in capsys.readouterr().out


class TestSavedRuns:
    """The runs that tutorials open are of the problems on their pages."""

    @pytest.mark.parametrize("page", ["ibs", "ecology", "group"])
    def test_a_saved_run_is_of_the_problem_of_its_page(self, page, monkeypatch):
        monkeypatch.syspath_prepend(str(DOCS))
        from make_runs import blocks_up_to_the_run

        blocks, path = blocks_up_to_the_run(read(f"tutorials/{page}.md"))
        names: dict[str, object] = {"__name__": "page"}
        for block in blocks[:-1]:
            exec(compile(block, page, "exec"), names)
        saved = quell.load(DOCS / "tutorials" / path)
        if page == "group":
            problems = names["problems"]
            assert {row.problem for row in saved.rows} == set(problems)
            problem = problems["S01/hyperbolic"]
            saved = saved.result("S01/hyperbolic")
        else:
            problem = names["problem"]
        fingerprint = problem.fingerprint()
        for entry in ("names", "lower", "upper", "plausible_lower", "plausible_upper", "prior"):
            assert saved.problem[entry] == fingerprint[entry], entry
        # The target gives what the first evaluation gave, with the same random numbers.
        from quell.evaluations import rng_for

        first = saved.evaluations
        outcome = problem.evaluate(first.theta[0], rng_for(saved.seed, int(first.index[0])))
        assert outcome.value == pytest.approx(first.value[0], rel=1e-6)
