import numpy as np
import pytest
from helpers.mixtures import assert_same_mixture, base_sample, central_differences, make_mixture
from helpers.variational import (
    BANANA_LOG_Z,
    MODE_WEIGHTS,
    MODES,
    Gaussian,
    banana_gp,
    make_theta,
    two_mode_gp,
    wavy_gp,
)
from scipy.optimize import brentq

from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture
from quell.quadrature import Quadrature
from quell.variational import evaluate_elbo, fit_mixture
from quell.variational.fit import climb, prune_components
from quell.variational.objective import Objective, Penalty
from quell.variational.starts import candidates


def generator(seed=0):
    return np.random.default_rng(seed)


def make_objective(gp, beta=0.0, weights=True, pruning_weight=0.01, n=64):
    return Objective(
        Quadrature(gp),
        Penalty.for_points(gp.data.x, pruning_weight),
        base_sample(n, gp.dimension),
        beta,
        weights,
    )


def elbo_of(gp, q, n=4096, seed=99):
    """The ELBO over a base sample that no fit has seen."""
    return evaluate_elbo(Quadrature(gp), q, base_sample(n, gp.dimension, seed))


# Known posteriors


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("dimension", "size"), [(1, 20), (2, 80), (5, 200)])
def test_a_gaussian_posterior_is_recovered(dimension, size, seed):
    target = Gaussian(dimension)
    fit = fit_mixture(generator(seed), target.learnt_gp(size))
    assert fit.elbo.value == pytest.approx(target.log_z, abs=0.05)
    np.testing.assert_allclose((fit.mixture.mean() - target.mean) / target.sd, 0.0, atol=0.05)
    covariance = fit.mixture.covariance() / np.outer(target.sd, target.sd)
    np.testing.assert_allclose(covariance, np.eye(dimension), atol=0.1)


def test_one_component_is_fitted_to_a_gaussian_from_far_away():
    target = Gaussian(2)
    start = Mixture([1.0], [target.mean + 3 * target.sd], [0.05], [1.0, 1.0])
    fit = fit_mixture(generator(), target.exact_gp(), start)
    assert fit.mixture.n_components == 1
    assert fit.elbo.value == pytest.approx(target.log_z, abs=0.02)
    np.testing.assert_allclose(fit.mixture.means[0], target.mean, atol=0.05)
    np.testing.assert_allclose(fit.mixture.scales[0] * fit.mixture.lengths, target.sd, rtol=0.05)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n_components", [10, 15])
def test_a_banana_is_recovered_from_below(n_components, seed):
    fit = fit_mixture(generator(seed), banana_gp(), n_components=n_components, n_climbs=2)
    assert BANANA_LOG_Z - 0.15 < fit.elbo.value < BANANA_LOG_Z + 0.02
    np.testing.assert_allclose(fit.mixture.mean(), [0.0, 1.0], atol=0.25)
    # The same, by draws and the true density.
    x = fit.mixture.sample(20_000, generator(7), stratified=True)
    log_joint = -0.5 * x[:, 0] ** 2 - 0.5 * ((x[:, 1] - x[:, 0] ** 2) / 0.7) ** 2
    terms = log_joint - fit.mixture.log_density(x)
    error = 5 * terms.std() / np.sqrt(len(terms))
    assert abs(terms.mean() - fit.elbo.value) < 0.02 + error


def test_more_components_fit_a_banana_better():
    fits = [
        fit_mixture(generator(), banana_gp(), n_components=k, n_climbs=2).elbo.value
        for k in (1, 3, 10)
    ]
    assert fits[0] + 0.1 < fits[1] < fits[2] - 0.05


@pytest.mark.parametrize("seed", range(4))
def test_a_start_from_the_data_finds_both_modes(seed):
    gp = two_mode_gp()
    start = Mixture([0.5, 0.5], [MODES[0] - 0.1, MODES[0] + 0.1], [0.8, 0.8], [1.0, 1.0])
    fit = fit_mixture(generator(seed), gp, start, n_components=4, n_climbs=2, n_starts=30)
    right = fit.mixture.weights[fit.mixture.means[:, 0] > 0].sum()
    assert right == pytest.approx(MODE_WEIGHTS[1], abs=0.05)
    assert fit.elbo.value == pytest.approx(0.0, abs=0.1)
    # From the one mode alone the fit stays there, which shows that the second climb found it.
    alone = fit_mixture(generator(seed), gp, start, n_components=4, n_starts=30)
    assert alone.elbo.value == pytest.approx(np.log(MODE_WEIGHTS[0]), abs=0.1)


