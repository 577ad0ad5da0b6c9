"""Ready priors against quadrature, against SciPy's where it has them, and in a problem."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from quell import Problem
from quell.priors import box, smooth_box, trapezoid

INF = np.inf
PRIORS = {
    "box": box(-2, 5),
    "trapezoid": trapezoid(-3, -1, 2, 2.5),
    "triangle": trapezoid(0, 1, 1, 4),
    "one shoulder": trapezoid(1, 1, 2, 4),
    "narrow smooth box": smooth_box(1, 1.1, 2),
    "wide smooth box": smooth_box(-100, 100, 0.5),
}


@pytest.fixture(params=PRIORS)
def prior(request):
    return PRIORS[request.param]


def integral(prior, f, upto=INF):
    """∫ f p, piece by piece between the kinks."""
    ends = getattr(prior, "corners", None)
    if ends is None:
        ends = (prior.a - 20 * prior.sd, prior.a, prior.b, prior.b + 20 * prior.sd)
    ends = [min(end, upto) for end in ends]
    return sum(
        integrate.quad(lambda x: f(x) * prior.pdf(x), low, high, epsabs=1e-12)[0]
        for low, high in pairwise(ends)
    )


def test_moments_and_mass(prior):
    assert integral(prior, lambda _: 1.0) == pytest.approx(1, abs=1e-9)
    mean = integral(prior, lambda x: x)
    assert prior.mean() == pytest.approx(mean, abs=1e-8)
    assert prior.var() == pytest.approx(integral(prior, lambda x: (x - mean) ** 2), rel=1e-7)
    assert prior.std() == pytest.approx(np.sqrt(prior.var()))


def test_probabilities_and_quantiles(prior):
    x = prior.mean() + prior.std() * np.array([[-2.5, -1.0, -0.1], [0.3, 1.2, 3.0]])
    below = [integral(prior, lambda _: 1.0, upto=value) for value in x.ravel()]
    np.testing.assert_allclose(prior.cdf(x).ravel(), below, atol=1e-9)
    np.testing.assert_allclose(prior.sf(x), 1 - prior.cdf(x))
    p = np.concatenate([[1e-9, 1e-4], np.linspace(0.01, 0.99, 37), [1 - 1e-9]])
    np.testing.assert_allclose(prior.cdf(prior.ppf(p)), p, rtol=1e-6)
    np.testing.assert_allclose(prior.isf(p), prior.ppf(1 - p))
    assert prior.cdf(prior.median()) == pytest.approx(0.5)
    np.testing.assert_allclose(prior.cdf(prior.interval(0.9)), [0.05, 0.95])


def test_the_ends(prior):
    assert tuple(prior.ppf([0, 1])) == prior.support()
    assert np.isnan(prior.ppf([-0.1, 1.1, np.nan])).all()
    low, high = prior.support()
    assert prior.cdf([low - 1, high + 1]).tolist() == [0, 1]
    if np.isfinite(low):
        assert prior.logpdf([low - 1e-9, high + 1e-9]).tolist() == [-INF, -INF]
    assert np.isnan(prior.logpdf(np.nan))


def test_draws(prior):
    draws = prior.rvs(5000, random_state=1)
    assert stats.kstest(draws, prior.cdf).pvalue > 1e-3
    np.testing.assert_array_equal(draws, prior.rvs(5000, np.random.default_rng(1)))
    assert prior.rvs((2, 3)).shape == (2, 3)
    assert pickle.loads(pickle.dumps(prior)) == prior


def test_against_scipy():
    x = np.linspace(-4, 6, 101)
    a, u, v, b = -3, -1, 2, 2.5
    same = stats.trapezoid((u - a) / (b - a), (v - a) / (b - a), loc=a, scale=b - a)
    np.testing.assert_allclose(trapezoid(a, u, v, b).pdf(x), same.pdf(x), atol=1e-12)
    np.testing.assert_allclose(box(-2, 5).cdf(x), stats.uniform(-2, 7).cdf(x))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: box(1, 1), r"box needs finite numbers with a < b, got 1, 1"),
        (lambda: box(0, INF), "finite"),
        (lambda: box([0, 0], [1, 1]), "a of box must be a single number"),
        (lambda: trapezoid(0, 2, 1, 3), "a <= u <= v <= b, got 0, 2, 1, 3"),
        (lambda: smooth_box(0, 1, 0), "sd of smooth_box must be positive"),
        (lambda: smooth_box(0, np.nan, 1), "finite"),
    ],
)
def test_what_cannot_be_one(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_in_a_problem():
    priors = [box(0, 4), trapezoid(-3, -1, 2, 3), smooth_box(0, 1, 0.5), stats.norm(0, 1)]
    problem = Problem(None, lower=-INF, upper=INF, prior=priors)
    assert problem.lower.tolist() == [0, -3, -INF, -INF]
    assert problem.upper.tolist() == [4, 3, INF, INF]
    theta = [1.0, 2.5, -0.5, 0.3]
    logs = sum(float(p.logpdf(t)) for p, t in zip(priors, theta, strict=True))
    assert problem.log_prior(theta) == pytest.approx(logs)
    np.testing.assert_allclose(problem.plausible_upper, [p.ppf(0.84) for p in priors])
    assert "trapezoid(-3, -1, 2, 3)" in repr(problem)
    marginals = problem.fingerprint()["prior"]["marginals"]
    assert marginals[:3] == ["box(0, 4)", "trapezoid(-3, -1, 2, 3)", "smooth_box(0, 1, 0.5)"]
