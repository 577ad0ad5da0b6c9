"""A law that many log-likelihoods obey: squared residuals, of a known or an unknown scale.

Wherever data are predictions plus normal noise, the log-likelihood is, with β the parameters of
the predictions and R(β) the sum of squared residuals,

    ℓ = c − R(β)                    noise of a known SD,
    ℓ = c + a t − e^{−kt} R(β)      noise whose size a parameter says,

t being its logarithm, or the parameter itself where that is one already: k = 2 for an SD, 1 for a
variance, −1 for a precision, and log 10 times as much for decimal logarithms. For predictions that
are linear in β, R is a quadratic everywhere, and elsewhere near its smallest value. Given k and
which parameter it is, the law is linear in all else that is unknown: in a few more evaluations than
(D + 1)(D + 2)/2 it is known, to the last digit if they are exact, wherever they were made. In raw
units the posterior may be a needle 10⁵ times thinner than the plausible box, along no axis of it,
and a law found in 20 evaluations says where.

It is a law of the user's own parameters, so no map of bounded ones is in the way. Evaluations a
depth d below the best count with the SD

    s² = noise² + ε² + (μ d)²,

where ε and μ, what the law is off by anywhere and as a share of the depth, and which parameter is
the scale, are those by which the evaluations predict each other best: with h the leverages and r
the residuals in units of s, a value left out has the log density

    log p = −½ r²/(1 − h) + ½ log(1 − h) − log s − ½ log 2π.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammainccinv

from quell.arrays import BoolArray, FloatArray
from quell.gp.marginal import LOG_2PI
from quell.space.bounds import Bounds
from quell.vbmc.plain import Plain

#: Exponents k: the size of the noise is an SD, a variance or a precision.
EXPONENTS = (2.0, 1.0, -1.0)
#: Bases of the logarithm that a parameter may be, as factors of k.
BASES = (1.0, float(np.log(10.0)))
#: Values of ε (nats) and μ that are compared, and those by which the parameter is chosen.
OFFSETS, SHARES = (0.1, 1.0, 10.0), (0.0, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
USUAL_OFFSET, USUAL_SHARE = 1.0, 1e-2
#: Evaluations beyond the number of unknowns without which a law has nothing to say.
FEWEST_MORE = 2
#: Columns of the regression that are dependent to this part cannot be told apart.
DEPENDENT = 1e-12
#: Smallest 1 − h.
LEAST_FREE = 1e-9
#: The mode and the scale there are found in turn, so often; half of the number of observations is
#: taken for at least this.
ROUNDS, SMALLEST_COUNT = 5, 0.5
#: Share of a normal's mass outside of what is called near its mode.
OUTSIDE = 1e-3


@dataclass(frozen=True, eq=False)
class Law:
    """A law fitted to evaluations, in coordinates of its own.

    ``scores`` (n,) are the log densities of the evaluations, each predicted from the others;
    ``mode`` (D,) is where the law is highest, ``top`` its value there and ``error`` the SD of that;
    the normal around it has the covariance L Lᵀ, L being its ``root`` (D, D). ``is_complete`` if
    the curvature is known in all directions; if not, the law does not know where the top is.
    """

    plain: Plain
    exponent: float
    coefficients: FloatArray
    scores: FloatArray
    mode: FloatArray
    root: FloatArray
    top: float
    error: float
    is_complete: bool

    def value(self, theta: FloatArray) -> FloatArray:
        """The log-likelihood (n,) at points θ (n, D) by the law."""
        u = self.plain.forward(theta)
        with np.errstate(all="ignore"):  # at the end of a scale there is no value
            return np.asarray(_design(u, self.plain.scale, self.exponent) @ self.coefficients)

    def distances(self, theta: FloatArray) -> FloatArray:
        """Squared distances (n,) of points θ (n, D) from the mode, in SDs of the normal there."""
        with np.errstate(all="ignore"):
            z = np.linalg.solve(self.root, (self.plain.forward(theta) - self.mode).T)
            return np.nan_to_num(np.sum(z**2, axis=0), nan=np.inf)

    def is_near(self, theta: FloatArray) -> BoolArray:
        """Mask (n,) of the points θ (n, D) where the normal around the mode has its mass."""
        return self.distances(theta) <= 2.0 * gammainccinv(0.5 * len(self.mode), OUTSIDE)

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Draws θ (n, D) from that normal."""
        return self.plain.inverse(
            self.mode + rng.standard_normal((n, len(self.mode))) @ self.root.T
        )


