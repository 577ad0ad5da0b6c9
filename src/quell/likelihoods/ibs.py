"""Inverse binomial sampling: an unbiased log-likelihood from a simulator of discrete responses.

Van Opheusden, Acerbi & Ma (2020). What is computed is in `quell.likelihoods.ibs_law`, how the
simulator is called in `quell.likelihoods.ibs_streams`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import BoolArray, FloatArray
from quell.checks import generator, integer, number
from quell.likelihoods.checks import function, point
from quell.likelihoods.ibs_law import IntArray, ibs_from_log_probabilities, sd_or_one_miss
from quell.likelihoods.ibs_streams import Streams
from quell.likelihoods.responses import design, discrete, matches, trial_weights

__all__ = ["IbsEstimate", "IbsLikelihood", "ibs", "ibs_from_log_probabilities"]

#: simulate(theta (D,), trials (k, ...), rng) -> responses (k,) or (k, features)
Simulate = Callable[[FloatArray, NDArray[Any], np.random.Generator], ArrayLike]

#: Trials times repeats of the first round, which finds hopeless parameters and sizes the rest.
FIRST_ROUND = 200


@dataclass(frozen=True, eq=False)
class IbsEstimate:
    """An estimate with what it took; made by :meth:`IbsLikelihood.estimate`.

    Attributes
    ----------
    value, sd
        The log-likelihood, and the SD of its noise.
    repeats
        Repeats per trial behind the value.
    draws
        Simulated responses in all.
    unfinished
        The number of trials that ``max_draws`` left without all their repeats: if it is not 0 the
        value is too high, and the SD allows for that.
    trial_values
        (n,) the estimated log-probability of each response, nan for trials of weight 0.

    Examples
    --------
    >>> def toss(theta, trials, rng):
    ...     return rng.random(len(trials)) < theta[0]
    >>> likelihood = ibs(toss, [True, False, True], repeats=10)
    >>> estimate = likelihood.estimate([1.0], np.random.default_rng(1))
    >>> estimate.unfinished, estimate.trial_values.shape
    (1, (3,))
    """

    value: float
    sd: float
    repeats: int
    draws: int
    unfinished: int
    trial_values: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class IbsLikelihood:
    """A noisy log-likelihood by simulation; made, and checked, by :func:`ibs`.

    Parameters
    ----------
    simulate, responses, trials, weights, repeats, target_sd, max_draws, max_repeats, batch_size
        As explained at :func:`ibs`; the arrays are complete and read-only, and one of ``repeats``
        and ``target_sd`` is None.

    Examples
    --------
    >>> def toss(theta, trials, rng):
    ...     return rng.random(len(trials)) < theta[0]
    >>> likelihood = ibs(toss, [True, False, True], repeats=10)
    >>> likelihood.weights
    array([1., 1., 1.])
    """

    simulate: Simulate = field(repr=False)
    responses: NDArray[Any] = field(repr=False)
    trials: NDArray[Any] = field(repr=False)
    weights: FloatArray = field(repr=False)
    repeats: int | None
    target_sd: float | None
    max_draws: int
    max_repeats: int
    batch_size: int

    def __call__(self, theta: ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
        """The estimate at θ (D,), and the SD of its noise."""
        estimate = self.estimate(theta, rng)
        return estimate.value, estimate.sd

    def estimate(self, theta: ArrayLike, rng: np.random.Generator) -> IbsEstimate:
        """The estimate with its details.

        Parameters
        ----------
        theta
            A point (D,).
        rng
            Where the randomness of the simulator comes from.
        """
        used = np.flatnonzero(self.weights)
        weights = self.weights[used]
        streams, repeats, before = self._sample(point(theta), used, generator(rng))
        trial = streams.estimates(repeats)
        # What is cut off errs in one direction: a nat for each repeat, added up, not averaged.
        error = weights @ trial.censored
        variance = float(weights**2 @ trial.variance + error**2)
        values = np.full(len(self.weights), np.nan)
        values[used] = trial.value
        return IbsEstimate(
            value=float(weights @ trial.value),
            sd=sd_or_one_miss(variance, repeats, weights.max()),
            repeats=repeats,
            draws=before + streams.drawn,
            unfinished=int(np.count_nonzero(trial.censored)),
            trial_values=values,
        )

    def _sample(
        self, theta: FloatArray, used: IntArray, rng: np.random.Generator
    ) -> tuple[Streams, int, int]:
        """Streams of the trials ``used``, the repeats they should have, draws made before them."""

        def draw(rows: IntArray) -> BoolArray:
            return self._draw(theta, used[rows], rng)

        def streams(limit: int) -> Streams:
            return Streams(draw, len(used), limit=limit, rows=self.batch_size)

        def budget(repeats: int) -> int:
            return self.max_draws * len(used) * repeats

        first = -(-FIRST_ROUND // len(used))
        if self.repeats is not None:
            first = min(first, self.repeats)
            current = streams(self.repeats)
            if not current.run(first, budget(first)):
                return current, first, 0  # hopeless
            current.run(self.repeats, budget(self.repeats))
            return current, self.repeats, 0
        scout = streams(first)
        if not scout.run(first, budget(first)):
            return scout, first, 0
        # The first round decides on the number of repeats, so it has no part in the value: the
        # more misses it had, the more repeats would follow, and the less it would count.
        repeats = self._choose_repeats(scout, first, self.weights[used])
        current = streams(repeats)
        current.run(repeats, budget(repeats))
        return current, repeats, scout.drawn

    def _choose_repeats(self, streams: Streams, done: int, weights: FloatArray) -> int:
        """Repeats for the target SD, from the variance seen in ``done`` repeats.

        One standard error of that variance is added to it, so that the target is more often met
        than missed; one more miss than was seen keeps it from being 0.
        """
        assert self.target_sd is not None
        parts = done * weights**2 * streams.estimates(done).variance
        error = np.sqrt(np.sum(parts**2) + (weights.max() ** 2 / done) ** 2)
        needed = np.ceil((parts.sum() + error) / self.target_sd**2)
        return int(np.clip(needed, 1, self.max_repeats))

    def _draw(self, theta: FloatArray, trials: IntArray, rng: np.random.Generator) -> BoolArray:
        """Whether new responses to these trials (rows,) equal the observed ones, (rows,)."""
        hits = np.empty(len(trials), dtype=bool)
        for start in range(0, len(trials), self.batch_size):
            rows = trials[start : start + self.batch_size]
            simulated = self.simulate(theta.copy(), self.trials[rows], rng)
            hits[start : start + len(rows)] = matches(simulated, self.responses[rows])
        return hits


def ibs(
    simulate: Simulate,
    responses: ArrayLike,
    *,
    trials: ArrayLike | None = None,
    repeats: int | None = None,
    target_sd: float | None = None,
    weights: ArrayLike | None = None,
    max_draws: int = 10_000,
    max_repeats: int = 10_000,
    batch_size: int = 100_000,
) -> IbsLikelihood:
    """A log-likelihood for :class:`quell.Problem` from a simulator of discrete responses.

    Responses to each trial are simulated until one equals the observed response; the number of
    draws gives an unbiased estimate of the log-probability, and of its variance. The result is
    called as ``log_likelihood(theta, rng)`` and returns (value, SD); its method ``estimate`` also
    tells the number of draws, the repeats and the values of single trials. It can be pickled
    (sent to other processes) if ``simulate`` can.

    Parameters
    ----------
    simulate
        ``simulate(theta, trials, rng)`` with θ (D,), ``trials`` with k rows and a generator
        returns k responses, independent given θ, one for each row; an array (k,) like
        ``responses``, or (k, features). The same trial may be in many rows.
    responses
        The n observed responses: (n,), or (n, features), where all features must be equal for a
        hit. Integers, truth values, text, or floats that are compared exactly.
    trials
        The design, n rows; ``simulate`` is given rows of it. By default it is given the numbers
        0 .. n−1 of the trials.
    repeats
        R, how often each trial is estimated. The variance goes as 1/R, the cost as R.
    target_sd
        Instead of ``repeats``: an SD of the value to aim at. A first round, which is not used in
        the value, measures how many repeats that takes; the value stays unbiased. The SD that is
        reached scatters by a few per cent, and is usually just below the target.
    weights
        (n,) weights w_i ≥ 0: the value is Σ w_i l_i, its variance Σ w_i² v_i. Trials of weight 0
        are not simulated.
    max_draws
        Limit for hopeless parameters: draws per trial and repeat, on average over the trials. If
        it is reached in a first round of one repeat (more with fewer than 200 trials) that round
        is also the last. In each trial without all its hits the repeat under way counts as if its
        next draw were a hit, and those after it are left out. So the value is too high: where no
        trial is ever hit it is about −(log(max_draws) + 0.6) Σ w_i. For the error, the square of
        Σ w_i f_i is added to the variance, f_i the share of trial i's repeats that was cut off:
        about right where the hits were soon to come, and too little where they never would.
    max_repeats
        The most repeats that ``target_sd`` may lead to.
    batch_size
        The most rows in one call of ``simulate``.

    Returns
    -------
    A function ``log_likelihood(theta, rng)`` that returns (value, SD).

    Notes
    -----
    If every draw was a hit the variance is estimated as 0; the SD is then that of a single miss,
    max(w)/R.

    Examples
    --------
    A coin with unknown bias, tossed 100 times:

    >>> def toss(theta, trials, rng):
    ...     return rng.random(len(trials)) < theta[0]
    >>> heads = np.arange(100) < 30
    >>> log_likelihood = ibs(toss, heads, repeats=50)
    >>> value, sd = log_likelihood([0.4], np.random.default_rng(1))
    >>> exact = 30 * np.log(0.4) + 70 * np.log(0.6)
    >>> bool(abs(value - exact) < 3 * sd)
    True
    >>> precise = ibs(toss, heads, target_sd=0.2)
    >>> bool(0.17 < precise([0.4], np.random.default_rng(1))[1] < 0.22)
    True
    >>> ibs(toss, heads, repeats=50).estimate([0.0], np.random.default_rng(1)).unfinished
    30
    """
    function("simulate", simulate, "theta", "trials", "rng")
    if (repeats is None) == (target_sd is None):
        raise ValueError(
            "give either repeats (how often each trial is estimated) or target_sd (the SD to "
            f"reach), got {'neither' if repeats is None else 'both'}"
        )
    observed = discrete("responses", responses)
    return IbsLikelihood(
        simulate=simulate,
        responses=observed,
        trials=design(trials, len(observed)),
        weights=trial_weights(weights, len(observed)),
        repeats=None if repeats is None else integer("repeats", repeats, least=1),
        target_sd=None if target_sd is None else number("target_sd", target_sd, above=0),
        max_draws=integer("max_draws", max_draws, least=1),
        max_repeats=integer("max_repeats", max_repeats, least=1),
        batch_size=integer("batch_size", batch_size, least=1),
    )
