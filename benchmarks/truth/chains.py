"""Markov chains with emcee, and whether they have converged."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench.problems.base import BenchError
from truth.importance import LogDensity, Proposal

#: Share of the steps that are jumps to a draw of the proposal; the others move along the
#: differences between walkers (ter Braak 2006, Stat. Comput. 16, 239-249).
JUMPS = 0.6
#: Share of the steps that is dropped at the beginning.
BURN_IN = 0.25


def import_emcee() -> Any:
    """The module; :class:`BenchError` if it is not installed."""
    try:
        return importlib.import_module("emcee")
    except ImportError:
        raise BenchError("ground truth needs emcee: pip install 'quell[truth]'") from None


@dataclass(frozen=True, eq=False)
class Chains:
    """States (steps, ensembles, walkers, D) after burn-in, R-hat (D,) and effective size (D,).

    R-hat is that of the ensembles, which are independent of each other; their walkers are not.
    """

    states: FloatArray
    r_hat: FloatArray
    effective_size: FloatArray
    acceptance: float

    @property
    def draws(self) -> FloatArray:
        """All states together, (n, D)."""
        return self.states.reshape(-1, self.states.shape[-1])


def run_chains(
    log_density: LogDensity,
    proposal: Proposal,
    starts: FloatArray,
    *,
    steps: int,
    seed: int,
    to_original: Callable[[FloatArray], FloatArray],
) -> Chains:
    """Chains from ``starts`` (E, W, D): E ensembles of W walkers that know nothing of each other.

    ``log_density`` maps points (n, D) to (n,); it must be finite at the starts. What is returned
    is in the original parameters, ``to_original`` of the chains' states (..., D).
    """
    emcee = import_emcee()

    def jump(x: FloatArray, random: np.random.RandomState) -> tuple[FloatArray, FloatArray]:
        new = proposal.sample(len(x), random)
        return new, proposal.log_density(x) - proposal.log_density(new)

    moves = [(emcee.moves.MHMove(jump), JUMPS), (emcee.moves.DEMove(), 1 - JUMPS)]
    parts, acceptance = [], []
    for number, start in enumerate(starts):
        sampler = emcee.EnsembleSampler(
            *start.shape, log_density, moves=moves, vectorize=True
        )  # fmt: skip
        state = np.random.RandomState([seed, number]).get_state()
        sampler.run_mcmc(emcee.State(start, random_state=state), steps)
        parts.append(sampler.get_chain(discard=int(BURN_IN * steps)))
        acceptance.append(sampler.acceptance_fraction.mean())
    states = to_original(np.stack(parts, axis=1))
    steps, ensembles, walkers, dimension = states.shape
    tau = emcee.autocorr.integrated_time(states.reshape(steps, -1, dimension), quiet=True)
    pooled = states.swapaxes(1, 2).reshape(steps * walkers, ensembles, dimension)
    return Chains(
        states,
        split_r_hat(pooled),
        steps * ensembles * walkers / np.maximum(tau, 1.0),
        float(np.mean(acceptance)),
    )


def split_r_hat(states: FloatArray) -> FloatArray:
    """Potential scale reduction (D,) of chains (steps, chains, D), each cut in two.

    √(((n − 1)/n W + B/n) / W) with the variance W within and B between the halves, n steps each;
    near one for chains that agree (Gelman et al. 2013, Bayesian Data Analysis, 11.4).

    >>> rng = np.random.default_rng(1)
    >>> same = rng.standard_normal((1000, 4, 1))
    >>> split_r_hat(same).round(2), split_r_hat(same + np.arange(4)[:, None]).round(1)
    (array([1.]), array([1.5]))
    """
    half = len(states) // 2
    halves = np.concatenate([states[:half], states[half : 2 * half]], axis=1)
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    between = halves.mean(axis=0).var(axis=0, ddof=1)
    return np.sqrt((half - 1) / half + between / within)
