"""Simulation-based calibration of inference on the user's own problem.

Parameters are drawn from a distribution, data simulated from them, and the posterior of these data
inferred with that distribution as the prior. If all is right, the parameters behind the data are
like one more draw from the posterior: their rank among draws is uniform (Talts et al. 2018,
arXiv:1804.06788), and regions of 90 % contain them nine times in ten.

The distribution is the prior; or, with a ``result``, the posterior of the user's data, so that the
test is made where it matters (posterior SBC; Säilynoja et al. 2025, arXiv:2502.03279). The
posterior of both data sets together is inferred with the first posterior as the prior. That is
right if both are independent given the parameters, and it need not be the exact posterior: it
serves for drawing and for inferring alike.
"""

import tempfile
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.calibration.ranks import RANK_DRAWS, rank, rank_p_values
from quell.calibration.shares import wilson_interval
from quell.calibration.tarp import tarp_shares, uniform_p_value
from quell.checks import function, integer
from quell.problem import Problem
from quell.problem.drawing import draw_from_prior
from quell.progress import Choice
from quell.results import Result
from quell.run.stopping import BUDGET_EXACT, BUDGET_NOISY, check_budget
from quell.settings import Settings
from quell.streams import rng_for_calibration
from quell.study import study
from quell.text import printable, table

#: Intervals whose coverage is told.
LEVELS = (0.5, 0.9)
#: A p value below this, divided by the number of tests, is no chance.
SIGNIFICANT = 0.05
#: With fewer runs nothing can be tested.
FEWEST_RUNS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """What simulated data say about posteriors; made by `calibrate`, printing it is a summary.

    Attributes
    ----------
    names
        Names of the parameters that are not fixed.
    truth
        The parameters (R, D) behind each data set.
    ranks
        Their ranks (R, D) among 999 draws from the posterior.
    tarp
        For each run, the share (R,) of the posterior nearer to a random point than the truth.
    z_scores
        Errors (R, D) of the posterior means, in posterior SDs.
    statuses
        What each run says of itself.
    failed
        Runs without a result, with the reason.
    evaluations
        Evaluations of all runs together.

    Examples
    --------
    Usually what `calibrate` returns; here one made by hand, of 40 right posteriors:

    >>> rng = np.random.default_rng(2)
    >>> truth = rng.normal(size=(40, 1))
    >>> found = Calibration(
    ...     ("a",), truth, rng.integers(0, 1000, (40, 1)).astype(float), rng.random(40),
    ...     rng.normal(size=(40, 1)), ("stable",) * 40, (), 4000,
    ... )
    >>> found.is_calibrated, found.n_runs
    (True, 40)
    """

    names: tuple[str, ...]
    truth: FloatArray
    ranks: FloatArray
    tarp: FloatArray
    z_scores: FloatArray
    statuses: tuple[str, ...]
    failed: tuple[str, ...]
    evaluations: int

    @property
    def n_runs(self) -> int:
        """Runs with a result."""
        return len(self.ranks)

    @property
    def p_values(self) -> dict[str, float]:
        """For each parameter how well its ranks agree with uniform ones; "jointly" is TARP's."""
        if self.n_runs < FEWEST_RUNS:
            return dict.fromkeys([*self.names, "jointly"], np.nan)
        single = rank_p_values(self.ranks)
        return {
            **{name: float(p) for name, p in zip(self.names, single, strict=True)},
            "jointly": uniform_p_value(self.tarp),
        }

    def coverage(self, level: float) -> FloatArray:
        """Share of the runs (D,) whose central interval of this ``level`` has the truth."""
        tail = 0.5 * (1 - level) * (RANK_DRAWS + 1)
        inside = (self.ranks >= tail) & (self.ranks < RANK_DRAWS + 1 - tail)
        return np.asarray(inside.mean(axis=0))

    @property
    def is_calibrated(self) -> bool:
        """Whether no test speaks against it, allowing for the number of tests."""
        p = np.array(list(self.p_values.values()))
        return bool(np.all(p > SIGNIFICANT / len(p)))

    def summary(self) -> str:
        """The tests as text."""
        verdict = "calibrated: no test speaks against it" if self.is_calibrated else (
            "NOT CALIBRATED" if self.n_runs >= FEWEST_RUNS else f"fewer than {FEWEST_RUNS} runs "
            "cannot be tested"
        )  # fmt: skip
        levels = [f"{100 * level:.0f} % intervals" for level in LEVELS]
        rows = [("parameter", "p", *levels, "mean z", "SD of z")]
        p = self.p_values
        for i, name in enumerate(self.names):
            shares = [self._share(level, i) for level in LEVELS]
            z = self.z_scores[:, i]
            about = (f"{z.mean():+.2f}", f"{z.std():.2f}") if len(z) else ("-", "-")
            rows.append((printable(name), f"{p[name]:.3f}", *shares, *about))
        rows.append(("jointly", f"{p['jointly']:.3f}", *("" for _ in LEVELS), "", ""))
        counts = {status: self.statuses.count(status) for status in dict.fromkeys(self.statuses)}
        lines = [
            f"{self.n_runs} simulated data sets, {self.evaluations} evaluations: {verdict}",
            table(rows),
            "  runs say " + ", ".join(f"{n} {status}" for status, n in counts.items()),
            *(f"  FAILED {printable(why)}" for why in self.failed),
        ]
        return "\n".join(lines)

    def _share(self, level: float, parameter: int) -> str:
        if not self.n_runs:
            return "-"
        share = float(self.coverage(level)[parameter])
        low, high = wilson_interval(round(share * self.n_runs), self.n_runs)
        return f"{share:.2f} [{low:.2f}, {high:.2f}]"

    def __repr__(self) -> str:
        return self.summary()


