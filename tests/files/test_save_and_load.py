"""What is saved comes back: equal bit for bit, and as a whole or not at all."""

import errno
import json
import os
import warnings
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from helpers.files import BOX, assert_equal, exact, ordered
from helpers.problems import QUICK
from scipy import stats

import quell
from quell import FileError, Posterior, Problem, Result, Settings
from quell.archive import atomic
from quell.mixture import Mixture
from quell.records.problem import prior_record, restore_problem
from quell.records.shapes import mixture_parts, restore_mixture, restore_space, space_parts
from quell.results.writing import SCALARS
from quell.space import InferenceSpace
from quell.text import jsonable

FORMAT_1 = Path(__file__).parent / "data" / "format-1.quell"
#: What is in that file, as it was when it was written.
EVIDENCE = -1.867155490500764
MEAN, SD = [0.19515665306520757, 0.8447606321785557], [1.1442949583645698, 0.5106580219129141]
SURROGATE = [[-1.2331020419023073], [0.0410474603810498]]


class TestEverythingComesBack:
    def test_bit_for_bit(self, result, saved, points):
        again = quell.load(saved)
        assert_equal(again, result)
        assert again.summary() == result.summary()
        assert again.diagnostics.keys() == result.diagnostics.keys()
        assert again.evaluations.n_failed == result.evaluations.n_failed > 0
        assert again.iterations == ()
        np.testing.assert_array_equal(again.log_prior(points), result.log_prior(points))
        for one, other in (
            (again.posterior.log_density(points), result.posterior.log_density(points)),
            (again.posterior.mean(), result.posterior.mean()),
            (again.posterior.covariance(), result.posterior.covariance()),
            (again.posterior.mode(), result.posterior.mode()),
            *zip(
                again.solution.surrogate().predict(points),
                result.solution.surrogate().predict(points),
                strict=True,
            ),
        ):
            np.testing.assert_array_equal(one, other)
        draws = [r.posterior.sample(9, np.random.default_rng(1)) for r in (again, result)]
        np.testing.assert_array_equal(*draws)

    def test_a_second_time(self, saved, tmp_path):
        again = quell.load(saved)
        again.save(tmp_path / "copy.quell")
        assert_equal(quell.load(tmp_path / "copy.quell"), again)

    def test_as_a_head_start_and_a_start(self, saved):
        again = quell.load(saved)
        problem = Problem(None, noise="reported", **BOX)
        fitted = quell.fit(problem, again.evaluations, seed=5003, settings=QUICK)
        assert fitted.evaluations.n_counted == 0
        assert quell.run.beginning.start_points(problem, again, 1).shape == (10, 2)

    def test_with_numpy_alone(self, result, saved):
        """As docs/files.md says."""
        with zipfile.ZipFile(saved) as file:
            plain = json.loads(file.read("result.json"))
            with file.open("posterior/means.npy") as member:
                means = np.load(member, allow_pickle=False)
        np.testing.assert_array_equal(means, result.posterior.mixture.means)
        assert plain["log_evidence"] == result.log_evidence
        assert plain["verdict"]["status"] == str(result.status)

    def test_it_says_when_and_with_what_it_was_written(self, saved):
        with zipfile.ZipFile(saved) as file:
            about = json.loads(file.read("format.json"))
        assert (about["file"], about["format"], about["kind"]) == ("quell", 1, "result")
        assert about["versions"]["quell"] == quell.__version__
        assert set(about["versions"]) == {"quell", "numpy", "scipy", "python"}
        assert about["written"].endswith("+00:00")

    def test_no_field_is_forgotten(self):
        """Whoever adds a field to `Result` has to say how it is saved, or that it is not."""
        parts = {
            "posterior", "verdict", "reasons", "solution", "history", "evaluations", "settings",
            "problem", "log_prior",
        }  # fmt: skip
        not_saved = {"iterations"}
        assert {field.name for field in fields(Result)} == parts | not_saved | set(SCALARS)

    @pytest.mark.parametrize("softness", [None, [0.1, np.nan, 0.3, 1 / 3, np.nan, np.nan]])
    @pytest.mark.parametrize("heavy", [False, True])
    def test_spaces_of_all_kinds_bit_for_bit(self, softness, heavy):
        inf = np.inf
        with pytest.warns(UserWarning, match="too close to a hard bound"):
            space = InferenceSpace.from_bounds(
                [0, 0, 0, -inf, 7, -inf, 0], [1, 5, inf, 2, 7, inf, 360],
                [0.0, 1, 0, -3, 7, -2, 300], [1.0, 5, 4, 2, 7, 2, 660],
                names=list("abcdefg"), bounded="probit", periodic=["g"],
            )  # fmt: skip
        space = space if softness is None else space.with_softness(softness)
        if heavy:
            tails = np.full((6, 2), np.nan)
            tails[4] = 1 / 3, 2 / 7
            space = space.with_tails(tails)
        assert ("tails" in space_parts(space)) is heavy
        rng = np.random.default_rng(1)
        root = rng.standard_normal((6, 6))
        space = space.whitened(root @ root.T)
        again = restore_space(space_parts(space))  # no warning, a second time
        x = rng.standard_normal((30, 6))
        np.testing.assert_array_equal(again.to_original(x), space.to_original(x))
        np.testing.assert_array_equal(again.log_jacobian(x), space.log_jacobian(x))

    def test_weights_of_a_mixture_keep_their_last_digit(self):
        rng = np.random.default_rng(1)
        for _ in range(50):
            mixture = Mixture(rng.dirichlet(np.ones(7)), rng.normal(size=(7, 1)), np.ones(7), [1.0])
            again = restore_mixture(mixture_parts(mixture))
            np.testing.assert_array_equal(again.weights, mixture.weights)

    def test_settings_and_an_acquisition_function_of_the_users_own(self, result, tmp_path):
        class Mine:
            def prepare(self, *arguments):
                raise NotImplementedError

        own = replace(result, settings=Settings(acquisition=Mine(), batch=3))
        own.save(tmp_path / "own.quell")
        again = quell.load(tmp_path / "own.quell").settings
        assert again.as_dict() == own.settings.as_dict() | {
            "acquisition": again.as_dict()["acquisition"]
        }
        assert "Mine" in again.as_dict()["acquisition"]
        with pytest.raises(ValueError, match="a file cannot hold it"):
            again.acquisition.prepare()

    def test_figures_that_are_not_finite(self, result, tmp_path):
        odd = replace(result, log_evidence=np.nan, log_evidence_sd=np.inf, seed=2**70)
        odd.save(tmp_path / "odd.quell")
        again = quell.load(tmp_path / "odd.quell")
        assert np.isnan(again.log_evidence)
        assert again.log_evidence_sd == np.inf
        assert again.seed == 2**70


