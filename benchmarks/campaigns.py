"""The campaigns of this repository, as data.

    python benchmarks/campaigns.py {synthetic,real,variants,in-flight,stress} [--only-table] [...]

``make bench-synthetic`` and its like call it. A new campaign is one more entry in ``CAMPAIGNS``.
"""

from functools import partial

from campaign import Batch, Campaign, main
from campaign_tables import Published, beside_published, eight_beside_one, worst_cases

from quell.bench.problems.stress import STRESS as STRESS_PROBLEMS

#: PyVBMC 1.5: its developers' own population of 100 seeds, October 2026; exact targets capped at
#: 50 (D + 2) evaluations, noisy ones at 75 (D + 2).
PYVBMC = (
    Published("normal", 5, 0, 0.0045, 0.00008, 0.0075, 1.00),
    Published("corr", 5, 0, 0.0052, 0.0010, 0.0080, 1.00),
    Published("rosenbrock", 2, 0, 0.020, 0.017, 0.023, 1.00),
    Published("banana", 2, 0, 0.040, 0.124, 0.036, 1.00),
    Published("student", 4, 0, 0.017, 0.025, 0.036, 1.00),
    Published("student", 8, 0, 0.081, 0.212, 0.073, 0.98),
    Published("lumpy", 4, 0, 0.049, 0.014, 0.026, 1.00),
    Published("lumpy", 10, 0, 0.546, 0.444, 0.084, 0.99),
    Published("cigar", 4, 0, 0.0048, 0.0006, 0.0098, 1.00),
    Published("cigar", 8, 0, 0.0092, 0.0014, 0.0082, 1.00),
    Published("rosenbrock", 2, 1, 0.092, 0.017, 0.037, 0.99),
    Published("rosenbrock", 2, 3, 0.228, 0.157, 0.115, 0.72),
    Published("student", 8, 3, 0.833, 0.548, 0.132, 0.57),
    Published("lumpy", 10, 3, 0.656, 0.536, 0.098, 0.87),
    Published("logreg", 5, 3, 0.278, 0.361, 0.146, 0.87),
)

SYNTHETIC = Campaign(
    "synthetic",
    """Accuracy on the synthetic targets, beside PyVBMC's published medians.

Quell with its default settings and the budget 50 (D + 2) on ten exact and five noisy targets; the
medians of PyVBMC 1.5 are in brackets.""",
    # Noisy targets first: they are the ones that differ between seeds.
    batches=tuple(
        Batch(
            (row.problem,),
            ("quell",),
            noise=row.noise or None,
            dim=row.dim,
            runs="noisy_runs" if row.noise else "exact_runs",
        )
        for row in sorted(PYVBMC, key=lambda row: row.noise == 0)
    ),
    runs={"exact_runs": 10, "noisy_runs": 40},
    table=partial(beside_published, PYVBMC),
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
ratio of the medians of MMTV with its 95 % bootstrap interval over pairs, and how many pairs the
sequential run won.""",
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

CAMPAIGNS = (SYNTHETIC, REAL, VARIANTS, IN_FLIGHT, STRESS)

if __name__ == "__main__":
    main(CAMPAIGNS)
