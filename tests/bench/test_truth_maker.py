"""What makes the truths that come with the package: importance sampling, chains, files."""

import doctest
import sys

import numpy as np
import pytest
from helpers.benchmarks import benchmark_module
from scipy.stats import norm

from quell.bench import BenchError
from quell.bench.density import Density, density_on_box, total_variation
from quell.bench.truth import Truth, shipped

chains, importance = benchmark_module("truth.chains"), benchmark_module("truth.importance")
bridge = benchmark_module("truth.bridge")
writing = benchmark_module("truth.writing")

COVARIANCE = np.array([[1.0, 0.6], [0.6, 0.5]])
PRECISION = np.linalg.inv(COVARIANCE)


@pytest.mark.parametrize("module", [bridge, chains, importance], ids=lambda module: module.__name__)
def test_examples(module):
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)


def two_modes(x):
    """Two normals of mass 1 and 2, five SDs apart."""
    distance = [np.einsum("ni,ij,nj->n", x - m, PRECISION, x - m) for m in ([0, 0], [5, 0])]
    parts = -0.5 * np.array(distance) + np.log([[1.0], [2.0]])
    return np.logaddexp(*parts) - 0.5 * np.log(np.linalg.det(2 * np.pi * COVARIANCE))


def wide():
    return importance.Proposal(np.ones(1), np.zeros((1, 2)), 6 * np.eye(2)[None])


class TestImportance:
    def test_proposal_has_the_density_of_its_draws(self):
        rng = np.random.default_rng(1)
        proposal = importance.fit_proposal(
            rng.multivariate_normal([1, 2], COVARIANCE, 3000), 3, rng
        )
        # Its integral, estimated with another one.
        other = importance.Proposal(np.ones(1), np.array([[1.0, 2.0]]), 2 * np.eye(2)[None])
        weighted = importance.Weighted.draw(proposal.log_density, other, 40_000, rng)
        assert weighted.log_integral == pytest.approx(0, abs=4 * weighted.log_integral_error)
        assert weighted.log_integral_error < 0.02
        mean = weighted.shares @ weighted.points
        draws = proposal.sample(40_000, rng)
        np.testing.assert_allclose(draws.mean(0), mean, atol=0.06)

    def test_adapting_finds_both_modes_and_the_integral(self):
        rng = np.random.default_rng(2)
        proposal = importance.adapt(two_modes, wide(), draws=2000, stages=5, components=4, rng=rng)
        weighted = importance.Weighted.draw(two_modes, proposal, 20_000, rng)
        assert weighted.effective_size > 8000
        assert weighted.log_integral == pytest.approx(
            np.log(3), abs=4 * weighted.log_integral_error
        )
        assert weighted.log_integral_error < 0.02
        mean = weighted.shares @ weighted.points
        np.testing.assert_allclose(mean, [10 / 3, 0], atol=0.1)

    def test_standard_error_is_that_of_repeats(self):
        rng = np.random.default_rng(3)
        runs = [importance.Weighted.draw(two_modes, wide(), 2000, rng) for _ in range(300)]
        z = [(run.log_integral - np.log(3)) / run.log_integral_error for run in runs]
        assert np.std(z) == pytest.approx(1, abs=0.13)
        assert np.mean(z) == pytest.approx(0, abs=0.25)

    def test_resampling_follows_the_weights(self):
        points = np.arange(4.0)[:, None]
        weighted = importance.Weighted(points, np.log([1.0, 2.0, 3.0, 4.0]))
        counts = np.bincount(weighted.resample(1000, np.random.default_rng(4))[:, 0].astype(int))
        np.testing.assert_array_equal(counts, [100, 200, 300, 400])

    def test_weights_are_flattened_only_as_far_as_needed(self):
        even = importance.Weighted(np.zeros((100, 1)), np.linspace(0, 0.1, 100))
        assert even.flattened().effective_size == even.effective_size
        uneven = importance.Weighted(np.zeros((100, 1)), np.linspace(0, 500, 100))
        assert uneven.effective_size < 2
        assert 20 <= uneven.flattened().effective_size < 40
        with pytest.raises(ValueError, match="nothing in common"):
            importance.Weighted(np.zeros((9, 1)), np.append(np.full(8, -np.inf), 0.0)).flattened()


