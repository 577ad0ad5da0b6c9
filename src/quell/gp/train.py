"""Fitting the surrogate's hyperparameters: mode, curvature, then a short HMC chain.

The mode is found by L-BFGS from remembered vectors (a warm start) and, when the fit is not yet
trusted or for the first time, also from a default and from the best of a random design: the
hyperposterior can have several modes, and a chain started in a stale one does not leave it.
"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.gp.data import TrainingData
from quell.gp.hmc import TARGET_ACCEPTANCE, State, first_step, move, sample_chain
from quell.gp.hyperposterior import Hyperposterior, laplace_approximation
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import Memory, climb_from_known, find_mode, search_modes
from quell.gp.posterior import GaussianProcess
from quell.gp.prior import HyperparameterPrior

#: Length of the chain: trajectories before the first draw, and per draw.
BURN_IN, THIN = 10, 4
#: Trajectories of each sample that has been carried to new coordinates.
NEW_SPACE_TRAJECTORIES = 3
#: How many SDs above its expected distance from the mode a sample may lie before it is stale.
STALE_SDS = 4.0
#: How far a mode may move, in SDs per direction, before the metric is computed again.
SAME_METRIC = 0.3


@dataclass(frozen=True, eq=False)
class TrainedGP:
    """A fitted surrogate and what the next fit can start from.

    ``mode`` (size,) is the best θ found; ``root`` the covariance root of the Laplace
    approximation there, in unconstrained coordinates; ``step`` the tuned step size of HMC;
    ``acceptance`` its mean acceptance (nan for a MAP fit); ``evaluations`` the number of
    evaluations of the marginal likelihood with gradient.
    """

    gp: GaussianProcess
    mode: FloatArray
    root: FloatArray
    step: float
    acceptance: float
    evaluations: int

    @property
    def memory(self) -> Memory:
        """What the next fit starts from."""
        return Memory(np.vstack([self.mode, self.gp.theta]), self.root, self.step)


def train(
    rng: np.random.Generator,
    data: TrainingData,
    *,
    n_samples: int = 8,
    previous: TrainedGP | Memory | None = None,
    search: bool = False,
    prior: HyperparameterPrior | None = None,
    burn_in: int = BURN_IN,
    thin: int = THIN,
) -> TrainedGP:
    """Fit the surrogate: ``n_samples`` posterior draws of θ, or its mode if 0.

    ``previous`` is an earlier fit (to fewer or other data) to start from. ``search`` asks for
    the global search also then; without a previous fit it always happens. ``prior`` is that of
    `HyperparameterPrior.for_data` by default.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(20, 2))
    >>> data = TrainingData.from_arrays(x, -0.5 * (x**2).sum(axis=1))
    >>> fit = train(rng, data, n_samples=4)
    >>> fit.gp.n_samples
    4
    """
    if n_samples < 0:
        raise ValueError(f"n_samples must be 0 (MAP) or positive, got {n_samples}")
    target = _target(data, prior)
    prior = target.prior
    memory = previous.memory if isinstance(previous, TrainedGP) else previous
    if memory is not None and memory.vectors.shape[1] != prior.layout.size:
        memory = None  # unknown noise came or went: another model
    mode = find_mode(rng, target, memory, search=memory is None or search)
    theta_mode = prior.constrain(mode)
    laplace = laplace_approximation(target, mode)
    if n_samples == 0:
        gp = GaussianProcess.condition(data, theta_mode[None])
        step = first_step(len(mode)) if memory is None else memory.step
        return TrainedGP(gp, theta_mode, laplace.root, step, np.nan, target.evaluations)
    chain = sample_chain(
        rng,
        target,
        State(mode, *target(mode)),
        laplace.root,
        n_draws=n_samples,
        burn_in=burn_in,
        thin=thin,
        step=None if memory is None else memory.step,
    )
    gp = GaussianProcess.condition(data, prior.constrain(chain.draws))
    return TrainedGP(gp, theta_mode, laplace.root, chain.step, chain.acceptance, target.evaluations)


def refresh(
    rng: np.random.Generator,
    fit: TrainedGP,
    data: TrainingData,
    *,
    prior: HyperparameterPrior | None = None,
) -> TrainedGP:
    """Follow slightly changed data: every sample makes one HMC trajectory.

    For the steps between two calls of :func:`train`. The samples are particles that track the
    hyperposterior locally; they do not find a new mode, so call :func:`train` every few points.
    """
    target = _target(data, prior, like=fit.memory)
    prior = target.prior
    states = _particles(target, fit.gp.theta)
    states, acceptance = _move_all(rng, target, states, fit.root, fit.step, 1)
    draws = prior.constrain(np.stack([state.u for state in states]))
    gp = GaussianProcess.condition(data, draws, fit.gp.weights)
    return TrainedGP(gp, fit.mode, fit.root, fit.step, acceptance, target.evaluations)


def retrain(
    rng: np.random.Generator,
    previous: TrainedGP | Memory,
    data: TrainingData,
    *,
    prior: HyperparameterPrior | None = None,
    search: bool = False,
) -> TrainedGP:
    """Follow data that have grown a little: a new mode and metric, and the samples moved on.

    Between :func:`refresh` and :func:`train` in cost. The samples of ``previous`` are particles
    that make a trajectory each, or a few in coordinates that are new to them (a memory without
    root). Should the new mode, which ``search`` looks for everywhere, lie so high above them
    that they cannot be draws from around it, they are stale and a new chain starts there. The
    metric is computed again where the mode has moved noticeably.
    """
    memory = previous.memory if isinstance(previous, TrainedGP) else previous
    target = _target(data, prior, like=memory)
    prior = target.prior
    states = _particles(target, memory.vectors[1:])
    before = prior.unconstrain(memory.vectors[0])
    highest = max([State(before, *target(before)), *states], key=lambda state: state.value)
    known = climb_from_known(target, highest.u, memory.root)
    mode = search_modes(rng, target, known)[0] if search else known[0]
    root = _metric(target, mode, before, memory.root)
    top = State(mode, *target(mode))
    # Under a normal posterior the gap to the mode is ½ χ² with as many degrees as θ has entries.
    size = len(mode)
    gap = top.value - float(np.median([state.value for state in states]))
    if gap > size / 2 + STALE_SDS * np.sqrt(size / 2):
        chain = sample_chain(
            rng, target, top, root,
            n_draws=len(states), burn_in=BURN_IN, thin=THIN, step=memory.step,
        )  # fmt: skip
        draws, step, acceptance = chain.draws, chain.step, chain.acceptance
    else:
        trajectories = NEW_SPACE_TRAJECTORIES if memory.root is None else 1
        states, acceptance = _move_all(rng, target, states, root, memory.step, trajectories)
        draws = np.stack([state.u for state in states])
        # One step of stochastic approximation, as in the burn-in of a chain.
        step = memory.step * float(np.exp(0.5 * (acceptance - TARGET_ACCEPTANCE)))
    gp = GaussianProcess.condition(data, prior.constrain(draws))
    return TrainedGP(gp, prior.constrain(mode), root, step, acceptance, target.evaluations)


def _metric(
    target: Hyperposterior, mode: FloatArray, before: FloatArray, root: FloatArray | None
) -> FloatArray:
    """The old ``root`` where the mode has hardly moved from ``before``, else that at the mode."""
    if root is not None:
        moved = np.linalg.solve(root, mode - before)
        if moved @ moved <= SAME_METRIC**2 * len(mode):
            return root
    return laplace_approximation(target, mode).root


def _particles(target: Hyperposterior, theta: FloatArray) -> list[State]:
    """The hyperparameter samples (S, size) as states of the chain."""
    return [State(u, *target(u)) for u in target.prior.unconstrain(theta)]


def _move_all(
    rng: np.random.Generator, target: Hyperposterior, states: list[State], root: FloatArray,
    step: float, trajectories: int,
) -> tuple[list[State], float]:  # fmt: skip
    """Every state moved by some trajectories, and the mean acceptance probability."""
    moved, accepted = [], []
    for state in states:
        for _ in range(trajectories):
            state, acceptance = move(rng, target, state, root, step)
            accepted.append(acceptance)
        moved.append(state)
    return moved, float(np.mean(accepted))


def _target(
    data: TrainingData, prior: HyperparameterPrior | None, *, like: Memory | None = None
) -> Hyperposterior:
    """The hyperposterior of the data; refused if it has other entries than that of ``like``."""
    if prior is None:
        prior = HyperparameterPrior.for_data(data)
    if like is not None and like.vectors.shape[1] != prior.layout.size:
        raise ValueError(
            "data have unknown noise where the fit's had none, or the reverse: call train instead"
        )
    return Hyperposterior(MarginalLikelihood(data), prior)


__all__ = ["Memory", "TrainedGP", "refresh", "retrain", "train"]