def calibrate(
    problem: Callable[[Any], Problem],
    simulate: Callable[[FloatArray, np.random.Generator], Any],
    *,
    observed: Any,
    runs: int = 50,
    result: Result | None = None,
    budget: int | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    folder: str | PathLike[str] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Choice = "auto",
) -> Calibration:
    """Infer the parameters behind simulated data, and see whether posteriors are right on average.

    This costs ``runs`` whole inferences, each with its budget of evaluations. What it costs is
    said before it begins.

    Parameters
    ----------
    problem
        A function from data to the :class:`quell.Problem` of inferring their parameters.
    simulate
        A function of parameters θ (dimension,) and a generator that makes data like ``observed``.
    observed
        Your own data; the prior is that of ``problem(observed)``.
    runs
        Number of simulated data sets; 50 see gross errors, 200 small ones.
    result
        The result for ``observed``: then parameters are drawn from its posterior instead of the
        prior, so that the test is made where your data are.
    budget, settings, executor, workers, progress
        Of every run, as in :func:`quell.study`.
    seed
        Of the parameters, the data and the runs.
    folder
        Where the runs are kept, so that the same call again continues; by default nowhere.

    Returns
    -------
    Calibration
        Tests of uniform ranks, coverage of intervals, z scores.

    Raises
    ------
    ValueError
        If nothing can be drawn from the prior.

    Examples
    --------
    >>> def simulate(theta, rng):
    ...     return rng.normal(theta[0], 1.0, size=5)
    >>> def problem(data):
    ...     return Problem(
    ...         lambda theta: -0.5 * float(np.sum((data - theta[0]) ** 2)), noise="exact",
    ...         lower=-3, upper=3, plausible_lower=-2, plausible_upper=2,
    ...     )
    >>> found = calibrate(
    ...     problem, simulate, observed=np.zeros(5), runs=3, budget=15, progress=False,
    ...     settings=Settings(final_components=0),
    ... )
    >>> found.n_runs, found.evaluations
    (3, 45)
    """
    runs = integer("runs", runs, least=1)
    function("simulate", simulate)
    base = _checked(problem, observed)
    check_budget(budget, base)
    truth = _draw(base, result, runs, seed)
    problems = {}
    for i, theta in enumerate(truth):
        made = _checked(problem, simulate(theta.copy(), rng_for_calibration(seed, i)))
        if result is not None:
            made = made.with_prior(result.posterior.as_prior())
        problems[f"simulation {i + 1}"] = made
    if progress:
        print(_cost(base, budget, runs))
    place = nullcontext(folder) if folder is not None else tempfile.TemporaryDirectory()
    with place as where:
        done = study(
            problems, folder=str(where), seeds=[seed], budget=budget, settings=settings,
            executor=executor, workers=workers, progress=progress,
        )  # fmt: skip
        found = {row.problem: done.result(row.problem) for row in done.rows if not row.error}
    return _summarise(base, truth, found, [f"{r.problem}: {r.error}" for r in done.failed], seed)


def _checked(problem: Callable[[Any], Problem], data: Any) -> Problem:
    if not callable(problem):
        raise TypeError(
            "problem must be a function from data to a quell.Problem, got "
            f"{type(problem).__name__}: simulated data need a problem each"
        )
    made = problem(data)
    if not isinstance(made, Problem):
        raise TypeError(f"problem(data) must be a quell.Problem, got {type(made).__name__}")
    return made


def _draw(base: Problem, result: Result | None, n: int, seed: int) -> FloatArray:
    rng = rng_for_calibration(seed)
    if result is None:
        return draw_from_prior(base, n, rng)
    if result.posterior.names != base.names:
        raise ValueError(
            f"result has the parameters {list(result.posterior.names)}, the problem "
            f"{list(base.names)}"
        )
    return result.posterior.sample(n, rng)


def _cost(base: Problem, budget: int | None, runs: int) -> str:
    each = budget
    if each is None:
        factor = BUDGET_EXACT if base.noise == "exact" else BUDGET_NOISY
        each = factor * (base.space.dimension + 2)
    return f"calibration: {runs} runs of up to {each} evaluations each, {runs * each} in all"


def _summarise(
    base: Problem, truth: FloatArray, found: dict[str, Result], failed: list[str], seed: int
) -> Calibration:
    free = base.space.free
    kept = [i for i in range(len(truth)) if f"simulation {i + 1}" in found]
    results = [found[f"simulation {i + 1}"] for i in kept]
    behind = truth[kept][:, free]
    draws = np.empty((len(kept), RANK_DRAWS, int(free.sum())))
    z = np.empty(behind.shape)
    for row, (i, one) in enumerate(zip(kept, results, strict=True)):
        draws[row] = one.posterior.sample(RANK_DRAWS, rng_for_calibration(seed, i, 1))[:, free]
        z[row] = (one.posterior.mean()[free] - behind[row]) / one.posterior.sd()[free]
    shares = np.empty(0)
    if kept:
        shares = tarp_shares(rng_for_calibration(seed, len(truth)), behind, draws)
    return Calibration(
        names=base.space.free_names,
        truth=behind,
        ranks=rank(behind, draws).astype(float),
        tarp=shares,
        z_scores=z,
        statuses=tuple(str(one.status) for one in results),
        failed=tuple(failed),
        evaluations=sum(one.evaluations.n_counted for one in results),
    )
