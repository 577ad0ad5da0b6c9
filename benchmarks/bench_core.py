"""CPU ms per call of the numerical kernels, beside gpyreg doing the same work in the same run.

Sizes are (D, N, S, K): coordinates, observations, hyperparameter samples, mixture components.
A figure is the median over repeats of CPU time, one BLAS thread; a repeat of Quell's kernel and
one of gpyreg's alternate, so that a busy machine slows both. The last columns are the largest
difference between the two results, and the peak memory of a call in N x N matrices.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable

import gpyreg
import numpy as np
from threadpoolctl import threadpool_limits

from quell.gp import GaussianProcess, TrainingData
from quell.gp.marginal import MarginalLikelihood
from quell.gp.model import Layout
from quell.mixture import Mixture, entropy, normal_base_sample
from quell.quadrature import Quadrature

SIZES = [(3, 100, 8, 5), (6, 200, 8, 30), (6, 400, 8, 30), (9, 400, 8, 50), (9, 800, 1, 50)]
ENTROPY_POINTS = 128
TEST_POINTS = 500


class Setting:
    """Data, hyperparameters and a mixture of one size, as Quell and as gpyreg take them."""

    def __init__(self, dimension: int, n: int, n_samples: int, n_components: int) -> None:
        rng = np.random.default_rng(0)
        self.x = 1.5 * rng.standard_normal((n, dimension))
        y = -0.5 * (self.x**2).sum(axis=1) + np.sin(2 * self.x[:, 0]) + rng.standard_normal(n)
        self.data = TrainingData.from_arrays(self.x, y, 1.0)
        layout = Layout(dimension)
        theta = np.zeros(layout.size)
        theta[layout.lengths] = np.log(np.sqrt(dimension))
        theta[layout.output_scale] = 1.0
        theta[layout.base_noise] = -4.0
        self.theta = theta + 0.1 * rng.standard_normal((n_samples, layout.size))
        self.gp = GaussianProcess.condition(self.data, self.theta)
        self.mixture = Mixture(
            rng.dirichlet(np.full(n_components, 5.0)),
            rng.standard_normal((n_components, dimension)),
            0.5 * np.exp(0.2 * rng.standard_normal(n_components)),
            np.exp(0.2 * rng.standard_normal(dimension)),
        )
        self.base = normal_base_sample(ENTROPY_POINTS, dimension, rng)
        self.test_points = rng.standard_normal((TEST_POINTS, dimension))
        self.marginal = MarginalLikelihood(self.data)
        self.quadrature = Quadrature(self.gp)
        self.peer = gpyreg.GP(
            D=dimension,
            covariance=gpyreg.covariance_functions.SquaredExponential(),
            mean=gpyreg.mean_functions.NegativeQuadratic(),
            noise=gpyreg.noise_functions.GaussianNoise(constant_add=True, user_provided_add=True),
        )
        self.peer.update(
            X_new=self.x,
            y_new=self.data.y[:, None],
            s2_new=self.data.variance[:, None],
            hyp=self.theta,
        )

    def condition_peer(self) -> None:
        """Compute gpyreg's posterior again for the data it holds."""
        self.peer.update(hyp=self.theta)

    def peer_quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        sd = self.mixture.scales[:, None] * self.mixture.lengths
        return self.peer.quad(self.mixture.means, sd, compute_var=True, separate_samples=True)


Call = Callable[[], object]


