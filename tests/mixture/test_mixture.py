import numpy as np
import pytest
from helpers.mixtures import random_mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from quell.mixture import Mixture

modest = settings(deadline=None, max_examples=25)
sizes = {"n_components": st.integers(1, 6), "dimension": st.integers(1, 5)}


def reference_log_density(q, x):
    """The textbook sum, component by component; far out its terms are too small for floats."""
    terms = [
        np.log(w) + stats.multivariate_normal.logpdf(x, mu, np.diag((sigma * q.lengths) ** 2))
        for w, mu, sigma in zip(q.weights, q.means, q.scales, strict=True)
    ]
    return logsumexp(terms, axis=0)


# Density


@modest
@given(**sizes, seed=st.integers(0, 1000))
def test_density_is_the_weighted_sum_of_gaussians(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed)
    x = 2 * np.random.default_rng(seed).normal(size=(20, dimension))
    expected = reference_log_density(q, x)
    np.testing.assert_allclose(q.log_density(x), expected, rtol=1e-12, atol=1e-12)


def test_leading_shape_is_kept():
    q = random_mixture(3, 2)
    x = np.random.default_rng(0).normal(size=(4, 5, 2))
    assert q.log_density(x).shape == (4, 5)
    assert q.log_density(x[0, 0]).shape == ()
    assert q.log_density(np.empty((0, 2))).shape == (0,)
    assert q.log_density_gradient(x).shape == x.shape
    assert q.log_density(x)[2, 3] == pytest.approx(float(q.log_density(x[2, 3])), rel=1e-14)
    np.testing.assert_allclose(q.log_density_gradient(x)[2, 3], q.log_density_gradient(x[2, 3]))


def test_many_points_are_handled_in_blocks(monkeypatch):
    q = random_mixture(4, 3)
    x = np.random.default_rng(0).normal(size=(1001, 3))
    whole, slope = q.log_density(x), q.log_density_gradient(x)
    monkeypatch.setattr("quell.mixture.mixture.BLOCK_ELEMENTS", 100)
    np.testing.assert_array_equal(q.log_density(x), whole)
    np.testing.assert_allclose(q.log_density_gradient(x), slope, rtol=1e-12, atol=1e-14)


def test_far_tails_follow_the_widest_component():
    q = Mixture([0.6, 0.4], [[0.0, 0.0], [1.0, 2.0]], [0.5, 1.0], [1.0, 2.0])
    direction = np.array([0.6, 0.8])
    x = np.array([1e6, -1e6])[:, None] * direction
    # At this distance the other component is e^(-10^12) of the total.
    z = (x - q.means[1]) / q.lengths
    expected = np.log(0.4) - np.log(2 * np.pi) - np.log(2.0) - 0.5 * (z**2).sum(axis=1)
    np.testing.assert_allclose(q.log_density(x), expected, rtol=1e-13)
    np.testing.assert_allclose(q.log_density_gradient(x), -z / q.lengths, rtol=1e-12)
    assert np.all(np.exp(q.log_density(x)) == 0)


def test_even_where_squares_overflow_the_log_density_is_finite():
    q = Mixture([1.0, 0.0], [[0.0], [1.0]], [1.0, 1e-3], [1.0])
    assert np.isfinite(q.log_density([[1e200], [-1e300]])).all()
    assert not np.isnan(q.log_density_gradient([[1e200]])).any()


def test_narrow_components_far_from_the_origin_keep_their_digits():
    near = Mixture([0.5, 0.5], [[0.0, 0.0], [1.0, 0.0]], [2.0**-10, 2.0**-9], [1.0, 1.0])
    far = Mixture(near.weights, near.means + 2.0**20, near.scales, near.lengths)
    x = near.means[:, None] + 2.0**-10 * np.array([[1.0, 0.0], [0.0, -2.0], [1.0, 1.0]])
    np.testing.assert_allclose(far.log_density(x + 2.0**20), near.log_density(x), rtol=1e-12)


