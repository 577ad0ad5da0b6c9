"""The height of the mean follows the best value, however far that has risen."""

from dataclasses import replace

import numpy as np
import pytest

from quell.gp import HyperparameterPrior, TrainingData, retrain, train
from quell.gp.hyperposterior import Hyperposterior
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import find_mode, lifted
from quell.space.edges import Edges


def climb_up(scale, seed, sd=1.0):
    """Data on the side of a peak, and with a few points on its top."""
    rng = np.random.default_rng(seed)
    side = rng.uniform(-1, 0.2, (25, 2))
    x = np.vstack([side, rng.normal(0.9, 0.25, (6, 2))])
    y = scale * (-0.5 * np.sum(((x - 1.0) / 0.3) ** 2, axis=1) + 0.5 * np.sin(5 * x[:, 0]))
    return TrainingData.from_arrays(side, y[:25], sd), TrainingData.from_arrays(x, y, sd)


def target_of(data):
    return Hyperposterior(
        MarginalLikelihood(data), HyperparameterPrior.for_data(data, output_scale=2.0)
    )


@pytest.mark.parametrize(("scale", "seed"), [(30, 3), (1000, 1), (1000, 2)])
def test_it_follows_the_best_value_over_hundreds_of_nats(scale, seed):
    """From where it was it stayed where it was, 19 nats below the better mode."""
    before, now = climb_up(scale, seed)
    prior = HyperparameterPrior.for_data(before, output_scale=2.0)
    old = train(np.random.default_rng(1), before, n_samples=0, prior=prior)
    entry = prior.layout.mean_max
    best = now.y.max()
    assert old.mode[entry] < best - 5 * scale
    target = target_of(now)
    follow = retrain(
        np.random.default_rng(2), train(np.random.default_rng(1), before, n_samples=4, prior=prior),
        now, prior=target.prior,
    )  # fmt: skip
    again = target.prior.constrain(
        find_mode(np.random.default_rng(2), target, old.memory, search=False)
    )
    for mode in (follow.mode, again):
        assert abs(mode[entry] - best) < 0.5 * scale


class TestLifted:
    def start(self, data, height):
        prior = HyperparameterPrior.for_data(data)
        theta = prior.start.copy()
        theta[prior.layout.mean_max] = height
        return prior.unconstrain(theta)

    @pytest.mark.parametrize("sd", [0.0, 4.0])
    def test_only_if_the_best_value_is_far_above(self, sd):
        """By more than its noise, three SDs, and D nats."""
        _, data = climb_up(30, 0, sd)
        target, best = target_of(data), data.y.max()
        for gap, expected in ((3 * sd + 1.9, 0), (3 * sd + 2.1, 1)):
            assert len(lifted(target, self.start(data, best - gap))) == expected

    def test_what_is_known_of_the_values_is_left_out_of_it(self):
        """The mean is fitted to the rest of the values, so its height is compared with that."""
        _, plain = climb_up(30, 0)
        edges = Edges(np.array([[1.0, 0.0]]), np.array([-40.0]))  # some 40 nats everywhere
        data = replace(plain, edges=edges)
        target, best = target_of(data), data.rest.max()
        assert best > data.y.max() + 30
        assert not lifted(target, self.start(data, best - 1.0))
        (found,) = lifted(target, self.start(data, best - 20.0))
        assert target.prior.constrain(found)[target.prior.layout.mean_max] == pytest.approx(best)

    def test_nothing_else_changes(self):
        _, data = climb_up(30, 0)
        target = target_of(data)
        known = self.start(data, data.y.max() - 200)
        (found,) = lifted(target, known)
        theta, before = (target.prior.constrain(u) for u in (found, known))
        changed = np.flatnonzero(~np.isclose(theta, before))
        assert changed.tolist() == [target.prior.layout.mean_max]
        assert theta[changed[0]] == pytest.approx(data.y.max())

    def test_with_noise_of_unknown_size(self):
        data = climb_up(30, 0, np.nan)[1]
        assert len(lifted(target_of(data), self.start(data, data.y.max() - 50))) == 1
