"""What holds for every problem with a simulator and a shortcut to its noise."""

import numpy as np
from scipy.stats import ks_2samp


def check_estimators(model, theta, rng, n=400):
    """Both estimators at θ are unbiased, know their noise, and have one law."""
    exact = float(model.exact(theta))
    simulated, fast = (
        np.transpose([estimator(theta, rng) for _ in range(n)])
        for estimator in (model.simulator, model.fast)
    )
    for values, sds in (simulated, fast):
        z = (values - exact) / sds
        assert abs(z.mean()) < 4 / np.sqrt(n)
        assert 0.9 < z.std(ddof=1) < 1.1
    for ours, shortcut in zip(simulated, fast, strict=True):
        assert ks_2samp(ours, shortcut).pvalue > 0.01
