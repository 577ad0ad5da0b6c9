"""Make the small files behind figures 1 and S5, so that figures need no inference.

    python benchmarks/make_illustrations.py [figure1] [truth]

``figure1``: two runs on the banana of the paper's Figure 1 with its algorithms, noise of SD 1, 100
evaluations, one seed that was not chosen for its looks; saved as npro.quell and viqr.quell.
``truth``: draws from the true posterior of the Timing problem (needs QUELL_DATA), by importance
sampling: the exact log-likelihood at draws from a mixture of committed posteriors, widened.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from quell.bench import load
from quell.bench.compact import restore_posterior
from quell.bench.metrics import mmtv
from quell.bench.records import read_records
from quell.infer import infer
from quell.results import Posterior
from quell.settings import Settings

FOLDER = Path(__file__).parent / "results"
OUT = FOLDER / "illustrations"
SEED, BUDGET, START, NOISE_SD = 1, 100, (-1.0, -1.0), 1.0
PROBLEM = "timing"
#: Draws of the proposal, draws kept, and by how much the components of the posteriors behind the
#: proposal are widened.
PROPOSED, KEPT, WIDER = 20_000, 3_000, 1.4


def figure1():
    problem = load("rosenbrock").as_problem("exact", noise=NOISE_SD)
    for name in ("npro", "viqr"):
        settings = replace(Settings.variant(f"paper-{name}"), stop_early=False, final_components=0)
        result = infer(
            problem, budget=BUDGET, seed=SEED, start=START, settings=settings, progress=False
        )
        path = OUT / f"{name}.quell"
        result.save(path, overwrite=True)
        size = path.stat().st_size
        print(f"{path.name}: ELBO {result.elbo:.3f} ± {result.elbo_sd:.3f}, {size} bytes")


def truth():
    benchmark = load(PROBLEM)
    rng = np.random.default_rng(SEED)
    proposal = [
        widened(restore_posterior(record["posterior"]))
        for record in read_records(sorted(FOLDER.glob("study/*.jsonl"))).runs.values()
        if record["problem"] == PROBLEM
        and record.get("posterior", {}).get("kind") == "mixture"
        and record["data"] == benchmark.data
    ]
    each = PROPOSED // len(proposal)
    theta = np.concatenate([one.sample(each, rng) for one in proposal])
    log_proposal = logsumexp([one.log_density(theta) for one in proposal], axis=0)
    log_weights = np.array([float(benchmark.exact(point)) for point in theta]) - log_proposal
    weights = np.exp(log_weights - logsumexp(log_weights))
    kept = theta[rng.choice(len(theta), size=KEPT, p=weights)]
    distance = mmtv(
        kept,
        benchmark.truth.reference,
        lower=benchmark.lower,
        upper=benchmark.upper,
        estimator=benchmark.truth.estimator,
    )
    content = {
        "problem": PROBLEM,
        "data": benchmark.data,
        "names": list(benchmark.names),
        "about": "draws from the true posterior, importance resampled",
        "effective_draws": round(float(1 / np.sum(weights**2))),
        "mmtv_to_stored_truth": round(distance, 4),
        "draws": [[float(f"{value:.5g}") for value in row] for row in kept],
    }
    path = OUT / f"{PROBLEM}-truth.json"
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    print({name: value for name, value in content.items() if name != "draws"})


def widened(posterior):
    """The posterior with longer components."""
    mixture = posterior.mixture
    return Posterior(replace(mixture, scales=WIDER * mixture.scales), posterior.space)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="*", default=["figure1", "truth"], choices=["figure1", "truth"]
    )
    OUT.mkdir(exist_ok=True)
    for what in parser.parse_args().what:
        {"figure1": figure1, "truth": truth}[what]()