def test_without_a_start_the_fit_begins_at_the_data():
    fit = fit_mixture(generator(), two_mode_gp(), n_components=4, n_starts=30)
    assert fit.elbo.value == pytest.approx(0.0, abs=0.1)


def test_noise_and_several_hyperparameter_samples_are_pooled():
    gp = wavy_gp(2, 3)
    fit = fit_mixture(generator(), gp, n_components=3)
    moments = Quadrature(gp).moments(fit.mixture)
    assert fit.elbo.expected_log_joint.mean == pytest.approx(moments.mean, rel=1e-10)
    assert fit.elbo.sd == pytest.approx(moments.sd, rel=1e-8)
    assert moments.between > 0


# What a fit promises


@pytest.mark.parametrize("n_climbs", [1, 2])
def test_the_same_generator_gives_bitwise_the_same_fit(n_climbs):
    gp, start = banana_gp(), make_mixture(3, 2)
    fits = [
        fit_mixture(
            generator(seed), gp, start, n_components=4, n_climbs=n_climbs, max_iterations=20
        )
        for seed in (4, 4, 5)
    ]
    assert_same_mixture(fits[0].mixture, fits[1].mixture)
    assert fits[0].elbo.value == fits[1].elbo.value
    assert fits[0].elbo.sd == fits[1].elbo.sd
    assert not np.array_equal(fits[0].mixture.means, fits[2].mixture.means)


