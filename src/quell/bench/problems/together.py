"""Several problems with parameters of their own, taken as one: the posterior is their product.

The log-likelihoods add up, so do independent noises' variances, and the truth follows from the
parts: the log evidences add up, the covariance is block-diagonal, the marginals are those of the
parts. It makes problems of many parameters, whose truth is as well known as that of small ones, out
of real data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from quell.arrays import FloatArray
from quell.bench.problems.base import BenchError, Benchmark, Simulator
from quell.bench.problems.real import real_problem
from quell.bench.problems.registry import Entry
from quell.bench.truth import Truth


def together(name: str, parts: Mapping[str, Benchmark]) -> Benchmark:
    """The problem of all ``parts``; the parameters of each end in its key.

    What one part has not (an exact target, a simulator, a shortcut, a usual noise), the whole has
    not.

    >>> from quell.bench import load
    >>> whole = together("two", {"a": load("normal", 2), "b": load("normal", 1)})
    >>> whole.names
    ('x1_a', 'x2_a', 'x1_b')
    >>> whole.truth.covariance.diagonal()
    array([1., 4., 1.])
    """
    each = list(parts.values())
    if any(part.prior is not None and part.prior != "included" for part in each):
        raise BenchError(f"{name}: parts with a prior of their own cannot be taken together")
    if len({(part.prior, part.data) for part in each}) > 1:
        raise BenchError(f"{name}: its parts must have the same kind of data and of target")
    ends = np.cumsum([part.dimension for part in each])[:-1]

    def exact(theta: ArrayLike) -> FloatArray:
        pieces = np.split(np.asarray(theta, dtype=np.float64), ends, axis=-1)
        values = [part.exact(piece) for part, piece in zip(each, pieces, strict=True) if part.exact]
        return np.asarray(sum(values))

    def estimator(simulators: list[Simulator]) -> Simulator:
        def estimate(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
            pieces = np.split(theta, ends)
            found = [simulate(x, rng) for simulate, x in zip(simulators, pieces, strict=True)]
            values, sds = zip(*found, strict=True)
            return float(sum(values)), float(np.linalg.norm(sds))

        return estimate

    simulators = [part.simulator for part in each if part.simulator]
    shortcuts = [part.fast for part in each if part.fast]
    sds = [part.emulated_sd for part in each if part.emulated_sd is not None]
    return Benchmark(
        name=name,
        names=tuple(f"{own}_{key}" for key, part in parts.items() for own in part.names),
        lower=_joined(each, lambda part: part.lower),
        upper=_joined(each, lambda part: part.upper),
        plausible_lower=_joined(each, lambda part: part.plausible_lower),
        plausible_upper=_joined(each, lambda part: part.plausible_upper),
        exact=exact if all(part.exact for part in each) else None,
        make_truth=lambda: joint_truth([part.truth for part in each]),
        emulated_sd=float(np.linalg.norm(sds)) if len(sds) == len(each) else None,
        simulator=estimator(simulators) if len(simulators) == len(each) else None,
        fast=estimator(shortcuts) if len(shortcuts) == len(each) else None,
        prior=each[0].prior,
        data=each[0].data,
    )


def _joined(parts: list[Benchmark], side: Callable[[Benchmark], FloatArray]) -> FloatArray:
    return np.concatenate([side(part) for part in parts])


def joint_truth(truths: list[Truth]) -> Truth:
    """The truth about independent posteriors taken as one.

    Where not all of them can be sampled it cannot be either, and the marginals are compared as they
    are.
    """
    samplers = [truth.sample for truth in truths if truth.sample is not None]

    def sample(n: int, rng: np.random.Generator) -> FloatArray:
        return np.concatenate([draw(n, rng) for draw in samplers], axis=1)

    return Truth(
        log_evidence=sum(truth.log_evidence for truth in truths),
        mean=np.concatenate([truth.mean for truth in truths]),
        covariance=block_diag(*(truth.covariance for truth in truths)),
        marginals=tuple(marginal for truth in truths for marginal in truth.marginals),
        sample=sample if len(samplers) == len(truths) else None,
        log_evidence_checked=sum(truth.log_evidence_checked for truth in truths),
        log_evidence_error=float(np.linalg.norm([truth.log_evidence_error for truth in truths])),
        on_box=all(truth.on_box for truth in truths),
        in_logs=all(truth.in_logs for truth in truths),
    )


def multisensory_both(_dimension: int) -> Benchmark:
    """Both subjects of the multisensory problem: twelve parameters, six of each.

    They share nothing, which nobody tells the algorithm.
    """
    parts = {
        subject: real_problem(f"multisensory_{subject}", MULTISENSORY_DIMENSION)
        for subject in ("s1", "s2")
    }
    return together("multisensory_both", parts)


MULTISENSORY_DIMENSION = 6
TOGETHER = {
    "multisensory_both": Entry(
        multisensory_both,
        2 * MULTISENSORY_DIMENSION,
        "both subjects of the multisensory problem at once",
        noise="IBS, SD 1.84",
    ),
}
