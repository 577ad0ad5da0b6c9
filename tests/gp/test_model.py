import numpy as np
import pytest
from helpers.gp import NOISES, make_data, make_theta, naive_kernel, naive_mean, naive_noise

from quell.gp.model import Layout, kernel, kernel_product, mean_function, noise_variance

dimensions = pytest.mark.parametrize("dimension", [1, 2, 5])


@dimensions
def test_kernel_and_mean_match_the_formulas(dimension):
    data = make_data(dimension, 9)
    other = np.random.default_rng(1).normal(size=(4, dimension))
    theta = make_theta(data)
    hyper = Layout(dimension).unpack(theta)
    np.testing.assert_allclose(
        kernel(hyper, data.x, other), naive_kernel(theta, data.x, other), rtol=1e-12
    )
    np.testing.assert_allclose(
        mean_function(hyper, data.x), naive_mean(theta, data.x), rtol=1e-12, atol=1e-12
    )


def test_kernel_of_one_known_pair():
    hyper = Layout(1).unpack(np.log([2.0, 3.0, 1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(
        kernel(hyper, np.array([[0.0]]), np.array([[2.0], [0.0]])), [[9 * np.exp(-0.5), 9.0]]
    )


def test_kernel_keeps_near_duplicates_far_from_the_origin_apart():
    hyper = Layout(1).unpack(np.array([np.log(1e-3), 0.0, 0.0, 0.0, 0.0, 0.0]))
    a, b = np.array([[1e6]]), np.array([[1e6 + 2.0**-10]])
    expected = np.exp(-0.5 * (2.0**-10 / 1e-3) ** 2)
    np.testing.assert_allclose(kernel(hyper, a, b), [[expected]], rtol=1e-5)


@pytest.mark.parametrize("noise", NOISES)
def test_noise_is_base_plus_reported_or_unknown(noise):
    data = make_data(2, 9, noise)
    theta = make_theta(data)
    hyper = Layout(2, data.has_unknown_noise).unpack(theta)
    np.testing.assert_allclose(
        noise_variance(hyper, data.variance), naive_noise(theta, data.variance, 2), rtol=1e-14
    )


@dimensions
@pytest.mark.parametrize("unknown", [False, True])
def test_layout_covers_theta_once_and_in_order(dimension, unknown):
    layout = Layout(dimension, unknown)
    index = np.arange(layout.size)
    parts = [
        index[layout.lengths],
        [layout.output_scale, layout.base_noise, layout.mean_max],
        index[layout.mean_location],
        index[layout.mean_scales],
        [layout.unknown_variance] if unknown else [],
    ]
    np.testing.assert_array_equal(np.concatenate(parts), index)
    assert layout.size == 3 * dimension + 3 + unknown
    assert len(set(layout.names)) == len(layout.names) == layout.size
    mean_part = list(index[layout.mean_function])
    assert len(mean_part) == 2 * dimension + 1
    assert sorted(mean_part + layout.kernel_and_noise) == list(index)


@dimensions
@pytest.mark.parametrize("noise", ["known", "unknown"])
def test_unpacked_hyperparameters_pack_back_to_theta(dimension, noise):
    data = make_data(dimension, 5, noise)
    theta = make_theta(data, n=3)
    hyper = Layout(dimension, noise == "unknown").unpack(theta)
    packed = np.concatenate(
        [
            np.log(hyper.lengths),
            0.5 * np.log(hyper.output_variance)[:, None],
            0.5 * np.log(hyper.base_variance)[:, None],
            hyper.mean_max[:, None],
            hyper.mean_location,
            np.log(hyper.mean_scales),
            *([np.log(hyper.unknown_variance)[:, None]] if noise == "unknown" else []),
        ],
        axis=1,
    )
    np.testing.assert_allclose(packed, theta, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("noise", ["known", "unknown"])
def test_one_sample_of_a_batch_is_that_row_unpacked(noise):
    data = make_data(2, 5, noise)
    theta = make_theta(data, n=3)
    layout = Layout(2, noise == "unknown")
    one, row = layout.unpack(theta)[1], layout.unpack(theta[1])
    for name in vars(row):
        np.testing.assert_array_equal(getattr(one, name), getattr(row, name), err_msg=name)


def test_a_layout_without_unknown_noise_says_so():
    with pytest.raises(AttributeError, match="no unknown noise"):
        _ = Layout(2).unknown_variance


def test_a_product_with_the_kernel_in_blocks_of_rows(monkeypatch):
    rng = np.random.default_rng(1)
    hyper = Layout(2).unpack(np.zeros(9))
    a, b, coefficients = rng.normal(size=(11, 2)), rng.normal(size=(7, 2)), rng.normal(size=7)
    expected = kernel(hyper, a, b) @ coefficients
    for rows in (1, 4, 11, 100):
        monkeypatch.setattr("quell.gp.model.ROWS_AT_ONCE", rows)
        np.testing.assert_allclose(kernel_product(hyper, a, b, coefficients), expected, rtol=1e-13)