class TestChains:
    def test_chains_of_a_known_target(self):
        pytest.importorskip("emcee")
        rng = np.random.default_rng(5)
        proposal = importance.adapt(two_modes, wide(), draws=1000, stages=4, components=4, rng=rng)
        starts = rng.uniform(-8, 8, (2, 24, 2))
        made = chains.run_chains(
            two_modes, proposal, starts, steps=240, seed=1, to_original=np.copy
        )
        assert made.states.shape == (180, 2, 24, 2)
        assert made.draws.shape == (180 * 48, 2)
        assert made.r_hat.max() < 1.05
        assert made.effective_size.min() > 1000
        np.testing.assert_allclose(made.draws.mean(0), [10 / 3, 0], atol=0.3)
        np.testing.assert_allclose((made.draws[:, 0] > 2.5).mean(), 2 / 3, atol=0.05)
        short, same, other = (
            chains.run_chains(two_modes, proposal, starts, steps=12, seed=seed, to_original=np.exp)
            for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(short.states, same.states)
        assert not (short.states == other.states).all()
        assert (short.states > 0).all()

    def test_r_hat_of_chains_that_agree_and_that_do_not(self):
        rng = np.random.default_rng(6)
        states = rng.standard_normal((400, 8, 3))
        states[:, :, 1] += np.arange(8)
        states[:, :, 2] += np.linspace(0, 4, 400)[:, None]  # a trend that all chains share
        r_hat = chains.split_r_hat(states)
        assert r_hat[0] == pytest.approx(1, abs=0.01)
        assert r_hat[1:].min() > 1.2

    def test_without_emcee(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "emcee", None)
        with pytest.raises(BenchError, match=r"quell\[truth\]"):
            chains.import_emcee()


class TestWriting:
    def truth(self, rng):
        draws = np.column_stack([rng.normal(0.5, 0.003, 20_000), rng.beta(1, 3, 20_000)])
        marginals = tuple(density_on_box(column, lower=0.0, upper=1.0) for column in draws.T)
        return Truth(-3.25, draws.mean(0), np.cov(draws.T), marginals,
                     log_evidence_error=0.01, on_box=True)  # fmt: skip

    def test_round_trip(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "files", lambda _: tmp_path)
        data, truth = (np.arange(5), (1.5, 2)), self.truth(np.random.default_rng(7))
        path = tmp_path / "some.json"
        writing.write_truth(path, truth, data, {"versions": {"numpy": "2.0"}})
        assert [file.name for file in tmp_path.iterdir()] == ["some.json"]
        assert path.stat().st_size < 100_000
        again = shipped.shipped_truth("some", data)
        assert (again.log_evidence, again.log_evidence_error, again.on_box) == (-3.25, 0.01, True)
        np.testing.assert_allclose(again.mean, truth.mean, rtol=1e-8)
        np.testing.assert_allclose(again.covariance, truth.covariance, rtol=1e-8)
        for ours, theirs in zip(again.marginals, truth.marginals, strict=True):
            assert total_variation(ours, theirs) < 2.1e-4
        assert again.reference == again.marginals

    def test_a_truth_is_not_used_for_other_data(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "files", lambda _: tmp_path)
        made = {"versions": {"numpy": "2.0"}}
        truth = self.truth(np.random.default_rng(8))
        writing.write_truth(tmp_path / "some.json", truth, np.arange(5), made)
        with pytest.raises(BenchError, match=r"NumPy 2\.0 simulated .*make truth"):
            shipped.shipped_truth("some", np.array([0, 1, 2, 4, 3]))
        with pytest.raises(BenchError, match="no truth comes with other"):
            shipped.shipped_truth("other", np.arange(5))

    def test_a_marginal_of_a_few_cells_keeps_them_all(self):
        grid = np.linspace(0, 1, 8192)
        narrow = Density.from_grid(grid, norm(0.4, 2e-4).pdf(grid))
        cut = writing.compact_marginal(narrow)
        assert len(cut["density"]) < 60
        x = np.linspace(cut["lower"], cut["upper"], len(cut["density"]))
        assert np.diff(x)[0] <= 2 * (grid[1] - grid[0])
