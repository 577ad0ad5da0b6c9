"""PyVBMC and Quell on one noisy target, with the calls of docs/from-vbmc.md.

Run by hand, with the extra ``peers`` (a minute or two): ``python docs/beside_pyvbmc.py``.
"""

import numpy as np
from pyvbmc import VBMC

import quell

LOWER, UPPER, P_LOWER, P_UPPER = [-10.0, -10.0], [10.0, 10.0], [-3.0, -3.0], [3.0, 3.0]
SD, BUDGET, SEED = 1.0, 80, 5005


def exact(theta):
    """A correlated normal log-likelihood; the prior is uniform on the box."""
    x, y = theta
    return -0.5 * ((x - 1) ** 2 + (y - 0.8 * x) ** 2 / 0.36)


def with_pyvbmc():
    """Posterior and results by PyVBMC, whose target is the log joint."""
    rng = np.random.default_rng(SEED)

    def log_joint(theta):
        value = exact(np.ravel(theta)) - np.log(20.0) * 2
        return value + SD * rng.standard_normal(), SD

    options = {"specify_target_noise": True, "max_fun_evals": BUDGET, "display": "off"}
    np.random.seed(SEED)  # noqa: NPY002 - PyVBMC draws from the global generator
    box = (np.array([side]) for side in (LOWER, UPPER, P_LOWER, P_UPPER))
    vbmc = VBMC(log_joint, np.zeros((1, 2)), *box, options=options)
    return vbmc, *vbmc.optimize()


def with_quell():
    """The same by Quell, whose target is the log-likelihood."""

    def log_likelihood(theta, rng):
        return exact(theta) + SD * rng.standard_normal(), SD

    problem = quell.Problem(
        log_likelihood, lower=LOWER, upper=UPPER, plausible_lower=P_LOWER, plausible_upper=P_UPPER
    )
    return quell.infer(problem, budget=BUDGET, seed=SEED, start=[0.0, 0.0], progress=False)


def main():
    """Both beside the truth."""
    result = with_quell()
    vbmc, vp, results = with_pyvbmc()
    mean, covariance = vp.moments(cov_flag=True)
    truth = np.log(2 * np.pi * 0.6) - 2 * np.log(20.0)
    print(f"{'':8}{'mean':>16}{'SD':>16}{'log evidence':>16}  evaluations, status")
    print(f"{'truth':8}{'1.00 0.80':>16}{'1.00 1.00':>16}{truth:16.2f}")
    for name, centre, spread, elbo, sd, n, status in (
        ("PyVBMC", mean.ravel(), np.sqrt(np.diag(covariance)), results["elbo"], results["elbo_sd"],
         results["func_count"], f"success_flag {results['success_flag']}"),
        ("Quell", result.posterior.mean(), result.posterior.sd(), result.log_evidence,
         result.log_evidence_sd, result.evaluations.n_counted, str(result.status)),
    ):  # fmt: skip
        words = [" ".join(f"{v:.2f}" for v in centre), " ".join(f"{v:.2f}" for v in spread),
                 f"{elbo:.2f} ± {sd:.2f}"]  # fmt: skip
        print(f"{name:8}" + "".join(f"{word:>16}" for word in words) + f"  {n}, {status}")
    logger = vbmc.function_logger
    n = logger.Xn + 1
    head_start = (logger.X_orig[:n], logger.y_orig[:n, 0], logger.S[:n, 0])
    box = {"lower": LOWER, "upper": UPPER, "plausible_lower": P_LOWER, "plausible_upper": P_UPPER}
    joint = quell.Problem(None, **box, prior="included")
    fitted = quell.fit(joint, head_start, seed=SEED)
    print(f"\nPyVBMC's evaluations fitted by Quell: {fitted.log_evidence:.2f}")


if __name__ == "__main__":
    main()
