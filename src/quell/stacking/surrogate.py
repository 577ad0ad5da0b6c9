"""One surrogate for the evaluations of all runs.

Every run has fitted a surrogate to its own evaluations, and its mixture to that: both follow the
noise of that run. If each component were judged by the surrogate of its own run, the components
that win would be those whose noise was high, and the evidence would come out too high, the more
runs the higher. So all components of all runs are judged by one surrogate that has seen the
evaluations of all of them (docs/experiments/stacking.md has what else was tried).

It is the Gaussian process of `quell.gp.model` in the space of one of the runs. Hyperparameters are
learnt from some of the observations; then all of them are conditioned on, through the values u of
the process at M inducing points U, N observations costing N M² instead of N³. With K_UX = κ(U, X),
K_UU = L Lᵀ, r = y − m(X) and noise variances Σ:

    A = L⁻¹ K_UX Σ^{-½},   B = I + A Aᵀ,   f̄(x) = m(x) + κ(x, U) L⁻ᵀ B⁻¹ A Σ^{-½} r

(subset of regressors; exact where U = X). Terms of single runs add up in A Aᵀ and A Σ^{-½} r, so
that leaving one out costs a factorisation of B.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from quell.arrays import FloatArray
from quell.gp import HyperparameterPrior, Memory, TrainingData, train
from quell.gp.factor import factorise
from quell.gp.hmc import first_step
from quell.gp.model import Hyperparameters, Layout, kernel, mean_function, noise_variance
from quell.problem.constraint import Support
from quell.results import Result
from quell.space import InferenceSpace
from quell.vbmc import TrainingSet
from quell.vbmc.found_edge import FoundSupport
from quell.vbmc.subset import SHELL_MARGIN, SHELL_PER_DIMENSION

#: Observations that hyperparameters are learnt from, and the most inducing points; samples of the
#: hyperparameters.
LEARNING_POINTS, MOST_INDUCING = 500, 600
N_SAMPLES = 4
#: A nugget for the inducing points, in units of σ_f²: they need not be told apart to rounding.
NUGGET = 1e-9


@dataclass(frozen=True, eq=False)
class Observations:
    """Evaluations of J runs in one ``space``; ``run`` (N,) says of which each is."""

    space: InferenceSpace
    data: TrainingData
    run: NDArray[np.intp]


def common_support(results: Sequence[Result]) -> Support | None:
    """That of the problem, and beyond an edge that any of the runs has found there is nothing."""
    supports = [result.posterior.support for result in results]
    found = [support for support in supports if isinstance(support, FoundSupport)]
    if not found:
        return supports[0]
    return FoundSupport(tuple(edge for one in found for edge in one.edges), found[0].given)


def gather(results: Sequence[Result], space: InferenceSpace) -> Observations:
    """All evaluations that say something about the posterior, in ``space``.

    Values far below the best are left out, as in a run of very many evaluations
    (`quell.vbmc.subset`). An evaluation that is in several runs, because one was the head start of
    another, is there once.
    """
    support = common_support(results)
    found = support if isinstance(support, FoundSupport) else None
    seen: set[tuple[bytes, bytes]] = set()
    sets = []
    for result in results:
        table = result.evaluations
        keys = [(t.tobytes(), v.tobytes()) for t, v in zip(table.theta, table.value, strict=True)]
        new = np.array([key not in seen for key in keys], dtype=bool)
        table = table.rows(new)
        seen.update(keys)
        noisy = bool((table.sd != 0).any())  # also where SDs are not known
        wrong = [one.row for one in result.set_aside]
        aside = np.isin(np.arange(len(result.evaluations)), wrong)[new]
        scale = result.history[result.chosen - 1].get("noise_scale", 1.0)
        observed = TrainingSet.of(table, aside, space, noisy=noisy, noise_scale=scale, found=found)
        sets.append(observed.data)
    run = np.repeat(np.arange(len(sets)), [data.size for data in sets])
    data = sets[0]
    for more in sets[1:]:
        data = data.append(more)
    depth = SHELL_PER_DIMENSION * space.dimension + SHELL_MARGIN
    noise = np.sqrt(np.nan_to_num(np.nanmedian(np.append(data.variance, 0.0))))
    kept = np.flatnonzero(data.y > data.y.max() - depth - 2 * noise)
    return Observations(space, data.subset(kept), run[kept])


def learn(
    rng: np.random.Generator, observations: Observations, reference: Result
) -> tuple[FloatArray, FloatArray]:
    """Hyperparameters (S, size) for all observations and their weights (S,).

    The search starts from those of the ``reference``, whose space it is.
    """
    data, space, solution = observations.data, observations.space, reference.solution
    if data.size > LEARNING_POINTS:
        data = data.part(np.sort(rng.choice(data.size, LEARNING_POINTS, replace=False)))
    settings = reference.settings
    prior = HyperparameterPrior.for_data(
        data,
        plausible_range=space.plausible_range(rng),
        noise_guess=reference.problem.get("noise_guess"),
        output_scale=float(space.dimension) if settings.output_scale_prior else None,
        empirical=settings.rules_of_2018,
    )
    memory = None
    if solution.theta.shape[1] == prior.layout.size:
        vectors = np.vstack([solution.weights @ solution.theta, solution.theta])
        memory = Memory(vectors, None, first_step(prior.layout.size))
    fit = train(rng, data, n_samples=N_SAMPLES, previous=memory, search=True, prior=prior)
    return fit.gp.theta, fit.gp.weights


class PooledSurrogate:
    """The surrogate of all observations, under hyperparameters (S, size) of weights (S,)."""

    def __init__(
        self, rng: np.random.Generator, observations: Observations, theta: FloatArray,
        weights: FloatArray,
    ) -> None:  # fmt: skip
        data = observations.data
        self.space, self.edges, self.weights = observations.space, data.edges, weights
        rows = np.arange(data.size)
        if data.size > MOST_INDUCING:
            rows = np.sort(rng.choice(data.size, MOST_INDUCING, replace=False))
        layout = Layout(data.dimension, data.has_unknown_noise)
        self.n_runs = int(observations.run.max()) + 1
        self._samples = [
            _Sample(layout.unpack(one), data.x[rows], data, observations.run) for one in theta
        ]

    def at(self, theta: FloatArray) -> FloatArray:
        """The log joint density expected at points (n, D) of the user's parameters, (n,)."""
        return self.without_each(theta, [None])[0]

    def without_each(self, theta: FloatArray, left_out: Sequence[int | None]) -> FloatArray:
        """The same (L, n), each time without the observations of one run, or with all for None."""
        x = self.space.to_inference(theta)
        known = -self.space.log_jacobian(x)
        if self.edges is not None:
            known = known + self.edges.at(x)
        total = np.zeros((len(left_out), len(x)))
        for sample, weight in zip(self._samples, self.weights, strict=True):
            total += weight * sample.means(x, left_out)
        return total + known


