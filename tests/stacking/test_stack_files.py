"""A stacked result is kept, shown, reported, compared, drawn and exported like any other."""

import dataclasses
import io
import json
import random
import re
import zipfile

import numpy as np
import pytest
from helpers.stacking import above_the_diagonal

import quell
from quell import FileError, StackedResult
from quell.archive.npy import to_npy
from quell.cli import main
from quell.pages.stack_page import snippet
from quell.stacking.saving import SCALARS


@pytest.fixture
def saved(plain, tmp_path):
    path = tmp_path / "all.quell"
    plain.save(path)
    return path


@pytest.fixture(scope="module")
def with_one_left_out(plain):
    """As if the third run had been left out, for a reason that could do harm on a terminal."""
    rows = [dict(row) for row in plain.runs]
    rows[2] |= {"left_out": "\x1b[31mno", "weight": 0.0}
    left_out = quell.stacking.choosing.LeftOut(2, 3, "\x1b[31mno")
    return dataclasses.replace(
        plain, runs=rows, left_out=(left_out,), reasons=("be <b>careful</b>",)
    )


class TestEverythingComesBack:
    def test_bit_for_bit(self, plain, saved):
        again = quell.load(saved)
        assert isinstance(again, StackedResult)
        for name in SCALARS:
            assert getattr(again, name) == getattr(plain, name), name
        for name in ("run_weights", "left_out", "runs", "problem", "reasons"):
            assert str(getattr(again, name)) == str(getattr(plain, name)), name
        assert again.summary() == plain.summary()
        ours, theirs = plain.posterior, again.posterior
        np.testing.assert_array_equal(theirs.shares, ours.shares)
        np.testing.assert_array_equal(theirs.sample(300), ours.sample(300))
        points = ours.sample(50)
        np.testing.assert_array_equal(theirs.log_density(points), ours.log_density(points))
        for column in ("theta", "value", "sd", "log_prior", "seconds", "index"):
            ours, theirs = (getattr(one.evaluations, column) for one in (plain, again))
            assert to_npy(theirs) == to_npy(ours), column
        assert again.evaluations.origin == plain.evaluations.origin

    def test_no_field_is_forgotten(self):
        """Whoever adds a field has to say how it is saved."""
        parts = {
            "posterior", "run_weights", "left_out", "runs", "evaluations", "problem", "log_prior",
            "reasons",
        }  # fmt: skip
        assert {field.name for field in dataclasses.fields(StackedResult)} == parts | set(SCALARS)

    def test_the_same_stack_is_the_same_file_but_for_its_date(self, plain, saved, tmp_path):
        quell.load(saved).save(tmp_path / "again.quell")
        with zipfile.ZipFile(saved) as one, zipfile.ZipFile(tmp_path / "again.quell") as other:
            assert one.namelist() == other.namelist()
            assert one.read("stack.json") == other.read("stack.json")
            assert one.read("stack/shares.npy") == to_npy(plain.posterior.shares)

    def test_runs_left_out(self, with_one_left_out, tmp_path):
        with_one_left_out.save(tmp_path / "all.quell")
        again = quell.load(tmp_path / "all.quell")
        assert again.left_out == with_one_left_out.left_out
        assert again.status == with_one_left_out.status

    def test_a_prior_that_a_file_can_have(self, plain, saved):
        points = plain.posterior.sample(20)
        np.testing.assert_array_equal(quell.load(saved).log_prior(points), plain.log_prior(points))

    def test_a_prior_that_is_code(self, stacked, tmp_path):
        """It may be zero somewhere: draws in the file stand for that."""
        stacked.save(tmp_path / "all.quell")
        again = quell.load(tmp_path / "all.quell")
        assert again.log_prior is None
        assert again.summary() == stacked.summary()

    def test_never_over_anything_else(self, plain, tmp_path):
        path = tmp_path / "thesis.txt"
        path.write_text("thesis")
        with pytest.raises(FileError, match=re.escape("thesis.txt")):
            plain.save(path)
        assert path.read_text() == "thesis"


class TestSupports:
    @pytest.fixture
    def path(self, constrained, tmp_path):
        constrained.save(tmp_path / "all.quell")
        return tmp_path / "all.quell"

    def test_without_the_constraint(self, constrained, path, tmp_path):
        again = quell.load(path)
        np.testing.assert_array_equal(again.posterior.mean(), constrained.posterior.mean())
        np.testing.assert_array_equal(again.posterior.median(), constrained.posterior.median())
        draws = again.posterior.sample(500)
        assert (draws[:, 1] > 0.5 * draws[:, 0]).all()
        with pytest.raises(ValueError, match="constraint"):
            again.posterior.log_density(draws)
        assert "<svg" in again.report(tmp_path / "all.html").read_text(encoding="utf-8")
        again.save(tmp_path / "again.quell")
        np.testing.assert_array_equal(
            quell.load(tmp_path / "again.quell").posterior.sample(9), again.posterior.sample(9)
        )

    def test_with_it_nothing_is_missing(self, constrained, path):
        again = quell.load(path, constraint=above_the_diagonal)
        points = constrained.posterior.sample(20)
        np.testing.assert_array_equal(
            again.posterior.log_density(points), constrained.posterior.log_density(points)
        )

    def test_another_one_is_refused(self, path):
        with pytest.raises(FileError, match="it is not that of the run"):
            quell.load(path, constraint=lambda theta: bool(theta[1] < 0.5 * theta[0]))

    def test_where_there_is_nothing_to_constrain(self, saved):
        with pytest.raises(FileError, match="leave constraint= and support= out"):
            quell.load(saved, constraint=above_the_diagonal)


