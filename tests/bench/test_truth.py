import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from quell.bench import BenchError
from quell.bench.density import Density, density_on_box, total_variation
from quell.bench.truth import Truth, shipped
from quell.bench.truth.chains import import_emcee, run_chains, split_r_hat
from quell.bench.truth.importance import Proposal, Weighted, adapt, fit_proposal
from quell.bench.truth.stored import stored_marginals, stored_truth

COVARIANCE = np.array([[1.0, 0.6], [0.6, 0.5]])
PRECISION = np.linalg.inv(COVARIANCE)
NAMES = ["sigma_vis_1", "sigma_vis_2", "sigma_vis_3", "sigma_vest", "lambda", "kappa"]


def two_modes(x):
    """Two normals of mass 1 and 2, five SDs apart."""
    distance = [np.einsum("ni,ij,nj->n", x - m, PRECISION, x - m) for m in ([0, 0], [5, 0])]
    parts = -0.5 * np.array(distance) + np.log([[1.0], [2.0]])
    return np.logaddexp(*parts) - 0.5 * np.log(np.linalg.det(2 * np.pi * COVARIANCE))


def wide():
    return Proposal(np.ones(1), np.zeros((1, 2)), 6 * np.eye(2)[None])


class TestImportance:
    def test_proposal_has_the_density_of_its_draws(self):
        rng = np.random.default_rng(1)
        proposal = fit_proposal(rng.multivariate_normal([1, 2], COVARIANCE, 3000), 3, rng)
        # Its integral, estimated with another one.
        other = Proposal(np.ones(1), np.array([[1.0, 2.0]]), 2 * np.eye(2)[None])
        weighted = Weighted.draw(proposal.log_density, other, 40_000, rng)
        assert weighted.log_integral == pytest.approx(0, abs=4 * weighted.log_integral_error)
        assert weighted.log_integral_error < 0.02
        mean = weighted.shares @ weighted.points
        draws = proposal.sample(40_000, rng)
        np.testing.assert_allclose(draws.mean(0), mean, atol=0.06)

    def test_adapting_finds_both_modes_and_the_integral(self):
        rng = np.random.default_rng(2)
        proposal = adapt(two_modes, wide(), draws=2000, stages=5, components=4, rng=rng)
        weighted = Weighted.draw(two_modes, proposal, 20_000, rng)
        assert weighted.effective_size > 8000
        assert weighted.log_integral == pytest.approx(
            np.log(3), abs=4 * weighted.log_integral_error
        )
        assert weighted.log_integral_error < 0.02
        mean = weighted.shares @ weighted.points
        np.testing.assert_allclose(mean, [10 / 3, 0], atol=0.1)

    def test_standard_error_is_that_of_repeats(self):
        rng = np.random.default_rng(3)
        runs = [Weighted.draw(two_modes, wide(), 2000, rng) for _ in range(300)]
        z = [(run.log_integral - np.log(3)) / run.log_integral_error for run in runs]
        assert np.std(z) == pytest.approx(1, abs=0.13)
        assert np.mean(z) == pytest.approx(0, abs=0.25)

    def test_resampling_follows_the_weights(self):
        points = np.arange(4.0)[:, None]
        weighted = Weighted(points, np.log([1.0, 2.0, 3.0, 4.0]))
        counts = np.bincount(weighted.resample(1000, np.random.default_rng(4))[:, 0].astype(int))
        np.testing.assert_array_equal(counts, [100, 200, 300, 400])

    def test_weights_are_flattened_only_as_far_as_needed(self):
        even = Weighted(np.zeros((100, 1)), np.linspace(0, 0.1, 100))
        assert even.flattened().effective_size == even.effective_size
        uneven = Weighted(np.zeros((100, 1)), np.linspace(0, 500, 100))
        assert uneven.effective_size < 2
        assert 20 <= uneven.flattened().effective_size < 40
        with pytest.raises(ValueError, match="nothing in common"):
            Weighted(np.zeros((9, 1)), np.append(np.full(8, -np.inf), 0.0)).flattened()


