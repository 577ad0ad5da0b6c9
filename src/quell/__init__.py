"""Quell: Bayesian inference when the log-likelihood is expensive and noisy."""

__version__ = "0.1.0.dev0"

__all__ = ["__version__"]