def kernels(s: Setting) -> dict[str, tuple[Call, Call | None, Call | None]]:
    """Name -> Quell's call, gpyreg's, and the difference between their results."""
    theta = s.theta[0]

    def marginal_difference() -> float:
        value, gradient = s.marginal(theta)
        peer_value, peer_gradient = s.peer.log_likelihood(theta, compute_grad=True)
        return max(abs(value - peer_value), float(np.abs(gradient - peer_gradient).max()))

    def prediction_difference() -> float:
        mean, variance = s.gp.predict(s.test_points)
        peer_mean, peer_variance = s.peer.predict(s.test_points, separate_samples=True)
        return max(
            float(np.abs(mean.T - peer_mean).max()), float(np.abs(variance.T - peer_variance).max())
        )

    def quadrature_difference() -> float:
        ours = s.quadrature.moments(s.mixture)
        mean, variance = s.peer_quadrature()
        diagonal = np.diagonal(ours.component_covariances, axis1=1, axis2=2)
        return max(
            float(np.abs(ours.component_means.T - mean).max()),
            float(np.abs(diagonal.T - variance).max()),
        )

    return {
        "log marginal likelihood + gradient": (
            lambda: s.marginal(theta),
            lambda: s.peer.log_likelihood(theta, compute_grad=True),
            marginal_difference,
        ),
        "log marginal likelihood": (
            lambda: s.marginal.value(theta),
            lambda: s.peer.log_likelihood(theta),
            None,
        ),
        "posterior of S samples": (
            lambda: GaussianProcess.condition(s.data, s.theta),
            s.condition_peer,
            None,
        ),
        "append one observation": (lambda: s.gp.append(s.test_points[0], 0.0, 1.0), None, None),
        f"predict {TEST_POINTS} points": (
            lambda: s.gp.predict(s.test_points),
            lambda: s.peer.predict(s.test_points, separate_samples=True),
            prediction_difference,
        ),
        "expected log joint, means + variances": (
            lambda: s.quadrature.moments(s.mixture),
            s.peer_quadrature,
            quadrature_difference,
        ),
        "expected log joint + gradient": (
            lambda: s.quadrature.mean_and_gradient(s.mixture),
            None,
            None,
        ),
        "... less β SD, + gradient": (
            lambda: s.quadrature.lower_bound_and_gradient(s.mixture, 3.0),
            None,
            None,
        ),
        f"entropy ({ENTROPY_POINTS} points) + gradient": (
            lambda: entropy(s.mixture, s.base, gradient=True),
            None,
            None,
        ),
        f"entropy ({ENTROPY_POINTS} points) + gradient, single": (
            lambda: entropy(s.mixture, s.base, gradient=True, single=True),
            None,
            None,
        ),
    }


def cpu_ms(call: Call, loops: int) -> float:
    started = time.process_time()
    for _ in range(loops):
        call()
    return 1e3 * (time.process_time() - started) / loops


def measure(ours: Call, peer: Call | None, seconds: float) -> tuple[float, float]:
    """Median CPU ms of both, measured in turns."""
    loops = max(1, int(0.02 / max(1e-6, cpu_ms(ours, 1) / 1e3)))
    times: list[tuple[float, float]] = []
    stop = time.process_time() + seconds
    while time.process_time() < stop or len(times) < 5:
        times.append((cpu_ms(ours, loops), cpu_ms(peer, loops) if peer else np.nan))
    return tuple(np.median(times, axis=0))


def peak_matrices(call: Call, n: int) -> float:
    """Peak memory allocated by a call, in N x N matrices of float64."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * n * n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds per figure")
    options = parser.parse_args()
    with threadpool_limits(1):
        for size in SIZES:
            print("\n(D, N, S, K) =", size)
            header = f"{'Quell ms':>10}{'gpyreg ms':>11}{'ratio':>7}{'differ':>10}{'N x N':>7}"
            print(f"{'kernel':40}{header}")
            setting = Setting(*size)
            for name, (ours, peer, difference) in kernels(setting).items():
                our_ms, peer_ms = measure(ours, peer, options.seconds)
                line = f"{name:40}{our_ms:10.3f}"
                line += f"{peer_ms:11.3f}{peer_ms / our_ms:7.1f}" if peer else " " * 18
                line += f"{difference():10.1e}" if difference else " " * 10
                print(line + f"{peak_matrices(ours, size[1]):7.1f}", flush=True)


if __name__ == "__main__":
    main()
