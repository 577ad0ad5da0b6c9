"""The training set of the surrogate: points, values of the log joint, and their noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import FloatArray
from quell.checks import LARGEST_NOISE_SD, as_floats, coordinate_names, matrix, raise_at
from quell.space.edges import Edges

#: Observations of unknown noise that a part of the data has, where the data have so many.
SOME_UNKNOWN = 10


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Observations y_n = f(x_n) + noise of variance s_n² (paper, Eq. 4).

    ``x`` (N, D) are points of inference space, ``y`` (N,) values of the log joint there and
    ``variance`` (N,) the reported noise variances: 0 for an exact value, nan where the size of
    the noise is not known (one common size is then fitted as a hyperparameter). ``edges`` is the
    part of f that is known, if any is: the process is fitted to the rest.

    >>> TrainingData.from_arrays([[0.0], [1.0]], [-1.0, -2.0], noise_sd=0.5).variance
    array([0.25, 0.25])
    """

    x: FloatArray
    y: FloatArray
    variance: FloatArray
    edges: Edges | None = None

    @classmethod
    def from_arrays(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        noise_sd: ArrayLike = 0.0,
        *,
        names: Sequence[str] | None = None,
        edges: Edges | None = None,
    ) -> Self:
        """Check and store observations; ``noise_sd`` is a scalar or one SD per point.

        An SD of 0 means exact, nan means unknown. ``names`` are the coordinates' names, for
        error messages.
        """
        x = as_floats("x", x)
        if names is not None and x.ndim == 2:
            names = coordinate_names(names, x.shape[1])
        x = matrix("x", x, names=names)
        y = as_floats("y", y)
        if y.shape != (len(x),):
            raise ValueError(
                f"y must have shape ({len(x)},), one value per row of x, got {y.shape}"
            )
        if not np.isfinite(y).all():
            raise_at("y", y, ~np.isfinite(y), "must be finite (leave failed evaluations out)")
        return cls(x, y, as_noise_variance(noise_sd, len(x)), edges)

    @property
    def size(self) -> int:
        """Number of observations N."""
        return len(self.x)

    @property
    def dimension(self) -> int:
        """Number of coordinates D."""
        return self.x.shape[1]

    @cached_property
    def rest(self) -> FloatArray:
        """The values (N,) less what is known of f there."""
        return self.y if self.edges is None else self.y - self.edges.at(self.x)

    @property
    def has_unknown_noise(self) -> bool:
        """Whether the noise of any observation has to be fitted."""
        return bool(np.isnan(self.variance).any())

    def equals(self, other: "TrainingData") -> bool:
        """Whether both hold the same observations, in the same order."""
        return (
            np.array_equal(self.x, other.x)
            and np.array_equal(self.y, other.y)
            and np.array_equal(self.variance, other.variance, equal_nan=True)
            and (other.edges is None if self.edges is None else self.edges.equals(other.edges))
        )

    def subset(self, rows: ArrayLike | slice) -> Self:
        """The observations selected by an index, a mask or a slice."""
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        return type(self)(self.x[rows], self.y[rows], self.variance[rows], self.edges)

    def part(self, rows: NDArray[np.intp]) -> Self:
        """The observations of these rows; if only others have unknown noise, some of them too.

        So what is learnt from the part has a size of the noise wherever the whole has one.

        >>> data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], np.zeros(3), [1.0, np.nan, 1.0])
        >>> data.part(np.array([0])).variance
        array([ 1., nan])
        """
        unknown = np.flatnonzero(np.isnan(self.variance))
        if len(unknown) and not np.isin(unknown, rows).any():
            count = min(len(unknown), SOME_UNKNOWN)
            some = unknown[np.linspace(0, len(unknown) - 1, count).astype(np.intp)]
            rows = np.union1d(rows, some)
        return self.subset(rows)

    def append(self, other: "TrainingData") -> Self:
        """This training set followed by another, in the same coordinates."""
        return type(self)(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.variance, other.variance]),
            self.edges,
        )


def as_noise_variance(noise_sd: ArrayLike, size: int, *, argument: str = "noise_sd") -> FloatArray:
    """Check noise SDs (scalar or one per point; nan = unknown) and square them."""
    sd = as_floats(argument, noise_sd)
    if sd.ndim == 0:
        sd = np.full(size, float(sd))
    if sd.shape != (size,):
        raise ValueError(f"{argument} must be a number or have shape ({size},), got {sd.shape}")
    bad = (sd < 0) | (sd > LARGEST_NOISE_SD)
    if bad.any():
        raise_at(argument, sd, bad, "must be non-negative and finite (nan = unknown)")
    return sd**2


#: Smallest base noise variance σ_min² (paper, section 3), and that of the algorithm before it.
NOISE_VARIANCE_FLOOR, NOISE_VARIANCE_FLOOR_2018 = 1e-5, 1e-6

#: Share of the best observations that counts as high density.
HIGH_DENSITY_SHARE = 0.8


def high_density_rows(y: FloatArray, share: float = HIGH_DENSITY_SHARE) -> NDArray[np.intp]:
    """Indices of the ``share`` of observations with the largest values, best first."""
    count = max(1, round(share * len(y)))
    return np.argsort(-y, kind="stable")[:count]
