"""Ground truth for the problems on simulated data, as shipped in src/quell/bench/truth.

For a problem with an exact likelihood, in the unbounded coordinates of `quell.space` (rodent: in
the original ones):

1. Population Monte Carlo from a wide proposal gives a mixture of t densities near the posterior.
2. emcee: four independent ensembles, started from the plausible box, with steps along differences
   between walkers and jumps to draws of that mixture. Moments and marginals are those of the
   chains. R-hat (of the ensembles, each cut in two) and effective sizes are checked and recorded.
3. Importance sampling, from a mixture fitted to the chains, gives the evidence with its standard
   error, and a check of the chains' moments.
4. Where that is cheap (lotka_volterra): bridge sampling between two of the ensembles and a plain
   proposal, fitted to the other two, gives the evidence again; both must agree.

Ricker and g-and-k have no exact likelihood. Theirs is the synthetic likelihood of many simulations
(ricker 3000, gandk 100, as in the check of the truths of the real data), estimated afresh at every
point; moments, marginals and evidence come from importance sampling, in which independent noise of
the weights averages out.

A problem that has a file already is left alone, so the script can be interrupted and run again.
``--check multisensory_s1`` instead computes the truth about a problem on its real data (QUELL_DATA)
and compares it with the stored one. Needs emcee (the extra ``truth``).
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from truth.bridge import bridge_log_evidence
from truth.chains import BURN_IN, Chains, import_emcee, run_chains
from truth.importance import LogDensity, Proposal, Weighted, adapt, fit_proposal
from truth.writing import write_truth

import quell
from quell.arrays import FloatArray
from quell.bench import data, load
from quell.bench.density import density_on_box, total_variation
from quell.bench.metrics import gskl
from quell.bench.problems.base import BenchError, Benchmark
from quell.bench.problems.real import DATA_SEED, REAL, data_of, module_of, simulated_data
from quell.bench.truth import Truth
from quell.bench.truth.shipped import shipped_truth
from quell.space import InferenceSpace

FOLDER = Path(__file__).parent.parent / "src" / "quell" / "bench" / "truth"
ENSEMBLES = 4
#: What a truth must reach to be written.
LARGEST_R_HAT, LEAST_EFFECTIVE, LARGEST_ERROR, LARGEST_SHIFT = 1.01, 1000, 0.05, 0.1
#: How far apart the log evidence may be by importance and by bridge sampling, and the
#: components of the latter's proposal.
LARGEST_GAP, BRIDGE_COMPONENTS = 0.02, 1
#: Points evaluated at a time: more would need too much memory on the larger problems.
BLOCK = 1024


@dataclass(frozen=True)
class Plan:
    """How much is spent on a problem; ``stages`` of ``draws`` each adapt the proposal.

    ``simulations`` per synthetic likelihood, 0 for an exact one; a synthetic one has no chains.
    ``linear``: in the original parameters, for a posterior that a bound cuts off along a flat
    direction, rather than in unbounded ones, which would bend it. ``bridge``: check the
    evidence by bridge sampling.
    """

    walkers: int
    steps: int
    importance: int
    draws: int = 4000
    stages: int = 20
    components: int = 6
    simulations: int = 0
    linear: bool = False
    bridge: bool = False


PLANS = {
    "ricker": Plan(0, 0, 4000, draws=300, components=3, simulations=3000),
    "addm_s1": Plan(24, 120, 4000, draws=600),
    "addm_s2": Plan(32, 150, 6000, draws=800),
    "timing": Plan(24, 150, 4000, draws=600),
    "multisensory_s1": Plan(64, 2000, 400_000),
    "multisensory_s2": Plan(64, 2000, 400_000),
    "neuronal_v1": Plan(32, 300, 10_000, draws=1000),
    "neuronal_v2": Plan(24, 200, 6000, draws=800),
    "rodent": Plan(64, 1000, 100_000, linear=True),
    "gandk": Plan(0, 0, 3000, draws=200, components=2, simulations=100),
    "logreg": Plan(64, 1000, 200_000),
    "lotka_volterra": Plan(64, 4000, 400_000, bridge=True),
}


class Target:
    """The log joint density in the coordinates of a plan, counting its evaluations."""

    def __init__(self, problem: Benchmark, plan: Plan, log_likelihood: LogDensity) -> None:
        box = (problem.lower, problem.upper)
        ends = (-np.inf, np.inf) if plan.linear else box
        self.space = InferenceSpace.from_bounds(
            *ends, problem.plausible_lower, problem.plausible_upper, bounded="logit"
        )
        self.box, self.log_likelihood, self.evaluations = box, log_likelihood, 0
        included = problem.prior == "included"
        self.log_volume = 0.0 if included else float(np.log(box[1] - box[0]).sum())

    def __call__(self, x: FloatArray) -> FloatArray:
        """Values (n,) at points (n, D); -inf outside the box, and where the likelihood is zero."""
        theta = self.space.to_original(x)
        inside = np.flatnonzero(((theta >= self.box[0]) & (theta <= self.box[1])).all(1))
        values = np.full(len(x), -np.inf)
        for rows in np.array_split(inside, -(-len(inside) // BLOCK) or 1):
            values[rows] = self.log_likelihood(theta[rows])
        self.evaluations += len(inside)
        return values - self.log_volume + self.space.log_jacobian(x)


def wide_proposal(dimension: int) -> Proposal:
    """As wide as the plausible box, which has side one here, with heavy tails."""
    return Proposal(np.ones(1), np.zeros((1, dimension)), 0.5 * np.eye(dimension)[None])


def starting_points(
    target: Target, walkers: int, dimension: int, rng: np.random.Generator
) -> FloatArray:
    """Starts (ensembles, walkers, D) all over the plausible box, where the density is finite."""
    points = rng.uniform(-0.5, 0.5, (2 * ENSEMBLES * walkers, dimension))
    points = points[np.isfinite(target(points))][: ENSEMBLES * walkers]
    return points.reshape(ENSEMBLES, walkers, dimension)


def compute(
    key: str, problem: Benchmark, observed: Any, plan: Plan
) -> tuple[Truth, dict[str, Any]]:
    """The truth about a problem, and how it was made."""
    started = time.process_time()
    seed = [DATA_SEED, list(PLANS).index(key), 1]
    rng = np.random.default_rng(seed)
    target = Target(problem, plan, likelihood_of(key, problem, observed, plan, rng))
    proposal = adapt(
        target, wide_proposal(problem.dimension), draws=plan.draws, stages=plan.stages,
        components=plan.components, rng=rng,
    )  # fmt: skip
    made: dict[str, Any] = {}
    if plan.simulations:
        weighted = Weighted.draw(target, proposal, plan.importance, rng)
        theta = target.space.to_original(weighted.resample(20 * plan.importance, rng))
        made["likelihood"] = f"synthetic, {plan.simulations} simulations"
    else:
        starts = starting_points(target, plan.walkers, problem.dimension, rng)
        chains = run_chains(
            target, proposal, starts, steps=plan.steps, seed=seed[1],
            to_original=target.space.to_original,
        )  # fmt: skip
        theta = chains.draws
        thinned = theta[rng.permutation(len(theta))[:20_000]]
        proposal = fit_proposal(target.space.to_inference(thinned), plan.components, rng)
        weighted = Weighted.draw(target, proposal, plan.importance, rng)
        made |= describe_chains(chains, plan)
        if plan.bridge:
            made |= check_by_bridge(target, chains, plan, rng)
    made |= {
        "importance_draws": plan.importance,
        "importance_effective_size": round(weighted.effective_size),
        **compare_moments(theta, target.space.to_original(weighted.points), weighted.shares),
        "evaluations": target.evaluations,
        "cpu_seconds": round(time.process_time() - started),
        "data_seed": [DATA_SEED, list(PLANS).index(key)],
        "generating": list(module_of(key).GENERATING[key]),
        "versions": {
            "quell": quell.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }
    truth = Truth(
        log_evidence=weighted.log_integral,
        mean=theta.mean(0),
        covariance=np.cov(theta.T),
        marginals=tuple(
            density_on_box(column, lower=low, upper=high)
            for column, low, high in zip(theta.T, problem.lower, problem.upper, strict=True)
        ),
        log_evidence_error=weighted.log_integral_error,
        on_box=True,
    )
    return truth, made


def likelihood_of(
    key: str, problem: Benchmark, observed: Any, plan: Plan, rng: np.random.Generator
) -> LogDensity:
    """The log-likelihood of points (n, D): the exact one, or a synthetic one, estimated afresh."""
    if problem.exact is not None:
        return problem.exact
    estimate = module_of(key).likelihood(observed, plan.simulations).value

    def noisy(theta: FloatArray) -> FloatArray:
        return np.array([estimate(point, rng) for point in theta])

    return noisy


def describe_chains(chains: Chains, plan: Plan) -> dict[str, Any]:
    """What is recorded about the chains."""
    return {
        "sampler": (
            f"emcee {import_emcee().__version__}, {ENSEMBLES} ensembles of {plan.walkers} walkers, "
            f"{plan.steps} steps, the first {BURN_IN:.0%} dropped"
        ),
        "r_hat": [round(float(value), 4) for value in chains.r_hat],
        "effective_size": [round(float(value)) for value in chains.effective_size],
        "acceptance": round(chains.acceptance, 3),
    }


def check_by_bridge(
    target: Target, chains: Chains, plan: Plan, rng: np.random.Generator
) -> dict[str, Any]:
    """The log evidence from one half of the ensembles and a proposal fitted to the other."""
    half = chains.states.shape[1] // 2
    parts = (chains.states[:, :half], chains.states[:, half:])
    fitted, used = (part.reshape(-1, part.shape[-1]) for part in parts)
    chosen = fitted[rng.permutation(len(fitted))[:20_000]]
    proposal = fit_proposal(target.space.to_inference(chosen), BRIDGE_COMPONENTS, rng)
    draws = target.space.to_inference(used)
    weighted = Weighted.draw(target, proposal, plan.importance, rng)
    value = bridge_log_evidence(target(draws) - proposal.log_density(draws), weighted.log_weights)
    return {"bridge_log_evidence": round(value, 4)}


def compare_moments(draws: FloatArray, points: FloatArray, shares: FloatArray) -> dict[str, Any]:
    """How far the moments of draws are from those of weighted points, per parameter."""
    mean, sd = draws.mean(0), draws.std(0)
    other = shares @ points
    other_sd = np.sqrt(shares @ (points - other) ** 2)
    return {
        "mean_shift_in_sd": [round(float(value), 3) for value in (other - mean) / sd],
        "sd_ratio": [round(float(value), 3) for value in other_sd / sd],
    }


def complaints(truth: Truth, made: dict[str, Any]) -> list[str]:
    """Why a truth is not good enough to be shipped; empty if it is."""
    found = []
    if max(made.get("r_hat", [1.0])) > LARGEST_R_HAT:
        found.append(f"R-hat is {max(made['r_hat'])}")
    if min(made.get("effective_size", [np.inf])) < LEAST_EFFECTIVE:
        found.append(f"the chains have an effective size of {min(made['effective_size'])}")
    if made["importance_effective_size"] < LEAST_EFFECTIVE:
        found.append(f"importance sampling, one of {made['importance_effective_size']}")
    if truth.log_evidence_error > LARGEST_ERROR:
        found.append(f"the log evidence has an error of {truth.log_evidence_error:.3f}")
    if np.abs(made["mean_shift_in_sd"]).max() > LARGEST_SHIFT:
        found.append("chains and importance sampling disagree about the mean")
    gap = truth.log_evidence - made.get("bridge_log_evidence", truth.log_evidence)
    if abs(gap) > LARGEST_GAP:
        found.append(f"bridge sampling disagrees about the log evidence by {gap:.3f}")
    return found


def make(key: str, *, again: bool) -> bool:
    """Compute and write the truth about a problem; whether it is there and good."""
    observed = simulated_data(key)
    if not again:
        try:
            shipped_truth(key, observed)
        except BenchError:
            pass
        else:
            print(f"{key}: is there already")
            return True
    problem = load(key)
    truth, made = compute(key, problem, observed, PLANS[key])
    report(key, truth, made)
    wrong = complaints(truth, made)
    if wrong:
        print(f"{key}: NOT written: {'; '.join(wrong)}")
        return False
    write_truth(FOLDER / f"{key}.json", truth, observed, made)
    print(f"{key}: written, {(FOLDER / f'{key}.json').stat().st_size / 1e3:.0f} kB", flush=True)
    return True


def report(key: str, truth: Truth, made: dict[str, Any]) -> None:
    """Print what was found."""
    print(f"{key}: ln Z = {truth.log_evidence:.4f} +- {truth.log_evidence_error:.4f}")
    sd = np.sqrt(truth.covariance.diagonal())
    print(
        f"  mean {np.array2string(truth.mean, precision=4)}, SD {np.array2string(sd, precision=3)}"
    )
    for name, value in made.items():
        print(f"  {name}: {value}", flush=True)


def check(key: str) -> None:
    """Compute the truth about a problem on its real data, beside the stored one."""
    if data.kind() != "real":
        raise BenchError(f"{data.VARIABLE} is not set")
    problem = load(key)
    truth, made = compute(key, problem, data_of(key), PLANS[key])
    report(key, truth, made)
    stored = problem.truth
    sd = np.sqrt(stored.covariance.diagonal())
    distance = [
        total_variation(*pair) for pair in zip(truth.marginals, stored.marginals, strict=True)
    ]
    print("Against the stored truth:")
    for label, value in (("lnZ_check", stored.log_evidence_checked), ("lnZ", stored.log_evidence)):
        print(f"  ln Z - {label}: {truth.log_evidence - value:+.4f}")
    print(f"  (lnZ_check has a standard error of {stored.log_evidence_error})")
    print(f"  mean: {np.round((truth.mean - stored.mean) / sd, 3)} SDs")
    print(f"  SD: ratio {np.round(np.sqrt(truth.covariance.diagonal()) / sd, 3)}")
    print(f"  gsKL {gskl(truth.mean, truth.covariance, stored):.5f}")
    print(f"  marginals: total variation {np.round(distance, 4)}, mean {np.mean(distance):.4f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", nargs="+", default=list(PLANS), choices=list(PLANS))
    parser.add_argument("--again", action="store_true", help="also where there is a file already")
    parser.add_argument("--check", choices=list(REAL), metavar="P", help="compare with real data")
    options = parser.parse_args()
    try:
        if options.check:
            check(options.check)
            return 0
        os.environ.pop(data.VARIABLE, None)  # the truth is that about simulated data
        good = [make(key, again=options.again) for key in options.problem]
    except BenchError as error:
        print(f"make_truth: {error}", file=sys.stderr)
        return 2
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
