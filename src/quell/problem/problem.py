"""What the user asks: a log-likelihood, its parameters with bounds and prior, and its noise."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats, flag
from quell.interface import explains_unknown_arguments
from quell.problem.constraint import check_constraint, check_room, warn_where_it_fails
from quell.problem.description import as_text, fingerprint
from quell.problem.integers import space_with_integers
from quell.problem.noise import Noise, check_noise, check_noise_guess
from quell.problem.notebook import problem_html
from quell.problem.outcome import Outcome
from quell.problem.parameters import Parameters
from quell.problem.plausible import with_plausible_box
from quell.problem.prior import make_prior, narrow_box, probe_points
from quell.problem.target import Target, accepts_rng


class Problem(Parameters):
    """A Bayesian inference problem with an expensive, possibly noisy log-likelihood.

    Everything is checked here, so that a mistake shows before the first evaluation. D counts all
    parameters, fixed ones included; every point is of shape (D,) in the order of the names.

    Parameters
    ----------
    log_likelihood
        A function of θ (D,) that returns the log-likelihood, or the pair (value, SD of its
        noise). If it has a parameter ``rng`` it is given a fresh ``numpy.random.Generator``. None
        where nothing is to be evaluated here: for `quell.fit` and `quell.Sampler`.
    lower, upper
        Hard bounds, (D,) or (1, D), or a scalar for all; infinite where there is none. Equal bounds
        fix a parameter at that value.
    plausible_lower, plausible_upper
        The box in which most of the posterior mass is expected; finite. Left out, it is the
        central 68 % of each parameter's prior within the hard bounds, for a prior of one
        distribution per parameter, a multivariate normal, an earlier posterior, or None on a finite
        box. A good guess saves evaluations, and says where a posterior may be looked for.
    prior
        None: uniform on the box (with an infinite bound improper: the evidence will be nan). A
        sequence with a continuous ``scipy.stats`` distribution per parameter (entries for fixed
        ones are not used and may be None) or one of `quell.priors`, a joint distribution
        (``logpdf`` of points (n, D)), the posterior of an earlier result, or a function of θ (D,)
        that returns the log density. "included": the target returns the log
        joint already. Densities are used as given, not renormalised to the hard bounds; where a
        parameter's own one is zero beyond some value, as that of a scale below 0, its hard bounds
        end there.
    names
        Names of the parameters; x1 .. xD by default.
    noise
        "reported": the target returns (value, SD), with SD nan where it is missing. "unknown":
        noise of one unknown size, which is estimated; SDs the target returns are ignored.
        "exact": no noise. "auto": a pair means "reported"; for bare numbers the run finds out
        whether the target is exact.
    bounded
        How parameters with hard bounds are made unbounded, or one choice for each: "probit",
        "logit" (the paper's) or "student" between two bounds, the logarithm with one. "soft": by
        the probit or the logarithm at first; once a run knows the posterior, by a map that is
        linear but for soft edges, if the surrogate prefers it. Much more accurate where the
        posterior touches a bound (docs/experiments/coordinates.md).
    periodic, integer
        Names, or a mask, of the parameters that live on a circle of circumference upper − lower,
        and of those that are integers. Bounds of integers are the smallest and the largest value
        allowed. A density given as prior is evaluated at the integers and taken as their mass.
    vectorised
        The target takes points (n, D) and returns n values, or a tuple of n values and n SDs. Its
        ``rng``, if it has one, is a list of n generators. A run gives it as many points in one
        call as `infer` is told by ``workers``.
    noise_guess
        A guess of the noise SD near the mode, where it is "unknown" or some SDs are missing.
    constraint
        A function of θ (D,) that says whether a point is allowed, as ``lambda theta: theta[0] <
        theta[1]``. Where it is not the density is zero: nothing is evaluated there, and the
        posterior ends there exactly. A prior that is zero in a part of the box does the same. The
        prior is not renormalised to what is left.

    Raises
    ------
    TypeError, ValueError
        For what cannot be a problem; the message names the argument and says what to do.

    Examples
    --------
    >>> def log_likelihood(theta, rng):
    ...     return -0.5 * np.sum(theta**2) + 0.1 * rng.standard_normal(), 0.1
    >>> problem = Problem(
    ...     log_likelihood,
    ...     lower=[-10, 0], upper=[10, 5], plausible_lower=[-1, 1], plausible_upper=[1, 3],
    ...     names=["shift", "scale"],
    ... )
    >>> problem
    Problem with 2 parameters, noise="auto"
      name   kind       bounds     plausible  prior
      shift  two-sided  [-10, 10]  [-1, 1]    uniform
      scale  two-sided  [0, 5]     [1, 3]     uniform
    >>> problem.evaluate([0.0, 2.0], rng=np.random.default_rng(1)).sd
    0.1
    >>> bool(np.isclose(problem.log_prior([0.0, 2.0]), -np.log(20 * 5)))
    True
    """

    log_likelihood: Callable[..., Any] | None
    noise: Noise
    noise_guess: float | None
    vectorised: bool
    takes_rng: bool  #: whether the target is given a generator

    @explains_unknown_arguments("quell.Problem")
    def __init__(
        self,
        log_likelihood: Callable[..., Any] | None,
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        plausible_lower: ArrayLike | None = None,
        plausible_upper: ArrayLike | None = None,
        prior: Any = None,
        names: Sequence[str] | None = None,
        noise: Noise = "auto",
        bounded: str | Sequence[str] = "soft",
        periodic: Sequence[str] | Sequence[bool] | BoolArray | None = None,
        integer: Sequence[str] | Sequence[bool] | BoolArray | None = None,
        vectorised: bool = False,
        noise_guess: float | None = None,
        constraint: Callable[[FloatArray], Any] | None = None,
    ) -> None:
        takes_rng = log_likelihood is not None and accepts_rng(log_likelihood)
        vectorised = flag("vectorised", vectorised)
        noise = check_noise(noise)
        sides = (lower, upper, plausible_lower, plausible_upper)
        box = with_plausible_box(sides, prior, names, integer)
        space, mask = space_with_integers(box, integer, names, bounded, periodic)
        self.__dict__.update(
            log_likelihood=log_likelihood,
            space=space,
            noise=noise,
            noise_guess=check_noise_guess(noise_guess, noise),
            vectorised=vectorised,
            takes_rng=takes_rng,
            integer=mask,
        )
        probe = self.snap(probe_points(space.bounds))
        made = make_prior(prior, space.bounds, probe)
        narrow = narrow_box(made, ~mask)
        if narrow is not None:
            # In cells of integers nothing has changed, so what is put in has no integers.
            space, _ = space_with_integers(narrow, None, space.names, bounded, periodic)
            made = replace(made, bounds=space.bounds)
        if constraint is not None:
            made = replace(made, constraint=check_constraint(constraint))
        self.__dict__.update(space=space, prior=made)
        if constraint is not None:
            check_room(self)
        warn_where_it_fails(self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Problem cannot be changed (make a new one with another {name})")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @cached_property
    def target(self) -> Target:
        """The log-likelihood and how to call it: what a worker needs."""
        if self.log_likelihood is None:
            raise ValueError(
                "the problem has no log_likelihood, so nothing can be evaluated (pass one to "
                "Problem, use quell.fit for evaluations made elsewhere, or quell.Sampler to "
                "evaluate points yourself)"
            )
        return Target(self.log_likelihood, self.noise, self.vectorised, self.takes_rng)

    def with_noise(self, noise: Noise) -> "Problem":
        """The same problem under another noise mode, as when "auto" has found out.

        Parameters
        ----------
        noise
            The mode, as in `Problem`; a guess of the noise SD is dropped for "exact".

        Examples
        --------
        >>> problem = Problem(sum, lower=0, upper=1, plausible_lower=0.2, plausible_upper=0.8)
        >>> problem.with_noise("exact").noise
        'exact'
        """
        other = copy.copy(self)
        other.__dict__.pop("target", None)
        noise = check_noise(noise)
        guess = None if noise == "exact" else self.noise_guess
        other.__dict__.update(noise=noise, noise_guess=guess)
        return other

    def with_prior(self, prior: Any) -> "Problem":
        """The same problem with another prior; a constraint stays.

        Parameters
        ----------
        prior
            As in `Problem`; for instance the posterior of an earlier experiment.

        Examples
        --------
        >>> from scipy import stats
        >>> problem = Problem(sum, lower=0, upper=1, plausible_lower=0.2, plausible_upper=0.8)
        >>> float(problem.with_prior([stats.beta(2, 2)]).log_prior([0.5]).round(3))
        0.405
        """
        bounds, constraint = self.space.bounds, self.prior.constraint
        return Problem(
            self.log_likelihood,
            lower=self.lower,
            upper=self.upper,
            plausible_lower=self.plausible_lower,
            plausible_upper=self.plausible_upper,
            prior=prior,
            names=self.names,
            noise=self.noise,
            bounded=bounds.bounded,
            periodic=bounds.periodic,
            integer=self.integer,
            vectorised=self.vectorised,
            noise_guess=self.noise_guess,
            constraint=None if constraint is None else constraint.function,
        )

    def evaluate(self, theta: ArrayLike, rng: np.random.Generator | None = None) -> Outcome:
        """Run the target once; whatever it does or raises is in the outcome.

        Parameters
        ----------
        theta
            A point (D,); the target is given what `snap` makes of it.
        rng
            The generator for a target that wants one; an unseeded one by default.

        Returns
        -------
        An outcome with ``value``, ``sd``, and ``error`` if the evaluation failed.

        Raises
        ------
        ValueError
            For a point out of bounds. Of what the target raises only interrupts pass through: a
            ``KeyboardInterrupt``, and ``SystemExit`` from the handler of a signal.

        Examples
        --------
        >>> problem = Problem(
        ...     lambda theta: 1 / float(theta[0]), lower=0, upper=1, plausible_lower=0.2,
        ...     plausible_upper=0.8, noise="exact",
        ... )
        >>> problem.evaluate([0.5]).value
        2.0
        >>> outcome = problem.evaluate([0.0])
        >>> outcome.failed, outcome.kind
        (True, 'exception')
        """
        theta = as_floats("theta", theta)
        if theta.ndim != 1:
            raise ValueError(f"theta must have shape ({self.dimension},), got {theta.shape}")
        return self.target.evaluate(self.snap(self.check_points(theta)), rng)

    def evaluate_many(
        self, thetas: ArrayLike, rngs: Sequence[np.random.Generator | None] | None = None
    ) -> list[Outcome]:
        """Outcomes at several points: in one call if the target is vectorised.

        Where a vectorised target raises, its points are tried again one by one.

        Parameters
        ----------
        thetas
            Points (n, D), snapped as by `evaluate`.
        rngs
            One generator, or None, for each point.

        Examples
        --------
        >>> problem = Problem(
        ...     lambda thetas: -np.sum(thetas**2, axis=1), vectorised=True, noise="exact",
        ...     lower=[0, 0], upper=[9, 9], plausible_lower=[1, 1], plausible_upper=[3, 3],
        ... )
        >>> [outcome.value for outcome in problem.evaluate_many([[1, 2], [3, 4]])]
        [-5.0, -25.0]
        """
        thetas = as_floats("thetas", thetas)
        if thetas.ndim != 2:
            raise ValueError(f"thetas must have shape (n, {self.dimension}), got {thetas.shape}")
        thetas = self.snap(self.check_points(thetas, "thetas"))
        rngs = [None] * len(thetas) if rngs is None else list(rngs)
        if len(rngs) != len(thetas):
            raise ValueError(f"rngs has {len(rngs)} entries, expected {len(thetas)}")
        return self.target.evaluate_many(thetas, rngs)

    def fingerprint(self) -> dict[str, Any]:
        """Plain data, ready for JSON, by which problems are compared; calls none of your functions.

        It has bounds, names, maps, prior and noise, but not the target, whose code is not data.
        Infinities are the strings "inf" and "-inf".
        """
        return fingerprint(self)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return problem_html(self)