class _Sample:
    """The surrogate under one sample of the hyperparameters."""

    def __init__(
        self, hyper: Hyperparameters, inducing: FloatArray, data: TrainingData,
        run: NDArray[np.intp],
    ) -> None:  # fmt: skip
        self.hyper, self.inducing = hyper, inducing
        prior = kernel(hyper, inducing, inducing)
        prior[np.diag_indices_from(prior)] += NUGGET * hyper.output_variance
        self.lower = np.tril(factorise(prior)[0])
        root = np.sqrt(noise_variance(hyper, data.variance))
        cross = solve_triangular(self.lower, kernel(hyper, inducing, data.x), lower=True) / root
        rest = (data.rest - mean_function(hyper, data.x)) / root
        runs = range(int(run.max()) + 1)
        self.gram = [cross[:, run == j] @ cross[:, run == j].T for j in runs]
        self.sums = [cross[:, run == j] @ rest[run == j] for j in runs]

    def means(self, x: FloatArray, left_out: Sequence[int | None]) -> FloatArray:
        """m + κ(x, U) L⁻ᵀ B⁻¹ A Σ^{-½} r at points (n, D), without single runs; (L, n)."""
        half = solve_triangular(self.lower, kernel(self.hyper, self.inducing, x), lower=True)
        gram = np.sum(self.gram, axis=0)
        sums = np.sum(self.sums, axis=0)
        out = np.empty((len(left_out), len(x)))
        for row, j in enumerate(left_out):
            b = np.eye(len(sums)) + (gram if j is None else gram - self.gram[j])
            out[row] = cho_solve(cho_factor(b), sums if j is None else sums - self.sums[j]) @ half
        return out + mean_function(self.hyper, x)
