"""What is known about the posteriors of the benchmark, and how it was found out."""

from quell.bench.truth.known import Truth

__all__ = ["Truth"]