class TestBadFiles:
    def test_cut_off_anywhere(self, saved):
        whole = saved.read_bytes()
        for end in np.linspace(0, len(whole) - 1, 40).astype(int):
            saved.write_bytes(whole[:end])
            with pytest.raises(FileError):
                quell.load(saved)

    def test_any_byte_changed(self, saved):
        """Refused in one sentence, or read as something that is a stacked result."""
        whole, places, sentences = saved.read_bytes(), random.Random(5001), []
        for _ in range(60):
            data = bytearray(whole)
            data[places.randrange(len(data))] ^= 1 << places.randrange(8)
            saved.write_bytes(data)
            try:
                read = quell.load(saved)
            except FileError as error:
                sentences.append(str(error))
            else:
                assert isinstance(read, StackedResult)
        assert sentences
        assert not any("\n" in sentence for sentence in sentences)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"members": 0}, "it has 0 members"),
            ({"members": 9}, "shares"),
            ({"runs": []}, "it has 0 runs"),
            ({"runs": [{"seed": 1}]}, "missing"),
            ({"left_out": [{"place": "1", "seed": 1, "reason": ""}]}, "is no int"),
            ({"log_evidence": "many"}, "is no number"),
            ({"reasons": "why"}, "is no list"),
            ({"problem": {"names": ["x", "y", "z"]}}, "other parameters"),
        ],
    )
    def test_plain_data(self, changes, words, saved):
        rebuild(saved, {"stack.json": lambda old: json.dumps(json.loads(old) | changes).encode()})
        with pytest.raises(FileError, match=words):
            quell.load(saved)

    @pytest.mark.parametrize(("first", "all_together"), [(0.9, 1.8), (2.0, 1.0), (np.nan, 1.0)])
    def test_shares_that_are_none(self, first, all_together, plain, saved):
        others = len(plain.posterior.shares) - 1
        shares = np.array([first, *[(all_together - first) / others] * others])
        rebuild(saved, {"stack/shares.npy": lambda _: to_npy(shares)})
        with pytest.raises(FileError, match="stack/shares must"):
            quell.load(saved)

    def test_a_member_of_another_kind_or_none(self, runs, saved, tmp_path):
        runs[0].save(tmp_path / "fit.quell")
        result = (tmp_path / "fit.quell").read_bytes()
        rebuild(saved, {"members/1.quell": lambda _: result})
        with pytest.raises(FileError, match=r"members/1\.quell.* has no posterior but a 'result'"):
            quell.load(saved)
        rebuild(saved, {"members/1.quell": lambda _: None})
        with pytest.raises(FileError, match=r"'members/1\.quell' is missing"):
            quell.load(saved)

    def test_a_posterior_alone_is_no_result(self, saved):
        with zipfile.ZipFile(saved) as file:
            inner = file.read("members/0.quell")
        saved.write_bytes(inner)
        with pytest.raises(FileError, match="has no result but a 'posterior'"):
            quell.load(saved)


def rebuild(path, changes):
    """The file with members changed, or left out where that gives None."""
    stream = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            data = changes.get(name, lambda same: same)(old.read(name))
            if data is not None:
                new.writestr(name, data)
    path.write_bytes(stream.getvalue())


@pytest.fixture(scope="module")
def written(plain, tmp_path_factory):
    """The report of the stack."""
    return plain.report(tmp_path_factory.mktemp("stack") / "all.html")


