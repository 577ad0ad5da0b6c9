"""An entry in the list of problems."""

from collections.abc import Callable
from dataclasses import dataclass

from quell.bench.problems.base import BenchError, Benchmark


@dataclass(frozen=True)
class Entry:
    """How a problem is made: its function of D, its usual D, and what it is.

    ``noise`` says what mode "noisy" does; ``smallest`` is the least D of problems that exist in
    all larger ones, None for the others; ``dims`` are the dimensions of those that exist in a few.

    >>> from quell.bench import PROBLEMS
    >>> entry = PROBLEMS["banana"]
    >>> entry.dimension, entry.smallest, entry.noise
    (2, 2, 'emulated, SD 1')
    """

    make: Callable[[int], Benchmark]
    dimension: int
    text: str
    noise: str = "emulated, SD 1"
    smallest: int | None = None
    dims: tuple[int, ...] = ()

    def check(self, name: str, dim: int | None) -> int:
        """The dimension: ``dim`` if the problem exists in it, or the usual one for None."""
        if dim is None or dim == self.dimension:
            return self.dimension
        if dim in self.dims:
            return dim
        if self.dims:
            *first, last = map(str, self.dims)
            raise BenchError(f"{name} exists in {', '.join(first)} or {last} dimensions, got {dim}")
        if self.smallest is None:
            raise BenchError(f"{name} exists in {self.dimension} dimensions only, got {dim}")
        if not isinstance(dim, int) or dim < self.smallest:
            raise BenchError(f"{name} needs at least {self.smallest} dimensions, got {dim}")
        return dim
