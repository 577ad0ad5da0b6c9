"""Noisy log-likelihoods, each with the SD of its noise, from what a model can do.

:func:`ibs`, from a simulator of discrete responses; :func:`synthetic_likelihood`, from a simulator
and summary statistics; :func:`command`, from an external program; :func:`emulated`, from an exact
log-likelihood. Each returns a function
``log_likelihood(theta, rng)`` for :class:`quell.Problem`. :func:`from_pymc` makes the whole problem
from a PyMC model. The other names are their parts.
"""

from quell.likelihoods.command import command
from quell.likelihoods.emulated import EmulatedLikelihood, emulated
from quell.likelihoods.ibs import IbsEstimate, IbsLikelihood, ibs
from quell.likelihoods.ibs_law import ibs_from_log_probabilities
from quell.likelihoods.pymc_model import from_pymc
from quell.likelihoods.resampling import bootstrap_sd, jackknife_sd
from quell.likelihoods.summaries import synthetic_log_likelihood
from quell.likelihoods.synthetic import SyntheticLikelihood, synthetic_likelihood

__all__ = [
    "EmulatedLikelihood",
    "IbsEstimate",
    "IbsLikelihood",
    "SyntheticLikelihood",
    "bootstrap_sd",
    "command",
    "emulated",
    "from_pymc",
    "ibs",
    "ibs_from_log_probabilities",
    "jackknife_sd",
    "synthetic_likelihood",
    "synthetic_log_likelihood",
]
