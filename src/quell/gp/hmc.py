"""Hamiltonian Monte Carlo with a fixed metric.

A position is written u = mean + root z, with the mean and the covariance root of a normal
approximation of the target; if that is good, z is close to standard normal and a few leapfrog
steps of one size suit all directions. The step size is tuned during burn-in by stochastic
approximation of an acceptance probability, and jittered always.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray

LogDensity = Callable[[FloatArray], tuple[float, FloatArray]]

#: Aim of the step-size adaptation.
TARGET_ACCEPTANCE = 0.8
#: Steps of a trajectory, drawn uniformly.
LEAPFROG_STEPS = (3, 6)
#: A trajectory that loses this much log density has diverged.
_DIVERGED = 1e3


@dataclass(frozen=True, eq=False)
class State:
    """A position with the target's log density and gradient there."""

    u: FloatArray
    value: float
    gradient: FloatArray


@dataclass(frozen=True, eq=False)
class Chain:
    """Draws (n, size) of a chain, the tuned step size, and the mean acceptance probability."""

    draws: FloatArray
    step: float
    acceptance: float


def first_step(size: int) -> float:
    """A step size that suits a standard normal target of this dimension."""
    return float(0.9 * size**-0.25)


def move(
    rng: np.random.Generator,
    log_density: LogDensity,
    state: State,
    root: FloatArray,
    step: float,
) -> tuple[State, float]:
    """One trajectory and its Metropolis test: the new state and the acceptance probability."""
    momentum = rng.standard_normal(len(state.u))
    energy = state.value - 0.5 * float(momentum @ momentum)
    steps = int(rng.integers(LEAPFROG_STEPS[0], LEAPFROG_STEPS[1] + 1))
    step *= rng.uniform(0.8, 1.2)
    new = state
    for _ in range(steps):
        momentum = momentum + 0.5 * step * (new.gradient @ root)
        u = new.u + step * (root @ momentum)
        new = State(u, *log_density(u))
        if not new.value > state.value - _DIVERGED:
            return state, 0.0
        momentum = momentum + 0.5 * step * (new.gradient @ root)
    change = new.value - 0.5 * float(momentum @ momentum) - energy
    acceptance = float(np.exp(min(0.0, change)))
    return (new if rng.random() < acceptance else state), acceptance


def sample_chain(
    rng: np.random.Generator,
    log_density: LogDensity,
    start: State,
    root: FloatArray,
    *,
    n_draws: int,
    burn_in: int,
    thin: int,
    step: float | None = None,
) -> Chain:
    """Run one chain: ``burn_in`` trajectories that tune the step size, then the draws."""
    log_step = np.log(first_step(len(start.u)) if step is None else step)
    state, tried = start, [log_step]
    for j in range(1, burn_in + 1):
        state, acceptance = move(rng, log_density, state, root, float(np.exp(log_step)))
        # Steps of 1/√j move fast at first; averaging over the later ones removes their noise.
        # (Dual averaging, made for hundreds of iterations, ends too short after so few.)
        log_step += (acceptance - TARGET_ACCEPTANCE) / np.sqrt(j)
        tried.append(log_step)
    step = float(np.exp(np.mean(tried[len(tried) // 2 :])))

    draws = np.empty((n_draws, len(start.u)))
    accepted = []
    for i in range(n_draws):
        for _ in range(thin):
            state, acceptance = move(rng, log_density, state, root, step)
            accepted.append(acceptance)
        draws[i] = state.u
    return Chain(draws, step, float(np.mean(accepted)) if accepted else np.nan)