class TestChains:
    def test_chains_of_a_known_target(self):
        pytest.importorskip("emcee")
        rng = np.random.default_rng(5)
        proposal = adapt(two_modes, wide(), draws=1000, stages=4, components=4, rng=rng)
        starts = rng.uniform(-8, 8, (2, 24, 2))
        chains = run_chains(two_modes, proposal, starts, steps=240, seed=1, to_original=np.copy)
        assert chains.states.shape == (180, 2, 24, 2)
        assert chains.draws.shape == (180 * 48, 2)
        assert chains.r_hat.max() < 1.05
        assert chains.effective_size.min() > 1000
        np.testing.assert_allclose(chains.draws.mean(0), [10 / 3, 0], atol=0.3)
        np.testing.assert_allclose((chains.draws[:, 0] > 2.5).mean(), 2 / 3, atol=0.05)
        short, same, other = (
            run_chains(two_modes, proposal, starts, steps=12, seed=seed, to_original=np.exp)
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
        r_hat = split_r_hat(states)
        assert r_hat[0] == pytest.approx(1, abs=0.01)
        assert r_hat[1:].min() > 1.2

    def test_without_emcee(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "emcee", None)
        with pytest.raises(BenchError, match=r"quell\[truth\]"):
            import_emcee()


@dataclass(frozen=True)
class Observed:
    counts: np.ndarray
    nested: tuple


class TestShipped:
    def truth(self, rng):
        draws = np.column_stack([rng.normal(0.5, 0.003, 20_000), rng.beta(1, 3, 20_000)])
        marginals = tuple(density_on_box(column, lower=0.0, upper=1.0) for column in draws.T)
        return Truth(-3.25, draws.mean(0), np.cov(draws.T), marginals,
                     log_evidence_error=0.01, on_box=True)  # fmt: skip

    def test_round_trip(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "files", lambda _: tmp_path)
        data, truth = Observed(np.arange(5), (1.5, 2)), self.truth(np.random.default_rng(7))
        path = tmp_path / "some.json"
        shipped.write_truth(path, truth, data, {"versions": {"numpy": "2.0"}})
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
        shipped.write_truth(tmp_path / "some.json", truth, np.arange(5), made)
        with pytest.raises(BenchError, match=r"NumPy 2\.0 simulated .*make truth"):
            shipped.shipped_truth("some", np.array([0, 1, 2, 4, 3]))
        with pytest.raises(BenchError, match="no truth comes with other"):
            shipped.shipped_truth("other", np.arange(5))

    def test_checksum_sees_any_change_but_not_rounding(self):
        data = np.random.default_rng(9).standard_normal(100)
        data[3] = np.nan
        before = shipped.checksum(Observed(data, (np.array([1, 2]), 3.0)))
        for place in (0, 50, 99):
            changed = data.copy()
            changed[place] += 1e-3
            after = shipped.checksum(Observed(changed, (np.array([1, 2]), 3.0)))
            assert not shipped.same_data(before, after)
        swapped = data[::-1].copy()
        assert not shipped.same_data(
            before, shipped.checksum(Observed(swapped, (np.array([1, 2]), 3.0)))
        )
        rounded = shipped.checksum(Observed(data * (1 + 1e-15), (np.array([1, 2]), 3.0)))
        assert shipped.same_data(before, rounded)

    def test_a_marginal_of_a_few_cells_keeps_them_all(self):
        grid = np.linspace(0, 1, 8192)
        narrow = Density.from_grid(grid, norm(0.4, 2e-4).pdf(grid))
        cut = shipped._compact(narrow)
        assert len(cut["density"]) < 60
        x = np.linspace(cut["lower"], cut["upper"], len(cut["density"]))
        assert np.diff(x)[0] <= 2 * (grid[1] - grid[0])


class TestStored:
    def test_reads_what_is_there(self, data_folder):
        truth = stored_truth("multisensory_s1", NAMES)
        content = json.loads((data_folder / "truth.json").read_text())["multisensory_s1"]
        assert truth.log_evidence == content["lnZ"]
        assert truth.log_evidence_checked == content["lnZ_check"]["lnZ"]
        assert truth.log_evidence_error == content["lnZ_check"]["standard_error"]
        assert truth.on_box
        assert truth.estimator is density_on_box
        for i, marginal in enumerate(truth.marginals):
            assert (marginal.lower, marginal.upper) == (content["LB"][i], content["UB"][i])
            assert len(marginal.grid) == 8192

    @pytest.fixture
    def copy(self, data_folder, tmp_path, monkeypatch):
        """A folder with copies of the truth that can be damaged."""
        for name in ("truth.json", "truth_marginals.npz"):
            (tmp_path / name).write_bytes((data_folder / name).read_bytes())
        monkeypatch.setenv("QUELL_DATA", str(tmp_path))
        return tmp_path

    def test_missing_and_damaged_files(self, copy):
        assert stored_truth("multisensory_s1", NAMES).mean.shape == (6,)
        with pytest.raises(BenchError, match=r"truth\.json has no usable entry .* not \['a'"):
            stored_truth("multisensory_s1", ["a", *NAMES[1:]])
        with pytest.raises(BenchError, match="no usable entry for multisensory_s1"):
            stored_truth("multisensory_s1", NAMES[:5])
        with pytest.raises(BenchError, match="'none' is missing"):
            stored_truth("none", NAMES)
        content = json.loads((copy / "truth.json").read_text())
        del content["multisensory_s1"]["lnZ_check"]
        (copy / "truth.json").write_text(json.dumps(content))
        with pytest.raises(BenchError, match="'lnZ_check' is missing"):
            stored_truth("multisensory_s1", NAMES)
        (copy / "truth.json").write_text('{"multisensory_s1": ')
        with pytest.raises(BenchError, match=r"cannot read .*truth\.json"):
            stored_truth("multisensory_s1", NAMES)

    def test_missing_and_damaged_marginals(self, copy):
        path = copy / "truth_marginals.npz"
        with pytest.raises(BenchError, match="have shapes"):
            stored_marginals("multisensory_s1", 5)
        with pytest.raises(BenchError, match="cannot read the marginals of none"):
            stored_marginals("none", 6)
        for damaged in (path.read_bytes()[:5000], b"", b"no archive"):
            path.write_bytes(damaged)
            with pytest.raises(BenchError, match=r"truth_marginals\.npz"):
                stored_truth("multisensory_s1", NAMES)
        path.unlink()
        with pytest.raises(BenchError, match=r"there is no truth_marginals\.npz"):
            stored_truth("multisensory_s1", NAMES)
