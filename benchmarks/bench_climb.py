"""In which units should L-BFGS move the means of the mixture?

Prints, for surrogates of a banana (D = 2) and of a bent, correlated target (D = 6), the objective
reached relative to the start (nats; lower is better) after 30 and after 100 iterations, for the
means in plain coordinates, in units of σ_k λ, of σ_k λ/√w_k (what ``quell.variational.fit.climb``
uses), and with such units for scales and weights as well.
"""

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from quell.arrays import FloatArray
from quell.gp import TrainingData, train
from quell.gp.data import high_density_rows
from quell.mixture import Mixture, normal_base_sample
from quell.quadrature import Quadrature
from quell.variational.objective import Objective, Penalty
from quell.variational.starts import candidates

UNITS = ("plain", "σλ", "σλ/√w", "all")
NOISE_SD = 0.5


def banana(x: FloatArray) -> FloatArray:
    return -((x[:, 0] ** 2 - x[:, 1]) ** 2) - (x[:, 0] - 1) ** 2 / 100 - (x**2).sum(axis=1) / 18


def bent(x: FloatArray) -> FloatArray:
    z = x.copy()
    z[:, 1] += 0.5 * (z[:, 0] ** 2 - 1)
    z[:, 3] += 0.8 * z[:, 2]
    z[:, 4] *= 3
    return -0.5 * (z**2).sum(axis=1)


def units_of(kind: str, start: Mixture) -> FloatArray:
    k, d = start.n_components, start.dimension
    spread = start.scales[:, None] * start.lengths
    by_weight = 1 / np.sqrt(np.maximum(start.weights, 1e-4))
    units = np.ones(k * d + 2 * k + d)
    if kind == "σλ":
        units[: k * d] = spread.ravel()
    elif kind != "plain":
        units[: k * d] = (spread * by_weight[:, None]).ravel()
    if kind == "all":
        units[k * d : k * d + k] = by_weight / np.sqrt(2 * d)
        units[k * d + k : k * d + k + d] = 1 / np.sqrt(2)
        units[k * d + k + d :] = by_weight
    return units


def climb(objective: Objective, start: Mixture, units: FloatArray, iterations: int) -> float:
    origin = start.to_vector()
    reference = objective(start)[0]

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        mixture = Mixture.from_vector(origin + units * z, start.n_components, start.dimension)
        value, gradient = objective(mixture)
        return value - reference, units * gradient

    options = {"maxiter": iterations, "ftol": 1e-5, "gtol": 1e-5, "maxcor": 20}
    return float(minimize(loss, 0 * origin, jac=True, method="L-BFGS-B", options=options).fun)


def main() -> None:
    columns = [f"{kind}, {iterations}" for iterations in (30, 100) for kind in UNITS]
    print(f"{'target':10}{'K':>4}" + "".join(f"{column:>13}" for column in columns))
    with threadpool_limits(1):
        for name, target, dimension in (("banana", banana, 2), ("bent", bent, 6)):
            for seed in range(3):
                rng = np.random.default_rng(seed)
                if dimension == 2:
                    x = rng.uniform([-2.5, -2], [2.5, 6], size=(150, 2))
                else:
                    x = 1.6 * rng.standard_normal((250, dimension))
                y = target(x) + NOISE_SD * rng.standard_normal(len(x))
                gp = train(rng, TrainingData.from_arrays(x, y, NOISE_SD), n_samples=4).gp
                for k in (10, 30):
                    _, fresh = candidates(
                        rng, None, x[high_density_rows(y)], k, 4, from_data=True, weights=True
                    )
                    base = normal_base_sample(128, dimension, rng)
                    objective = Objective(Quadrature(gp), Penalty.for_points(x), base)
                    reached = [
                        climb(objective, fresh[0], units_of(kind, fresh[0]), iterations)
                        for iterations in (30, 100)
                        for kind in UNITS
                    ]
                    print(f"{name:10}{k:4}" + "".join(f"{v:13.3f}" for v in reached), flush=True)


if __name__ == "__main__":
    main()