class TestReport:
    def test_all_that_is_known_of_it(self, plain, written):
        text = written.read_text(encoding="utf-8")
        assert "3 runs stacked: a, b and constant" in text
        assert f"{plain.log_evidence:.3f} ± {plain.log_evidence_sd:.3f}" in text
        for row in plain.runs:
            assert f"{row['log_evidence']:.3f} ± {row['log_evidence_sd']:.3f}" in text
            assert f"{row['weight']:.3f}" in text
        assert 'data-corner="corner"' in text
        assert "stacked = quell.stack(results)" in text

    def test_from_a_file_it_is_the_same(self, saved, written, tmp_path):
        again = quell.load(saved).report(tmp_path / "two.html")
        assert again.read_bytes() == written.read_bytes()

    def test_nothing_in_it_acts(self, with_one_left_out, tmp_path):
        path = with_one_left_out.report(tmp_path / "all.html", title="<script>alert(1)</script>")
        text = path.read_text(encoding="utf-8")
        assert "\x1b" not in text
        assert "<b>careful" not in text
        assert "<script>alert" not in text
        assert "left out: run 3 (seed 3)" in text

    def test_without_an_evidence(self, plain, tmp_path):
        undefined = {"log_evidence": np.nan, "log_evidence_sd": np.nan}
        rows = [dict(row) | undefined for row in plain.runs]
        changed = dataclasses.replace(plain, runs=rows, **undefined)
        text = changed.report(tmp_path / "all.html").read_text(encoding="utf-8")
        assert "the prior is improper" in text
        assert "nan" not in re.sub("<script.*", "", text, flags=re.DOTALL)

    def test_the_code_in_it_makes_the_problem(self, plain):
        text = snippet(plain)
        compile(text, "snippet", "exec")
        code = text.partition("results =")[0]
        names = {"log_likelihood": None, "prior": lambda theta: 0.0 * theta[0]}
        exec(code, names)
        assert names["problem"].names == ("a", "b", "constant")
        assert names["runs"] == [(row["seed"], row["evaluations"]) for row in plain.runs]


class TestCommands:
    def test_show(self, plain, saved, capsys):
        assert main(["show", str(saved)]) == 0
        assert capsys.readouterr().out.startswith(plain.summary())

    def test_report(self, saved, runs, tmp_path, capsys):
        out = tmp_path / "all.html"
        assert main(["report", str(saved), "--out", str(out)]) == 0
        assert "runs stacked" in out.read_text(encoding="utf-8")
        runs[0].save(tmp_path / "fit.quell")
        assert main(["report", str(saved), str(tmp_path / "fit.quell"), "--out", str(out)]) == 2
        assert "has more than one run: report it alone" in capsys.readouterr().err

    def test_compare(self, plain, saved, runs, tmp_path, capsys):
        runs[0].save(tmp_path / "fit.quell")
        command = ["compare", f"all={saved}", f"one={tmp_path / 'fit.quell'}", "--json"]
        assert main(command) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["log_evidence"][0] == pytest.approx(plain.log_evidence)

    def test_check(self, plain, saved, with_one_left_out, tmp_path, capsys):
        code = main(["check", str(saved), "--quiet"])
        assert capsys.readouterr().out.strip() == "not yet"
        assert code == 1
        stable = [dict(row) | {"status": "stable"} for row in plain.runs]
        dataclasses.replace(plain, runs=stable).save(tmp_path / "stable.quell")
        assert main(["check", str(tmp_path / "stable.quell")]) == 0
        assert capsys.readouterr().out.startswith("usable: this is a stack\n\nstable: 3 of 3 runs")
        dataclasses.replace(with_one_left_out, effective_draws=3.0).save(tmp_path / "no.quell")
        assert main(["check", str(tmp_path / "no.quell")]) == 1
        assert capsys.readouterr().out.startswith("no: this is a stack")

    def test_export(self, plain, saved, tmp_path, capsys):
        out = tmp_path / "draws.csv"
        assert main(["export", str(saved), str(out), "--draws", "50"]) == 0
        assert "50 draws of 3 parameters" in capsys.readouterr().out
        found = np.loadtxt(out, delimiter=",", skiprows=1)
        np.testing.assert_array_equal(found, plain.posterior.sample(50))
        command = ["export", str(saved), str(out), "--force", "--what"]
        assert main([*command, "summary"]) == 0
        assert main([*command, "evaluations"]) == 0
        assert len(out.read_text().splitlines()) == len(plain.evaluations) + 1
        assert main([*command, "runs"]) == 2


def test_for_arviz(plain):
    pytest.importorskip("xarray")
    tree = plain.to_arviz(25, chains=2, rng=3)
    draws = plain.posterior.sample(50, 3)
    assert dict(tree["posterior"].dataset.sizes) == {"chain": 2, "draw": 25}
    np.testing.assert_array_equal(tree["posterior"]["b"].values.ravel(), draws[:, 1])
    known = tree["sample_stats"]
    np.testing.assert_array_equal(known["log_q"].values.ravel(), plain.posterior.log_density(draws))
    np.testing.assert_allclose(known["log_prior"].values.ravel(), plain.log_prior(draws))
    assert tree.attrs["seeds"] == "1, 2, 3"
    assert tree.attrs["log_evidence"] == plain.log_evidence
    assert dict(tree["evaluations"].dataset.sizes) == {"evaluation": len(plain.evaluations)}


class TestText:
    def test_one_line(self, plain):
        assert repr(plain).startswith("StackedResult of a, b, constant: ")
        assert "\n" not in repr(plain)

    def test_in_a_notebook(self, with_one_left_out):
        html = with_one_left_out._repr_html_()
        assert "2 of 3 runs" in html
        assert "be &lt;b&gt;careful" in html
        assert "\x1b" not in html

    def test_as_a_table(self, plain):
        pytest.importorskip("pandas")
        frame = plain.to_pandas()
        np.testing.assert_array_equal(frame["mean"], plain.posterior.mean())
