"""The surrogate: a Gaussian process over the log joint, with uncertain hyperparameters.

``data`` observations; ``model`` kernel, mean and noise; ``prior`` of the hyperparameters, with its
``prior_table``; ``marginal`` likelihood; ``hyperposterior`` their product, ``mode`` where it is
highest; ``hmc`` its sampler; ``train`` the fit; ``posterior`` the fitted process, ``gradients`` its
slopes; ``pooling`` averages over samples; ``pairs`` of points and ``factor``, the Cholesky
factorisation, are under all of it.
"""

from quell.gp.data import TrainingData
from quell.gp.factor import FactorisationError
from quell.gp.posterior import GaussianProcess
from quell.gp.prior import HyperparameterPrior
from quell.gp.train import Memory, TrainedGP, refresh, retrain, train

__all__ = [
    "FactorisationError",
    "GaussianProcess",
    "HyperparameterPrior",
    "Memory",
    "TrainedGP",
    "TrainingData",
    "refresh",
    "retrain",
    "train",
]