@dataclass(frozen=True, eq=False)
class Lead:
    """A law that is followed, and whether evaluations near its mode bear it out."""

    law: Law
    is_borne_out: bool


def n_unknown(dimension: int) -> int:
    """Number of unknowns of the law with the most of them."""
    return (dimension + 1) * (dimension + 2) // 2


def fit_law(bounds: Bounds, theta: FloatArray, y: FloatArray, sd: FloatArray) -> Law | None:
    """The law that predicts values y (n,) at points θ (n, D) best; None if they are too few.

    ``sd`` (n,) are those of the values' noise. θ are the free parameters.

    >>> x = np.linspace(0.0, 9.0, 10)
    >>> rng = np.random.default_rng(0)
    >>> theta = np.column_stack([rng.uniform(-9, 9, (20, 2)), rng.uniform(1, 9, 20)])
    >>> errors = 3.0 + 0.5 * x + np.cos(7 * x) - theta[:, :1] - theta[:, 1:2] * x
    >>> y = -0.5 * np.sum(errors**2, axis=1) / theta[:, 2]**2 - 10 * np.log(theta[:, 2])
    >>> from quell.space.bounds import check_bounds
    >>> bounds = check_bounds([-99, -99, 0], [99, 99, 99], [-9, -9, 1], [9, 9, 9])
    >>> law = fit_law(bounds, theta, y, np.zeros(20))
    >>> law.plain.scale, law.exponent
    (2, 2.0)
    >>> law.plain.inverse(law.mode[None]).round(2)  # least squares: 3.07, 0.51
    array([[3.07, 0.51, 0.74]])
    """
    n, dimension = theta.shape
    if n < n_unknown(dimension) + FEWEST_MORE:
        return None
    best: tuple[float, Plain, float] | None = None
    for plain, exponent in _candidates(Plain.of(bounds)):
        design = _design(plain.forward(theta), plain.scale, exponent)
        fit = _regression(design, y, _sds(y, sd, USUAL_OFFSET, USUAL_SHARE))
        if fit is not None and (best is None or fit.score > best[0]):
            best = fit.score, plain, exponent
    if best is None:
        return None
    _, plain, exponent = best
    design = _design(plain.forward(theta), plain.scale, exponent)
    tried = [
        _regression(design, y, _sds(y, sd, offset, share)) for offset in OFFSETS for share in SHARES
    ]
    fit = max((fit for fit in tried if fit is not None), key=lambda fit: fit.score, default=None)
    if fit is None:
        return None
    with np.errstate(all="ignore"):  # what is not finite is refused
        return _law(plain, exponent, fit, plain.forward(theta[np.argmax(y - sd) :][:1])[0])


@dataclass(frozen=True, eq=False)
class _Fit:
    """Coefficients (p,) of a regression, their root (p, p): Cov = root rootᵀ; and scores (n,)."""

    coefficients: FloatArray
    root: FloatArray
    scores: FloatArray

    @property
    def score(self) -> float:
        """Log density of all values, each predicted from the others."""
        return float(self.scores.sum())


def _candidates(plain: Plain) -> Iterator[tuple[Plain, float]]:
    """The laws that are compared: none, or one of the parameters, is the scale."""
    yield plain, 0.0
    for j, positive in enumerate(plain.positive):
        for base in BASES[:1] if positive else BASES:
            for exponent in EXPONENTS:
                yield Plain(plain.centre, plain.width, plain.positive, j), base * exponent


def _sds(y: FloatArray, sd: FloatArray, offset: float, share: float) -> FloatArray:
    depth = np.maximum(0.0, np.max(y - sd) - y)
    return np.sqrt(sd**2 + offset**2 + (share * depth) ** 2)


