"""Fitting the mixture to the surrogate: the ELBO, its penalties, starts, optimiser, pruning."""

from quell.variational.elbo import Elbo, evaluate_elbo
from quell.variational.fit import VariationalFit, fit_mixture

__all__ = ["Elbo", "VariationalFit", "evaluate_elbo", "fit_mixture"]
