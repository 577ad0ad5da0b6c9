"""Situations for the tests of the acquisition functions, and losses straight from the paper."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import norm

from helpers.gp import wavy_quadratic
from quell.acquisition import Situation
from quell.acquisition.eig import Integral
from quell.acquisition.lookahead import Lookahead
from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.quadrature import Quadrature

modest = settings(deadline=None, max_examples=12)
U = norm.ppf(0.75)
NAMES = ("wiqr", "viqr", "imiqr", "eig", "npro", "pro")

situations = st.builds(
    dict,
    dimension=st.sampled_from([1, 2, 5]),
    n_samples=st.sampled_from([1, 4]),
    noise=st.sampled_from(["known", "unknown", "partly"]),
    pending=st.sampled_from([0, 2]),
    seed=st.integers(0, 1000),
)


def make_situation(dimension=2, n_samples=4, noise="known", pending=0, seed=0, size=12, K=3):
    """A wavy quadratic, unequal weights of the samples, a mixture roughly where it is high."""
    rng = np.random.default_rng([seed, dimension, n_samples])
    x = rng.normal(size=(size, dimension)) * 1.2
    data = wavy_quadratic(rng, x, noise)
    d = dimension
    theta = np.concatenate([np.full(d, 0.2), [0.6, -2.0, 3.0], np.zeros(d), np.full(d, 0.3)])
    if noise in ("unknown", "partly"):
        theta = np.append(theta, -1.0)
    theta = theta + 0.25 * rng.normal(size=(n_samples, len(theta)))
    gp = GaussianProcess.condition(data, theta, rng.uniform(0.2, 1.0, n_samples))
    for place in rng.normal(size=(pending, dimension)):
        gp = gp.append_pending(place, 0.4)
    mixture = Mixture(
        rng.dirichlet(np.full(K, 3.0)),
        0.7 * rng.normal(size=(K, dimension)),
        rng.uniform(0.4, 0.9, K),
        rng.uniform(0.7, 1.3, dimension),
    )
    return Situation.of(gp, mixture)


def points(situation, n, seed=0):
    return np.random.default_rng([seed, n]).normal(size=(n, situation.gp.dimension))


def two_sinh(y):
    return np.exp(y) - np.exp(-y)


def grid_1d(situation, n=4001, width=8.0):
    """An even grid about the mixture, and its cell."""
    centre = situation.mixture.mean()[0]
    grid = np.linspace(centre - width, centre + width, n)[:, None]
    return grid, 2 * width / (n - 1)


def lookahead_sds(situation, a, x):
    """SDs at ``a`` before, (S, n), and after one observation at each ``x``, (S, n, m)."""
    gp = situation.gp
    _, before = gp.predict(a)
    after = lookahead_variance(gp, a, x, situation.noise.sd_at(x))
    return np.sqrt(before), np.sqrt(after)


def lookahead_variance(gp, a, x, noise_sd):
    """Variance at ``a`` once each ``x`` is observed with this noise (paper, Eq. 5), (S, n, m)."""
    total = gp.predict(x)[1] + gp.new_observation_variance(noise_sd, len(x))
    reduced = gp.predict(a)[1][:, :, None] - gp.covariance(a, x) ** 2 / total[:, None, :]
    return np.maximum(reduced, 0.0)


def heavy_tailed_draws(q, n, rng, df=3.0):
    """Draws (n, D) of a mixture whose Gaussians are Student t with ``df`` degrees."""
    k = rng.choice(q.n_components, n, p=q.weights)
    offsets = rng.standard_normal((n, q.dimension))
    offsets *= np.sqrt(0.5 * df / rng.standard_gamma(0.5 * df, n))[:, None]
    return q.means[k] + q.scales[k, None] * q.lengths * offsets


def integral_covariance(gp, mixture, x):
    """Cov[G, f(x)] of the expected log joint with the value at points (n, D), (S, n)."""
    ahead = Lookahead(gp, Integral(Quadrature(gp), mixture))
    return np.stack([covariance[:, 0] for _, _, covariance in ahead.samples(x)])