def _design(u: FloatArray, scale: int | None, exponent: float) -> FloatArray:
    """The columns (n, p) that the law is a sum of: 1 and t, then a quadratic in the others."""
    others = [i for i in range(u.shape[1]) if i != scale]
    z = u[:, others]
    row, column = np.triu_indices(len(others))
    quadratic = np.column_stack([np.ones(len(u)), z, z[:, row] * z[:, column]])
    if scale is None:
        return quadratic
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = quadratic * np.exp(-exponent * u[:, scale : scale + 1])
    return np.column_stack([np.ones(len(u)), u[:, scale], scaled])


def _regression(design: FloatArray, y: FloatArray, s: FloatArray) -> _Fit | None:
    """Least squares with SDs s (n,); None where columns cannot be told apart."""
    columns = design / s[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.linalg.norm(columns, axis=0)
    if not (np.isfinite(size).all() and (size > 0.0).all()):
        return None
    q, r = np.linalg.qr(columns / size)
    if np.abs(r.diagonal()).min() < DEPENDENT:
        return None
    projected = q.T @ (y / s)
    residual = y / s - q @ projected
    free = np.maximum(1.0 - np.sum(q**2, axis=1), LEAST_FREE)
    scores = -0.5 * residual**2 / free + 0.5 * np.log(free) - np.log(s) - 0.5 * LOG_2PI
    root = solve_triangular(r, np.eye(len(r))) / size[:, None]
    return _Fit(root @ projected, root, scores)


def _law(plain: Plain, exponent: float, fit: _Fit, best: FloatArray) -> Law | None:
    """The law of a regression with its maximum; None beyond floating-point numbers.

    Along directions in which the curvature is not known to be positive, smaller than its standard
    error, the mode stays where the ``best`` point (D,) is. Along the others it is looked for within
    about a plausible width, as if a normal of that SD around the best point were a prior.
    """
    j, dimension = plain.scale, len(plain.centre)
    others = [i for i in range(dimension) if i != j]
    slope, h, h_root = _quadratic(fit, 0 if j is None else 2, len(others))
    if not np.isfinite(h).all():
        return None
    values, vectors = np.linalg.eigh(h)
    row, column = np.triu_indices(len(others))
    errors = np.linalg.norm((2.0 * vectors[row] * vectors[column]).T @ h_root, axis=1)
    known = values > errors
    curvatures, axes = values[known], vectors[:, known]
    uphill = (slope - h @ best[others]) @ axes
    precision, count = 1.0, SMALLEST_COUNT
    mode, root = best.copy(), np.zeros((dimension, dimension))
    if j is not None:
        count = max(count, -fit.coefficients[1] / exponent)
        root[j, j] = 1.0 / (abs(exponent) * np.sqrt(count))
    for _ in range(ROUNDS):
        if j is not None:  # where a + k e^(-k t) R = 0
            residual = _design(mode[None], j, exponent)[0]
            residual[:2] = 0.0
            least = float(np.linalg.norm(residual @ fit.root))
            smallest = max(-float(residual @ fit.coefficients), least) * np.exp(exponent * mode[j])
            precision = count / smallest
            mode[j] = -np.log(precision) / exponent
        mode[others] = best[others] + axes @ (uphill / (curvatures + 1.0 / precision))
    root[np.ix_(others, others)] = vectors / np.sqrt(1.0 + precision * np.where(known, values, 0.0))
    at_mode = _design(mode[None], j, exponent)[0]
    top, error = float(at_mode @ fit.coefficients), float(np.linalg.norm(at_mode @ fit.root))
    if not np.isfinite([*mode, *root.ravel(), top, error]).all():
        return None
    return Law(
        plain, exponent, fit.coefficients, fit.scores, mode, root, top, error,
        is_complete=bool(known.all()),
    )  # fmt: skip


def _quadratic(fit: _Fit, start: int, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slope b (d,) and H (d, d) of the quadratic c + b z - ½ z H z, and the root for H's entries.

    Its coefficients begin at ``start``.
    """
    quadratic = slice(start + 1 + d, None)
    h = np.zeros((d, d))
    h[np.triu_indices(d)] = -fit.coefficients[quadratic]
    return fit.coefficients[start + 1 : start + 1 + d], h + h.T, fit.root[quadratic]
