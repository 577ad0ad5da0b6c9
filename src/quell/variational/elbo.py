"""The evidence lower bound of a mixture under the surrogate (paper, Eq. 1).

    ELBO = E[G] + H[q],   SD[ELBO] = √V[G],   ELCBO_β = ELBO - β SD[ELBO]

The entropy H is a quasi-Monte Carlo average; its error is not part of the SD.
"""

from dataclasses import dataclass

from quell.arrays import FloatArray
from quell.mixture import BaseSample, Mixture, entropy
from quell.quadrature import ExpectedLogJoint, Quadrature


@dataclass(frozen=True, eq=False)
class Elbo:
    """The ELBO of one mixture: the expected log joint, and the entropy."""

    expected_log_joint: ExpectedLogJoint
    entropy: float

    @property
    def value(self) -> float:
        """Posterior mean of the ELBO."""
        return self.expected_log_joint.mean + self.entropy

    @property
    def sd(self) -> float:
        """Posterior SD of the ELBO under the surrogate."""
        return self.expected_log_joint.sd

    def lower_confidence_bound(self, beta: float) -> float:
        """ELCBO_β: the value less β standard deviations."""
        return self.value - beta * self.sd


def evaluate_elbo(
    quadrature: Quadrature,
    mixture: Mixture,
    base: FloatArray | BaseSample,
    *,
    single: bool = False,
) -> Elbo:
    """The ELBO of ``mixture``, its entropy averaged over the base sample ``base`` (n, D).

    ``single``: that average in single precision.

    >>> import numpy as np
    >>> from quell.gp import GaussianProcess, TrainingData
    >>> from quell.mixture import normal_base_sample
    >>> x = np.linspace(-3, 3, 13)[:, None]
    >>> data = TrainingData.from_arrays(x, -0.5 * x[:, 0] ** 2)
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> q = Mixture([1.0], [[0.0]], [1.0], [1.0])
    >>> base = normal_base_sample(1024, 1, np.random.default_rng(0))
    >>> elbo = evaluate_elbo(Quadrature(gp), q, base)
    >>> round(elbo.value, 2)     # q is the normalised density: log √(2π)
    0.92
    """
    return Elbo(quadrature.moments(mixture), entropy(mixture, base, single=single))