def test_zero_weights_are_absent():
    full = Mixture([0.3, 0.0, 0.7], [[0.0], [0.1], [2.0]], [1.0, 9.0, 0.5], [1.0])
    reduced = full.without(1)
    x = np.linspace(-50, 50, 21)[:, None]
    np.testing.assert_allclose(full.log_density(x), reduced.log_density(x), rtol=1e-14)
    np.testing.assert_allclose(
        full.log_density_gradient(x), reduced.log_density_gradient(x), rtol=1e-12
    )


@modest
@given(**sizes, seed=st.integers(0, 1000))
def test_log_density_gradient_by_finite_differences(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed)
    x = 2 * np.random.default_rng(seed).normal(size=(7, dimension))
    step = 1e-5
    for i, unit in enumerate(np.eye(dimension)):
        slope = (q.log_density(x + step * unit) - q.log_density(x - step * unit)) / (2 * step)
        np.testing.assert_allclose(q.log_density_gradient(x)[:, i], slope, rtol=1e-6, atol=1e-6)


# Samples


@pytest.mark.parametrize("stratified", [False, True])
def test_samples_have_the_moments_of_the_mixture(stratified):
    q = random_mixture(4, 3)
    n = 200_000
    x = q.sample(n, np.random.default_rng(1), stratified=stratified)
    assert x.shape == (n, 3)
    sd = np.sqrt(np.diag(q.covariance()))
    assert np.all(abs(x.mean(axis=0) - q.mean()) < 5 * sd / np.sqrt(n))
    np.testing.assert_allclose(
        np.cov(x.T) / np.outer(sd, sd), q.covariance() / np.outer(sd, sd), atol=0.02
    )


def well_separated(weights):
    k = len(weights)
    return Mixture(weights, 100.0 * np.arange(k)[:, None], np.ones(k), [1.0])


def component_of(x):
    return np.rint(x[:, 0] / 100).astype(int)


def test_plain_counts_are_multinomial():
    weights = np.array([0.15, 0.35, 0.0, 0.5])
    n, repeats = 40, 3000
    rng = np.random.default_rng(2)
    q = well_separated(weights)
    counts = np.array(
        [np.bincount(component_of(q.sample(n, rng)), minlength=4) for _ in range(repeats)]
    )
    error = np.sqrt(weights * (1 - weights) * n / repeats)
    assert np.all(abs(counts.mean(axis=0) - n * weights) <= 5 * error)
    np.testing.assert_allclose(counts.var(axis=0), n * weights * (1 - weights), rtol=0.15)


def test_stratified_counts_are_exact_to_within_one_and_unbiased():
    weights = np.array([0.123, 0.377, 0.0, 0.018, 0.482])
    n, repeats = 37, 4000
    rng = np.random.default_rng(3)
    q = well_separated(weights)
    counts = np.array(
        [
            np.bincount(component_of(q.sample(n, rng, stratified=True)), minlength=5)
            for _ in range(repeats)
        ]
    )
    assert np.all(counts.sum(axis=1) == n)
    assert np.all(counts >= np.floor(n * weights))
    assert np.all(counts <= np.ceil(n * weights))
    fraction = n * weights % 1
    error = np.sqrt(fraction * (1 - fraction) / repeats)
    assert np.all(abs(counts.mean(axis=0) - n * weights) <= 5 * error)


@pytest.mark.parametrize("stratified", [False, True])
def test_samples_come_in_random_order(stratified):
    q = well_separated([0.5, 0.5])
    label = component_of(q.sample(10_000, np.random.default_rng(4), stratified=stratified))
    # The share in any stretch, and the number of changes, are those of independent draws.
    assert abs(label[:5000].mean() - 0.5) < 0.05
    assert abs((np.diff(label) != 0).mean() - 0.5) < 0.05


def test_samples_are_determined_by_the_generator():
    q = random_mixture(3, 2)
    for draw in (
        lambda rng: q.sample(20, rng),
        lambda rng: q.sample(20, rng, stratified=True),
    ):
        first = draw(np.random.default_rng(8))
        np.testing.assert_array_equal(first, draw(np.random.default_rng(8)))
        assert not np.array_equal(first, draw(np.random.default_rng(9)))
    assert q.sample(0, np.random.default_rng(0), stratified=True).shape == (0, 2)


# Moments


