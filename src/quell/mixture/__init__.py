"""The variational posterior: a mixture of Gaussians, its moments, samples and entropy."""

from quell.mixture.entropy import BaseSample, entropy, entropy_lower_bound, normal_base_sample
from quell.mixture.mixture import Mixture

__all__ = ["BaseSample", "Mixture", "entropy", "entropy_lower_bound", "normal_base_sample"]
