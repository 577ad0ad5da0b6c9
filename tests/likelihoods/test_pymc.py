"""PyMC models as problems: names, bounds, prior and likelihood are the model's."""

import sys

import numpy as np
import pytest
from helpers.problems import QUICK
from scipy import stats

import quell
from quell.likelihoods import from_pymc

DATA = np.array([1.2, 0.7, 1.9, 0.1])


@pytest.fixture(scope="module")
def pm():
    """PyMC, with the quickest compilation: these models are tiny."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pymc = pytest.importorskip("pymc")
        pytensor = pytest.importorskip("pytensor")
    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        yield pymc


@pytest.fixture(scope="module")
def model(pm):
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2)
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal("y", mu, sigma, observed=DATA)
    return model


@pytest.fixture(scope="module")
def wide(pm):
    """One variable of each kind."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.Beta("p", 2, 3)
        pm.Uniform("u", -1, a + 20)
        pm.Uniform("w", -3, [4, 5], shape=2)
        pm.VonMises("angle", 0, 1)
        pm.TruncatedNormal("t", 0, 1, lower=-1)
        pm.Potential("penalty", -(a**2))
    return model


def test_densities_are_those_of_the_model(model):
    problem = from_pymc(model)
    assert problem.names == ("mu", "sigma")
    assert problem.noise == "exact"
    assert problem.lower.tolist() == [-np.inf, 0]
    assert problem.support is None
    theta = [0.8, 0.6]
    log_prior = stats.norm(0, 2).logpdf(0.8) + stats.halfnorm(0, 1).logpdf(0.6)
    assert problem.log_prior(theta) == pytest.approx(log_prior)
    assert problem.evaluate(theta).value == pytest.approx(stats.norm(0.8, 0.6).logpdf(DATA).sum())
    ends = stats.norm(0, 2).ppf([0.16, 0.84])
    found = [problem.plausible_lower[0], problem.plausible_upper[0]]
    np.testing.assert_allclose(found, ends, atol=0.25)


def test_kinds_of_variables(wide):
    problem = from_pymc(wide)
    assert problem.names == ("a", "p", "u", "w[0]", "w[1]", "angle", "t")
    inf, pi = np.inf, np.pi
    np.testing.assert_allclose(problem.lower, [-inf, 0, -1, -3, -3, -pi, -1])
    np.testing.assert_allclose(problem.upper, [inf, 1, inf, 4, 5, pi, inf])
    assert problem.space.kinds[5] == "periodic"
    theta = np.array([0.3, 0.4, 2.0, 1.0, 4.5, 0.5, 0.0])
    log_prior = (
        stats.norm.logpdf(0.3) + stats.beta(2, 3).logpdf(0.4) - np.log(21.3) - np.log(7)
        - np.log(8) + stats.vonmises(1).logpdf(0.5) + stats.truncnorm(-1, inf).logpdf(0.0)
    )  # fmt: skip
    assert problem.log_prior(theta) == pytest.approx(log_prior)
    assert problem.evaluate(theta).value == pytest.approx(-0.09)  # the potential
    theta[2] = 20.5  # beyond a bound that depends on another variable
    assert problem.log_prior(theta) == -inf
    assert problem.support(theta[None]).tolist() == [False]


def test_a_parameter_of_the_likelihood_that_is_not_valid(pm):
    with pm.Model() as model:
        pm.Normal("y", 0, pm.Normal("sd", 1, 1), observed=DATA)
    problem = from_pymc(model)
    assert np.isfinite(problem.evaluate([0.5]).value)
    assert problem.evaluate([-0.5]).value == -np.inf


def test_a_run(model):
    result = quell.infer(from_pymc(model), budget=40, seed=5001, progress=False, settings=QUICK)
    mu, sigma = np.meshgrid(np.linspace(-3, 5, 401), np.linspace(0.01, 5, 500))
    log = stats.norm(0, 2).logpdf(mu) + stats.halfnorm.logpdf(sigma)
    log += sum(stats.norm(mu, sigma).logpdf(y) for y in DATA)
    evidence = np.exp(log).sum() * 0.02 * 0.01
    assert result.log_evidence == pytest.approx(np.log(evidence), abs=0.2)
    mean = (np.exp(log) * mu).sum() * 0.02 * 0.01 / evidence
    assert result.posterior.mean()[0] == pytest.approx(mean, abs=0.15)


def test_a_function_in_place_of_the_likelihood(pm):
    with pm.Model() as priors:
        pm.Normal("a", 0, 1)

    def log_likelihood(theta, rng):
        return -(theta[0] ** 2) + rng.standard_normal(), 1.0

    problem = from_pymc(priors, log_likelihood, plausible_lower=[-2], plausible_upper=[2])
    assert problem.noise == "auto"
    assert problem.plausible_upper.tolist() == [2]
    assert problem.evaluate([0.1], np.random.default_rng(1)).sd == 1.0


def test_what_is_refused(pm):
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model, got .* str"):
        from_pymc("model")
    with pm.Model() as empty, pytest.raises(ValueError, match="no free variables"):
        from_pymc(empty)
    with pm.Model() as priors:
        pm.Normal("a", 0, 1)
    with pytest.raises(ValueError, match="no likelihood"):
        from_pymc(priors)
    with pm.Model() as discrete:
        pm.Poisson("k", 3)
    with pytest.raises(ValueError, match="discrete variable 'k'"):
        from_pymc(discrete)
    with pm.Model() as simplex:
        shares = pm.Dirichlet("shares", np.ones(3))
        pm.Potential("none", shares.sum())
    with pytest.raises(ValueError, match="'shares' with the transform SimplexTransform"):
        from_pymc(simplex)
    with pm.Model() as impossible:
        a = pm.Normal("a", 0, 10)
        pm.Uniform("u", 0, a)
        pm.Potential("none", 2 * a)
    with pytest.raises(ValueError, match="prior cannot be drawn from"):
        from_pymc(impossible)


def test_it_can_be_sent_by_cloudpickle(model):
    cloudpickle = pytest.importorskip("cloudpickle")
    target = from_pymc(model).target
    again = cloudpickle.loads(cloudpickle.dumps(target))
    theta = np.array([0.8, 0.6])
    assert again.evaluate(theta, None).value == target.evaluate(theta, None).value


def test_without_pymc(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(ImportError, match=r'from_pymc needs pymc.*pip install "quell\[pymc\]"'):
        from_pymc(None)
