"""The campaigns of this repository, as data.

    python benchmarks/campaigns.py {synthetic,equal,real,variants,in-flight,stress} [--only-table]

``make bench-synthetic`` and its like call it. A new campaign is one more entry in ``CAMPAIGNS``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from campaign import Batch, Campaign, main
from campaign_tables import eight_beside_one, worst_cases

from quell.bench.beside_peer import beside_peer
from quell.bench.problems.stress import STRESS as STRESS_PROBLEMS
from quell.bench.published import SYNTHETIC as TARGETS
from quell.bench.published import median
from quell.bench.single import Spec

SYNTHETIC = Campaign(
    "synthetic",
    """Accuracy on the synthetic targets, beside PyVBMC's published figures.

Quell with its default settings and the budget 50 (D + 2) on ten exact and five noisy targets.
PyVBMC's runs stopped earlier: campaign "equal" has runs of Quell with as many evaluations.""",
    # Noisy targets first: they are the ones that differ between seeds.
    batches=tuple(
        Batch(
            (row.problem,),
            ("quell",),
            noise=row.noise or None,
            dim=row.dim,
            runs="noisy_runs" if row.noise else "exact_runs",
        )
        for row in sorted(TARGETS, key=lambda row: row.noise == 0)
    ),
    runs={"exact_runs": 10, "noisy_runs": 40},
    table=beside_peer,
)


@dataclass(frozen=True)
class ShorterBatch(Batch):
    """A batch with a budget of its own, or of runs that may stop early."""

    budget: int | None = None
    stop_early: bool = False

    def specs(
        self, runs: Mapping[str, int], first_seed: int, algorithms: Iterable[str], problem: str
    ) -> list[Spec]:
        """The runs of the batch, with this budget and protocol."""
        return [
            replace(spec, budget=self.budget or spec.budget, stop_early=self.stop_early)
            for spec in super().specs(runs, first_seed, algorithms, problem)
        ]


EQUAL = Campaign(
    "equal",
    """Quell and PyVBMC on the synthetic targets with equal evaluations, and each at its own stop.

Quell with PyVBMC's published median number of evaluations at its stop as the budget, and with the
budget 50 (D + 2) when it may stop early. Seeds from 5000 on, none of them of a report.""",
    batches=tuple(
        ShorterBatch((row.problem,), ("quell",), noise=row.noise or None, dim=row.dim, **how)
        for row in sorted(TARGETS, key=lambda row: row.noise == 0)
        for how in ({"budget": round(median(row.evaluations))}, {"stop_early": True})
    ),
    runs={"runs": 5},
    first_seed=5000,
    table=beside_peer,
)

#: Problems whose noise comes from a simulator; those with emulated noise; and those without an
#: exact likelihood.
SIMULATED = ("addm_s1", "addm_s2", "timing", "multisensory_s1", "multisensory_s2", "rodent")
EMULATED = (*SIMULATED, "neuronal_v1", "neuronal_v2")
OWN_NOISE = ("ricker", "gandk")

REAL = Campaign(
    "real",
    """The ten problems: the paper's algorithm and Quell, and a run with the real noise.

Noise is emulated on the exact log-likelihood with the paper's SD, except for ricker and gandk,
which have their own estimators. One more run of each problem whose noise comes from a simulator
has that noise, to show that it agrees. Needs QUELL_DATA for the real data.""",
    batches=(
        # A few seeds of everything first, so that an interrupted campaign has something of each.
        *(
            batch
            for most in (2, 5, None)
            for algorithm in ("quell", "viqr")
            for batch in (
                Batch(EMULATED, (algorithm,), noise="paper", most=most),
                Batch(OWN_NOISE, (algorithm,), mode="noisy", most=most),
            )
        ),
        Batch(SIMULATED, ("quell",), mode="noisy", most=1),
    ),
)

VARIANTS = Campaign(
    "variants",
    """The paper's variants beside each other: acquisition functions, and whitening, under noise.

1. viqr, imiqr and npro on rosenbrock D = 2 with noise of SD 3: the paper's claims are that VIQR and
   IMIQR are close and NPRO is far behind.
2. viqr and nowv on cigar D = 4, a correlated normal, with noise of SD 1: the paper's claim is that
   whitening helps where parameters are correlated.

Budget 50 (D + 2), the same seeds for all; three times as many of viqr and npro on rosenbrock, for
that is the claim of a decisive difference.""",
    batches=(
        Batch(("rosenbrock",), ("viqr", "npro"), noise=3.0, dim=2, times=3),
        Batch(("rosenbrock",), ("imiqr",), noise=3.0, dim=2),
        Batch(("cigar",), ("viqr", "nowv"), noise=1.0, dim=4),
    ),
)

IN_FLIGHT = Campaign(
    "in-flight",
    """Accuracy with 8 points under evaluation at a time beside one, at equal evaluations.

Paired seeds: the same problem, starting point and streams of noise. Prints the medians of both, the
ratio of the medians with its 95 % bootstrap interval over pairs, the geometric mean of the ratio in
pairs, and how many pairs the sequential run won.""",
    batches=(Batch((), ("quell", "quell-8"), noise="paper"),),
    runs={"runs": 40},
    problem="multisensory_s1",
    table=eight_beside_one,
)

STRESS = Campaign(
    "stress",
    """Problems of awkward kinds: wild scales, edges, long tails, several modes.

Quell with its default settings and the budget 50 (D + 2) on every problem of
quell.bench.problems.stress in all its dimensions, exact and with noise of SD 1 and 2.5. The table
has medians, worst cases, and how many runs are usable, and how many nonsense.""",
    # Two seeds of everything first, so that an interrupted campaign has something of each.
    batches=tuple(
        Batch((name,), ("quell",), noise=noise, dim=dim, most=most)
        for most in (2, None)
        for noise in (None, 1.0, 2.5)
        for name, entry in STRESS_PROBLEMS.items()
        for dim in entry.dims or (entry.dimension,)
    ),
    table=worst_cases,
)

CAMPAIGNS = (SYNTHETIC, EQUAL, REAL, VARIANTS, IN_FLIGHT, STRESS)

if __name__ == "__main__":
    main(CAMPAIGNS)