def test_moments_of_one_component():
    q = Mixture([1.0], [[1.0, -2.0]], [0.5], [1.0, 3.0])
    np.testing.assert_array_equal(q.mean(), [1.0, -2.0])
    np.testing.assert_allclose(q.covariance(), np.diag([0.25, 2.25]), rtol=1e-15)


def test_moments_of_two_components_worked_by_hand():
    q = Mixture([0.25, 0.75], [[-3.0, 0.0], [1.0, 2.0]], [1.0, 2.0], [1.0, 0.5])
    np.testing.assert_allclose(q.mean(), [0.0, 1.5])
    # Within: (1/4 + 3/4 * 4) λ²; between: 3/16 * (4, 2)(4, 2)ᵀ.
    np.testing.assert_allclose(q.covariance(), [[3.25 + 3.0, 1.5], [1.5, 0.8125 + 0.75]])


# Other forms


@modest
@given(**sizes, seed=st.integers(0, 1000))
def test_other_forms_keep_the_density(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed)
    x = np.random.default_rng(seed).normal(size=(10, dimension))
    normal = q.normalised()
    assert normal.lengths @ normal.lengths == pytest.approx(dimension, rel=1e-14)
    np.testing.assert_allclose(normal.log_density(x), q.log_density(x), rtol=1e-11, atol=1e-12)

    free = q.to_vector()
    back = Mixture.from_vector(free, n_components, dimension)
    for name in ("weights", "means", "scales", "lengths"):
        np.testing.assert_allclose(getattr(back, name), getattr(q, name), rtol=1e-14)
    np.testing.assert_allclose(back.to_vector(), free, rtol=1e-13, atol=1e-13)


def test_layout_of_the_vector():
    q = Mixture([0.2, 0.8], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0.5, 2.0], [1.0, 3.0, 7.0])
    expected = [1, 2, 3, 4, 5, 6, *np.log([0.5, 2, 1, 3, 7, 0.25, 1])]
    np.testing.assert_allclose(q.to_vector(), expected, rtol=1e-15, atol=1e-15)
    shifted = q.to_vector()
    shifted[-2:] += 1000.0  # the softmax does not see a common shift
    np.testing.assert_allclose(Mixture.from_vector(shifted, 2, 3).weights, q.weights, rtol=1e-12)


def test_zero_weight_has_a_finite_place_in_the_vector():
    q = Mixture([0.0, 1.0], [[0.0], [1.0]], [1.0, 1.0], [1.0])
    assert q.to_vector()[-2] == -700
    np.testing.assert_allclose(
        Mixture.from_vector(q.to_vector(), 2, 1).weights, [0.0, 1.0], atol=1e-300
    )


def test_without_a_component():
    q = Mixture([0.2, 0.3, 0.5], [[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0], [1.5])
    r = q.without(1)
    np.testing.assert_allclose(r.weights, [2 / 7, 5 / 7])
    np.testing.assert_array_equal(r.means, [[0.0], [2.0]])
    np.testing.assert_array_equal(r.scales, [1.0, 3.0])
    np.testing.assert_array_equal(r.lengths, [1.5])


def test_arrays_are_copies_and_read_only():
    means = np.zeros((1, 2))
    q = Mixture([1.0], means, [1.0], [1.0, 1.0])
    means[0, 0] = 5.0
    assert q.means[0, 0] == 0
    for name in ("weights", "means", "scales", "lengths"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(q, name)[...] = 2.0
    with pytest.raises(AttributeError):
        q.means = means


def test_small_drift_of_the_weights_is_divided_out():
    q = Mixture([0.5, 0.5 + 5e-7], [[0.0], [1.0]], [1.0, 1.0], [1.0])
    assert q.weights.sum() == pytest.approx(1, abs=1e-15)


# Bad input

good = {
    "weights": [0.4, 0.6],
    "means": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
    "scales": [1.0, 2.0],
    "lengths": [1.0, 1.0, 1.0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.5, 0.4]}, r"weights must sum to 1, got \[0.5, 0.4\] with sum 0.9"),
        ({"weights": [0.5, 0.5 + 1e-5]}, "weights must sum to 1"),
        ({"weights": [-0.1, 1.1]}, r"weights\[0\] must be non-negative and finite, got -0.1"),
        ({"weights": [np.nan, 1.0]}, r"weights\[0\] must not be nan"),
        ({"weights": [1.0, np.inf]}, r"weights\[1\] must be non-negative and finite, got inf"),
        ({"weights": [0.2, 0.3, 0.5]}, r"weights must have shape \(2,\), got \(3,\)"),
        ({"means": [0.0, 1.0]}, r"means must have shape \(n, D\), got \(2,\)"),
        ({"means": np.empty((0, 3))}, r"means must have at least one row .* \(0, 3\)"),
        ({"means": [[0, 1, np.inf], [0, 0, 0]]}, r"means\[0, 2\] must be finite, got inf"),
        ({"scales": [1.0, 0.0]}, r"scales\[1\] must be positive and finite, got 0"),
        ({"scales": [1.0, np.inf]}, r"scales\[1\] must be positive and finite, got inf"),
        ({"scales": [1.0]}, r"scales must have shape \(2,\), got \(1,\)"),
        ({"lengths": [1.0, -2.0, 1.0]}, r"lengths\[1\] must be positive and finite, got -2"),
        ({"lengths": [1.0, 1.0]}, r"lengths must have shape \(3,\), got \(2,\)"),
    ],
)
def test_bad_fields_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Mixture(**{**good, **change})