def beside_the_data():
    """A surrogate whose data lie all beside the posterior, and that posterior.

    The penalties draw every climb from the posterior into the box of the data.
    """
    target = Gaussian(2)
    x = target.mean + target.sd * generator().uniform(1.0, 5.0, size=(30, 2))
    data = TrainingData.from_arrays(x, target.log_density(x))
    return GaussianProcess.condition(data, target.exact_gp().theta), target.exact_mixture()


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize("n_climbs", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_the_fit_is_not_worse_than_its_start(seed, n_climbs, beta):
    gp, start = beside_the_data()
    fit = fit_mixture(generator(seed), gp, start, n_climbs=n_climbs, beta=beta)
    before, after = elbo_of(gp, start), elbo_of(gp, fit.mixture)
    assert after.lower_confidence_bound(beta) > before.lower_confidence_bound(beta) - 0.02


@pytest.mark.parametrize("seed", range(2))
def test_the_fit_is_not_worse_than_its_start_where_that_is_good_already(seed):
    gp = banana_gp()
    start = fit_mixture(generator(seed), gp, n_components=5, n_climbs=2).mixture
    fit = fit_mixture(generator(seed), gp, start, n_components=7, base_sizes=(2,))
    assert elbo_of(gp, fit.mixture).value > elbo_of(gp, start).value - 0.03


def test_a_climb_can_end_worse_than_its_start():
    """Which is what the tests above rely on."""
    gp, start = beside_the_data()
    climbed = climb(make_objective(gp), start)
    assert elbo_of(gp, climbed).value < elbo_of(gp, start).value - 0.2
    assert elbo_of(gp, climbed).lower_confidence_bound(0.2) < (
        elbo_of(gp, start).lower_confidence_bound(0.2) - 0.1
    )


def test_the_elbo_of_the_fit_is_that_of_its_mixture():
    gp = banana_gp()
    fit = fit_mixture(generator(), gp, n_components=6, n_climbs=2)
    again = elbo_of(gp, fit.mixture)
    assert fit.elbo.value == pytest.approx(again.value, abs=0.02)
    assert fit.elbo.sd == pytest.approx(again.sd, rel=1e-6)


def test_the_fit_keeps_the_number_of_components_of_the_start_or_grows_it():
    gp = banana_gp()
    options = {"max_iterations": 3, "prune": False}
    assert fit_mixture(generator(), gp, **options).mixture.n_components == 2
    for wanted, expected in ((None, 3), (3, 3), (6, 6)):
        fit = fit_mixture(generator(), gp, make_mixture(3, 2), n_components=wanted, **options)
        assert fit.mixture.n_components == expected
        assert fit.n_pruned == 0


@pytest.mark.parametrize("base_sizes", [(), (16,)])
def test_the_fitted_mixture_is_normalised(base_sizes):
    target = Gaussian(5)
    start = Mixture([1.0], [target.mean], [0.1], 10 * target.sd)
    fit = fit_mixture(generator(), target.exact_gp(), start, base_sizes=base_sizes)
    lengths = fit.mixture.lengths
    assert lengths @ lengths == pytest.approx(5.0)
    np.testing.assert_allclose(fit.mixture.scales[0] * lengths, target.sd, rtol=0.5)


def test_more_iterations_fit_better():
    values = [
        fit_mixture(generator(), banana_gp(), n_components=6, max_iterations=n).elbo.value
        for n in (1, 50)
    ]
    assert values[0] < values[1] - 0.1


def test_starts_come_from_the_better_part_of_the_data_best_first(monkeypatch):
    seen = []

    def spy(rng, current, points, *args, **options):
        seen.append(points)
        return candidates(rng, current, points, *args, **options)

    monkeypatch.setattr("quell.variational.fit.candidates", spy)
    gp = Gaussian(2).exact_gp(30)
    fit_mixture(generator(), gp, max_iterations=1)
    order = np.argsort(-gp.data.y)
    np.testing.assert_array_equal(seen[0], gp.data.x[order[:24]])


@pytest.mark.parametrize("start", [None, make_mixture(4, 2)])
def test_fixed_weights_stay_equal(start):
    gp = two_mode_gp()
    fit = fit_mixture(generator(), gp, start, n_components=5, n_climbs=2, weights=False)
    np.testing.assert_allclose(fit.mixture.weights, 0.2, rtol=1e-12)
    assert fit.n_pruned == 0
    free = fit_mixture(generator(), gp, start, n_components=5, n_climbs=2)
    assert np.ptp(free.mixture.weights) > 0.01


def gap_gp():
    """Low values on the left, nothing known of the right, where the prior mean is high."""
    x = np.append(np.linspace(-4, -1, 13), 5.0)[:, None]
    y = np.append(-1 - 0.5 * (x[:-1, 0] + 2.5) ** 2, -6.0)
    theta = make_theta([0.7], 3.0, 0.0, 2.0, 2.0)
    return GaussianProcess.condition(TrainingData.from_arrays(x, y), [theta])


@pytest.mark.parametrize("seed", range(3))
def test_pessimism_gives_a_mixture_of_which_more_is_known(seed):
    gp = gap_gp()
    start = Mixture([0.5, 0.5], [[-2.5], [2.0]], [1.0, 1.0], [1.0])
    fits = {
        beta: fit_mixture(generator(seed), gp, start, beta=beta, n_climbs=2) for beta in (0.0, 3.0)
    }
    assert fits[3.0].elbo.sd < 0.5 * fits[0.0].elbo.sd
    assert fits[0.0].elbo.value > fits[3.0].elbo.value
    bounds = {beta: fit.elbo.lower_confidence_bound(3.0) for beta, fit in fits.items()}
    assert bounds[3.0] > bounds[0.0] + 0.1


def test_pessimism_sieves_the_starts():
    gp = gap_gp()
    options = {"n_components": 1, "n_starts": 40, "base_sizes": ()}  # the best start, as it is
    fits = [fit_mixture(generator(), gp, beta=beta, **options).elbo for beta in (0.0, 3.0)]
    assert fits[0].value > fits[1].value
    assert fits[1].lower_confidence_bound(3.0) > fits[0].lower_confidence_bound(3.0)


def test_pending_points_reduce_the_sd_and_leave_the_fit():
    gp = gap_gp()
    pending = gp.append_pending([1.0], 0.1).append_pending([3.0], 0.1)
    plain, aware = (fit_mixture(generator(), g, n_climbs=2) for g in (gp, pending))
    assert aware.elbo.value == pytest.approx(plain.elbo.value, abs=0.01)
    assert aware.elbo.sd < 0.9 * plain.elbo.sd
    cautious = fit_mixture(generator(), pending, n_climbs=2, beta=3.0)
    assert np.isfinite(cautious.elbo.value)


@pytest.mark.parametrize("n_climbs", [1, 2])
def test_a_single_observation_is_enough(n_climbs):
    data = TrainingData.from_arrays([[0.0, 0.0]], [1.0])
    gp = GaussianProcess.condition(data, [make_theta([1.0, 1.0], 1.0, 1.0, 0.0, 1.0)])
    fit = fit_mixture(generator(), gp, n_components=3, n_climbs=n_climbs)
    assert fit.elbo.value == pytest.approx(1 + np.log(2 * np.pi), abs=0.1)


# The climb


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_a_climb_ends_where_the_objective_is_flat(beta):
    objective = make_objective(wavy_gp(2, 2), beta)
    start = make_mixture(2, 2)
    end = climb(objective, start, 500)
    assert objective(end)[0] < objective(start)[0] - 0.1
    assert np.abs(objective(start)[1]).max() > 1
    slope = central_differences(lambda p: objective(p)[0], end)
    np.testing.assert_allclose(slope, 0.0, atol=0.05)


def test_a_climb_of_few_iterations_goes_less_far():
    objective = make_objective(banana_gp())
    start = make_mixture(6, 2)
    losses = [objective(climb(objective, start, n))[0] for n in (1, 5, 50)]
    assert objective(start)[0] > losses[0] > losses[1] > losses[2]


def test_a_climb_that_gains_nothing_returns_the_start():
    class Uphill:
        """A loss that grows in every direction its gradient denies."""

        def __call__(self, q):
            vector = q.to_vector()
            distance = float(np.abs(vector - origin).sum())
            return distance, -np.ones_like(vector)

    start = make_mixture(2, 2)
    origin = start.to_vector()
    assert climb(Uphill(), start) is start


@pytest.mark.parametrize("beyond", [np.nan, np.inf, -np.inf])
def test_a_climb_passes_over_values_that_are_not_finite(beyond):
    """Beyond x = 1 the loss is no number; the minimum at 0.9 is found all the same."""

    def loss(q):
        x = q.means[0, 0]
        gradient = np.zeros(4)
        gradient[0] = 200 * (x - 0.9)
        return (100 * (x - 0.9) ** 2 if x < 1 else beyond), gradient

    end = climb(loss, Mixture([1.0], [[-3.0]], [9.0], [1.0]))
    assert end.means[0, 0] == pytest.approx(0.9, abs=0.02)


def test_a_climb_survives_steps_to_scales_beyond_all_numbers():
    """A line through the log scales that tempts the line search far beyond ±745."""

    def loss(q):
        gradient = np.zeros(4)
        gradient[1] = -1.0
        return -float(np.log(q.scales[0])), gradient

    end = climb(loss, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    assert np.isfinite(end.scales).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_start_with_a_lost_component_can_be_fitted():
    start = Mixture([0.5, 0.5], [[1e3, 1e3], [0.0, 0.0]], [1e-6, 1.0], [1.0, 1.0])
    fit = fit_mixture(generator(), Gaussian(2).exact_gp(), start, n_starts=3)
    assert np.isfinite(fit.elbo.value)


# Pruning


def prune(gp, q, seed=0, n_base=512):
    base = base_sample(n_base, gp.dimension)
    quadrature = Quadrature(gp)
    elbo = evaluate_elbo(quadrature, q, base)
    smaller, smaller_elbo, n = prune_components(generator(seed), quadrature, q, elbo, base)
    assert smaller.n_components == q.n_components - n
    exact = evaluate_elbo(quadrature, smaller, base).value
    assert smaller_elbo.value == pytest.approx(exact, abs=1e-6)  # of single precision
    return smaller, elbo, smaller_elbo, n


def test_pruning_removes_negligible_components_and_keeps_important_ones():
    target = Gaussian(2)
    gp = target.exact_gp()
    # The first two lie four SDs off the target; the light one on its mode gains 0.01 x 8 nats.
    off = target.mean + 4 * target.sd * np.array([[1.0, 0.0], [1.02, 0.0]])
    means = np.concatenate([off, [off[0] + 0.02, target.mean, off[1] - 0.03, off[0]]])
    weights = [0.49, 0.491, 0.003, 0.01 - 1e-6, 0.003, 0.003 + 1e-6]
    q = Mixture(weights, means, np.ones(6), target.sd)
    for seed in range(24):  # the order in which they are tried
        smaller, before, after, n = prune(gp, q, seed, n_base=128)
        assert n == 3
        np.testing.assert_array_equal(smaller.means, means[[0, 1, 3]])
        kept = q.weights[[0, 1, 3]]
        np.testing.assert_allclose(smaller.weights, kept / kept.sum())
        assert after.value == pytest.approx(before.value, abs=3 * 0.01 / np.sqrt(6))


@pytest.mark.parametrize(("loss", "n_pruned"), [(0.004, 1), (0.006, 0)])
def test_pruning_tolerates_a_hundredth_of_a_nat_over_the_root_of_the_number(loss, n_pruned):
    target = Gaussian(2)
    gp = target.exact_gp()
    off = target.mean + 4 * target.sd * np.array([1.0, 0.0])
    quadrature, base = Quadrature(gp), base_sample(512, 2)

    def with_light(t):
        """Four components; the light one is on its way from the heavy ones to the mode."""
        means = [off, off, off, off + t * (target.mean - off)]
        return Mixture([0.3, 0.3, 0.395, 0.005], means, np.ones(4), target.sd)

    def excess(t):
        bounds = [
            evaluate_elbo(quadrature, q, base).lower_confidence_bound(3.0)
            for q in (with_light(t), with_light(t).without(3))
        ]
        return bounds[0] - bounds[1] - loss

    t = brentq(excess, 0.0, 1.0)
    assert prune(gp, with_light(t))[3] == n_pruned


def test_pruning_leaves_components_of_one_percent_and_more():
    target = Gaussian(2)
    q = Mixture([0.98, 0.02], [target.mean, target.mean], [1.0, 1.0], target.sd)
    smaller, _, _, n = prune(target.exact_gp(), q)
    assert n == 0
    assert_same_mixture(smaller, q)
    q = Mixture([0.991, 0.009], [target.mean, target.mean], [1.0, 1.0], target.sd)
    assert prune(target.exact_gp(), q)[3] == 1


def test_pruning_leaves_a_component_that_matters_only_to_the_uncertainty():
    x = np.linspace(-2, 2, 21)[:, None]
    theta = make_theta([1.0], 50.0, 0.0, 0.0, 1e4)
    gp = GaussianProcess.condition(TrainingData.from_arrays(x, np.zeros(21)), [theta])
    # Flat and unknown at the heavy component, known at the light one.
    q = Mixture([0.9995, 0.0005], [[9.0], [0.0]], [0.5, 0.5], [1.0])
    change = elbo_of(gp, q.without(1)).value - elbo_of(gp, q).value
    assert abs(change) < 0.9 * 0.01 / np.sqrt(2)
    assert prune(gp, q)[3] == 0


def test_components_are_pruned_until_those_left_are_no_longer_light():
    target, k = Gaussian(2), 102
    q = Mixture(np.full(k, 1 / k), np.tile(target.mean, (k, 1)), np.ones(k), target.sd)
    smaller, _, _, n = prune(target.exact_gp(), q, n_base=8)
    assert n in (2, 3)  # 100 weights of 0.01, a rounding more or less
    assert smaller.weights.min() > 0.0099


def test_a_single_component_is_not_pruned():
    target = Gaussian(2)
    assert prune(target.exact_gp(), target.exact_mixture())[3] == 0


def test_a_fit_prunes_on_request_and_never_with_fixed_weights():
    target = Gaussian(2)
    weights = np.array([0.494, 0.494, 0.006, 0.006])
    q = Mixture(weights, np.tile(target.mean, (4, 1)), [1.0, 0.9, 1.0, 1.1], target.sd)
    gp = target.exact_gp()
    options = {"base_sizes": (), "n_starts": 1}  # the start, as it is
    pruned = fit_mixture(generator(), gp, q, **options)
    assert (pruned.n_pruned, pruned.mixture.n_components) == (2, 2)
    kept = fit_mixture(generator(), gp, q, prune=False, **options)
    assert (kept.n_pruned, kept.mixture.n_components) == (0, 4)
    light = Mixture(np.full(102, 1 / 102), np.tile(target.mean, (102, 1)), np.ones(102), target.sd)
    options["scoring_size"] = 8
    assert fit_mixture(generator(), gp, light, **options).n_pruned >= 2
    fixed = fit_mixture(generator(), gp, light, weights=False, **options)
    assert (fixed.n_pruned, fixed.mixture.n_components) == (0, 102)


@pytest.mark.parametrize("seed", range(2))
def test_a_fit_without_pruning_lets_weights_become_tiny(seed):
    # A second mode that holds 0.2 % of the mass; the start gives it 5 %.
    x = np.linspace(-4, 12, 60)[:, None]
    y = np.logaddexp(np.log(0.998) - 0.5 * x[:, 0] ** 2, np.log(0.002) - 0.5 * (x[:, 0] - 8) ** 2)
    theta = make_theta([1.5], 20.0, -5.0, 4.0, 5.0)
    gp = GaussianProcess.condition(TrainingData.from_arrays(x, y), [theta])
    start = Mixture([0.95, 0.05], [[0.0], [8.0]], [1.0, 1.0], [1.0])
    fit = fit_mixture(generator(seed), gp, start, prune=False, n_starts=1)
    assert fit.mixture.weights.min() < 0.0035
    assert fit.mixture.means[np.argmin(fit.mixture.weights), 0] == pytest.approx(8.0, abs=1.0)


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": make_mixture(2, 3)}, "start has 3 dimensions, the surrogate has 2"),
        ({"n_components": 0}, "n_components must be an integer of at least 1, got 0"),
        ({"n_components": -2}, "n_components"),
        ({"start": make_mixture(3, 2), "n_components": 2}, "n_components is 2, but start has 3"),
        ({"n_starts": 0}, "n_starts must be at least 1, got 0"),
        ({"n_climbs": 0}, "n_climbs must be 1 or 2, got 0"),
        ({"n_climbs": 3}, "n_climbs must be 1 or 2, got 3"),
    ],
)
def test_bad_input_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        fit_mixture(generator(), wavy_gp(2), **options)
