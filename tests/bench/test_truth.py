import json
from dataclasses import dataclass

import numpy as np
import pytest

from quell.bench import BenchError
from quell.bench.density import density_on_box
from quell.bench.truth import shipped
from quell.bench.truth.stored import stored_marginals, stored_truth

NAMES = ["sigma_vis_1", "sigma_vis_2", "sigma_vis_3", "sigma_vest", "lambda", "kappa"]


@dataclass(frozen=True)
class Observed:
    counts: np.ndarray
    nested: tuple


class TestChecksum:
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