@pytest.mark.parametrize("method", ["log_density", "log_density_gradient"])
def test_bad_points_are_named(method):
    q = Mixture(**good)
    with pytest.raises(ValueError, match=r"x must have shape \(..., 3\), got \(4, 2\)"):
        getattr(q, method)(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"x\[1, 2\] must be finite, got nan"):
        getattr(q, method)([[0, 0, 0], [0, 0, np.nan]])


def test_bad_arguments_are_named():
    q, rng = Mixture(**good), np.random.default_rng(0)
    with pytest.raises(ValueError, match="n must not be negative, got -1"):
        q.sample(-1, rng)
    with pytest.raises(ValueError, match="k must be between 0 and 1, got 2"):
        q.without(2)
    with pytest.raises(ValueError, match="k must be between 0 and 1, got -1"):
        q.without(-1)
    with pytest.raises(ValueError, match="k = 0 is the only component with a positive weight"):
        q.without(1).without(0)
    with pytest.raises(ValueError, match=r"vector must have shape \(13,\), got \(12,\)"):
        Mixture.from_vector(np.zeros(12), 2, 3)
    with pytest.raises(ValueError, match=r"vector\[3\] must be finite, got inf"):
        Mixture.from_vector(np.where(np.arange(13) == 3, np.inf, 0), 2, 3)
    with pytest.raises(ValueError, match=r"scales\[0\] must be positive and finite, got inf"):
        Mixture.from_vector(np.where(np.arange(13) == 6, 800.0, 0), 2, 3)
    with pytest.raises(ValueError, match="must be at least 1, got 0 and 3"):
        Mixture.from_vector(np.zeros(3), 0, 3)


@modest
@given(**sizes, seed=st.integers(0, 1000))
def test_a_checked_vector_gives_the_same_mixture_to_the_last_bit(n_components, dimension, seed):
    vector = random_mixture(n_components, dimension, seed).to_vector() + 0.1
    usual = Mixture.from_vector(vector, n_components, dimension)
    quick = Mixture.from_vector(vector, n_components, dimension, checked=True)
    for name in ("weights", "means", "scales", "lengths"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(usual, name))
        assert not getattr(quick, name).flags.writeable


@modest
@given(**sizes, seed=st.integers(0, 1000))
def test_the_root_of_the_covariance(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed)
    root = q.covariance_root()
    np.testing.assert_allclose(root @ root.T, q.covariance(), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(root, np.tril(root))
    assert (root.diagonal() > 0).all()


def test_a_covariance_has_a_root_where_its_squares_are_too_far_apart():
    # A component 1e9 SDs away, askew to the axes: the covariance is singular to all digits.
    q = Mixture([0.5, 0.5], [[0.0, 0.0], [1e9, 1e9]], [1.0, 1.0], [1.0, 1.0])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(q.covariance())
    along, across = q.covariance_root().diagonal()
    np.testing.assert_allclose([along, across], [5e8, np.sqrt(2.0)], rtol=1e-6)
