"""The true posteriors of the benchmark: their evidence, moments and marginals."""

from quell.bench.truth.known import Truth

__all__ = ["Truth"]