def test_a_file_of_format_1_opens_for_ever():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quell.load(FORMAT_1)
    assert result.posterior.names == ("shift", "scale")
    assert result.seed == 5001
    assert result.evaluations.n_counted == 40
    assert result.log_evidence == pytest.approx(EVIDENCE, rel=1e-12)
    np.testing.assert_allclose(result.posterior.mean(), MEAN, rtol=1e-8)
    np.testing.assert_allclose(result.posterior.sd(), SD, rtol=1e-8)
    gp = result.solution.surrogate()
    x = result.solution.space.to_inference([[0.0, 1.0]])
    np.testing.assert_allclose(gp.pooled(x), SURROGATE, rtol=1e-6)
    np.testing.assert_allclose(result.log_prior([[0.0, 1.0]]), [-2.82126372], rtol=1e-8)
    assert "too large: ü\\x1b" in result.evaluations.error[0]
    assert "shift" in result.summary()


class TestPriors:
    @pytest.mark.parametrize(
        ("prior", "known"),
        [
            (None, True),
            ("included", True),
            ([stats.norm, stats.uniform(0, 8)], True),
            ([stats.norm(0, np.array(3.0)), stats.beta(2, 3, loc=0, scale=8)], True),
            ([stats.Normal(mu=0, sigma=3), stats.norm(1, 1)], False),
            (stats.multivariate_normal([0, 1], np.eye(2)), False),
            (lambda theta: -float(theta @ theta), False),
        ],
    )
    def test_what_a_file_can_have(self, result, prior, known, points, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = Problem(exact, noise="exact", prior=prior, **BOX)
        other = replace(result, problem=problem.fingerprint(), log_prior=problem.log_prior)
        other.save(tmp_path / "fit.quell")
        again = quell.load(tmp_path / "fit.quell")
        assert (again.log_prior is not None) is known
        if known:
            np.testing.assert_array_equal(again.log_prior(points), problem.log_prior(points))

    def test_bounds_that_end_where_the_prior_does_and_integers(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = Problem(
                exact, lower=[-9, 1, 4, 0], upper=[9, 9, 4, 24], plausible_lower=[1, 2, 4, 16],
                plausible_upper=[3, 5, 4, 23], integer=[False, True, False, False],
                periodic=[False, False, False, True], names=list("abcd"), noise_guess=2.0,
                noise="unknown",
                prior=[stats.gamma(2), stats.norm(3, 2), None, stats.norm(20, 5)],
            )  # fmt: skip
        described = json.loads(json.dumps(problem.fingerprint()))
        prior = json.loads(json.dumps(jsonable(prior_record(problem))))
        again = restore_problem(described, prior)
        assert {**again.fingerprint(), "noise_guess": 2.0} == problem.fingerprint()
        theta = np.array([[1.3, 2.6, 4.0, 25.0], [-1.0, 3.0, 4.0, 3.0]])
        np.testing.assert_array_equal(again.log_prior(theta), problem.log_prior(theta))

    def test_a_distribution_that_only_has_the_name_of_one(self, result, tmp_path):
        class Norm(stats.rv_continuous):
            def _logpdf(self, x):
                return -np.abs(x) - np.log(2)

        problem = Problem(
            exact, noise="exact", prior=[Norm(name="norm")(), stats.gamma(1.0)], **BOX
        )
        other = replace(result, problem=problem.fingerprint(), log_prior=problem.log_prior)
        other.save(tmp_path / "fit.quell")
        assert quell.load(tmp_path / "fit.quell").log_prior is None

    def test_another_density_than_that_of_the_file(self, result, tmp_path):
        probe = [value + 0.1 for value in result.problem["prior"]["probe"]]
        prior = {**result.problem["prior"], "probe": probe}
        replace(result, problem={**result.problem, "prior": prior}).save(tmp_path / "fit.quell")
        with pytest.warns(UserWarning, match="another density"):
            assert quell.load(tmp_path / "fit.quell").log_prior is None


class TestSupports:
    @pytest.fixture
    def path(self, constrained, tmp_path):
        constrained.save(tmp_path / "fit.quell")
        return tmp_path / "fit.quell"

    def test_without_the_constraint(self, constrained, path, tmp_path):
        again, posterior = quell.load(path), constrained.posterior
        assert posterior._kept is not None  # the edge matters
        for method in ("mean", "sd", "covariance"):
            np.testing.assert_array_equal(
                getattr(again.posterior, method)(), getattr(posterior, method)()
            )
        assert again.summary() == constrained.summary()
        for n in (10, 30_000):
            draws = again.posterior.sample(n, np.random.default_rng(1))
            assert draws.shape == (n, 2)
            assert all(map(ordered, draws[:1000]))
        assert len(np.unique(again.posterior.sample(500, np.random.default_rng(2)), axis=0)) == 500
        with pytest.raises(ValueError, match=r"quell.load\(path, constraint="):
            again.posterior.log_density([0.0, 2.0])
        assert again.log_prior is None
        again.save(tmp_path / "second.quell")
        assert_equal(quell.load(tmp_path / "second.quell"), again)
        third = quell.load(tmp_path / "second.quell", constraint=ordered)
        assert third.log_prior is not None

    def test_with_the_constraint_again(self, constrained, path, points):
        again = quell.load(path, constraint=ordered)
        assert_equal(again, constrained)
        np.testing.assert_array_equal(
            again.posterior.log_density(points), constrained.posterior.log_density(points)
        )
        np.testing.assert_array_equal(again.log_prior(points), constrained.log_prior(points))

    def test_with_a_support(self, path, constrained, points):
        again = quell.load(path, support=lambda theta: theta[:, 0] < theta[:, 1] - 1.0)
        np.testing.assert_array_equal(
            again.posterior.log_density(points), constrained.posterior.log_density(points)
        )

    def test_another_constraint_is_refused(self, path):
        with pytest.raises(FileError, match="not that of the run"):
            quell.load(path, constraint=lambda theta: bool(theta[0] > 0))

    @pytest.mark.parametrize(
        ("given", "error", "words"),
        [
            ({"constraint": 3}, TypeError, "constraint must be a function"),
            ({"constraint": ordered, "support": ordered}, TypeError, "not both"),
            ({"support": lambda theta: theta}, TypeError, "to a mask"),
        ],
    )
    def test_what_can_be_none(self, path, given, error, words):
        with pytest.raises(error, match=words):
            quell.load(path, **given)

    def test_where_there_is_nothing_to_constrain(self, saved):
        with pytest.raises(FileError, match="without a constraint"):
            quell.load(saved, constraint=ordered)

    def test_a_support_that_the_mixture_never_leaves(self, result, tmp_path):
        def everywhere(theta):
            return np.ones(len(theta), dtype=bool)

        posterior = result.posterior
        inside = replace(
            result, posterior=Posterior(posterior.mixture, posterior.space, support=everywhere)
        )
        inside.save(tmp_path / "fit.quell")
        again = quell.load(tmp_path / "fit.quell").posterior
        np.testing.assert_array_equal(again.mean(), posterior.mean())
        assert again.sample(5, np.random.default_rng(0)).shape == (5, 2)


class TestWriting:
    def test_over_another_result(self, result, saved):
        replace(result, seed=7).save(str(saved))
        assert quell.load(str(saved)).seed == 7
        assert [path.name for path in saved.parent.iterdir()] == ["fit.quell"]

    def test_not_if_told_so(self, result, saved):
        with pytest.raises(FileError, match="exists: choose another path, or pass overwrite=True"):
            result.save(saved, overwrite=False)

    @pytest.mark.parametrize("content", [b"", b"my thesis", b"PK\3\4 some other archive" * 9])
    def test_never_over_anything_else(self, result, tmp_path, content):
        path = tmp_path / "thesis.zip"
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"was not written by result\.save"):
            result.save(path)
        assert path.read_bytes() == content

    @pytest.mark.parametrize(
        ("place", "words"),
        [("", "is a folder"), ("no/fit.quell", "does not exist"), ("a\0b", "can be no path")],
    )
    def test_where_no_file_can_be(self, result, tmp_path, place, words):
        with pytest.raises(FileError, match=words):
            result.save(os.path.join(tmp_path, place))

    def test_no_path(self, result):
        with pytest.raises(TypeError, match="path must be a path, got int"):
            result.save(3)

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_a_full_disk_leaves_the_old_file_and_no_litter(self, result, saved, step, monkeypatch):
        before = saved.read_bytes()

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(atomic.os, step, full)
        with pytest.raises(FileError, match=r"No space left on device\. Nothing was changed"):
            replace(result, seed=7).save(saved)
        assert saved.read_bytes() == before
        assert [path.name for path in saved.parent.iterdir()] == ["fit.quell"]

    def test_interrupted_on_the_way(self, result, saved, monkeypatch):
        def interrupt(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(atomic.os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            result.save(saved)
        assert [path.name for path in saved.parent.iterdir()] == ["fit.quell"]

    def test_through_a_link(self, result, tmp_path):
        (tmp_path / "real").mkdir()
        link = tmp_path / "link.quell"
        link.symlink_to(tmp_path / "real" / "fit.quell")
        result.save(link)
        assert link.is_symlink()
        assert quell.load(link).seed == result.seed

    def test_permissions_stay(self, result, saved):
        saved.chmod(0o640)
        result.save(saved)
        assert saved.stat().st_mode & 0o777 == 0o640
