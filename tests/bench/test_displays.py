"""Figures and table 1 from a handful of made-up rows: what is in them, and what they say of it."""

import json

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt

from quell.bench.compact import compact_draws
from quell.bench.displays.along import along_runs
from quell.bench.displays.bands import Band
from quell.bench.displays.drawn import Material, NotMade
from quell.bench.displays.looks import GSKL, LESIONED, LESIONS, LML, LOOKS, MAIN, MMTV, PROBLEMS
from quell.bench.displays.making import DISPLAYS, make_displays, read_material
from quell.bench.displays.noise import against_levels, jitter_level, noise_level
from quell.bench.displays.overhead import overhead_table
from quell.bench.displays.posteriors import marginals, pairs
from quell.bench.displays.scores import scores_along
from quell.bench.displays.selection import paper_runs
from quell.bench.implied import implied_truth
from quell.bench.metrics import bootstrap_interval, quantile
from quell.cli import main

TRUE_EVIDENCE = -2.0


@pytest.fixture(autouse=True)
def _close():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def row(seed=0, *, trace=True, **fields):
    """A finished run of the timing problem whose scores improve along the way."""
    offset = 0.1 + 0.01 * seed
    record = {
        "problem": "timing", "dim": 5, "algorithm": "quell", "mode": "exact", "noise": 2.2,
        "noise_jitter": 0.0, "budget": 350, "stop_early": False, "seed": seed, "fast": False,
        "data": "real", "lml_loss": offset + 0.5, "lml_loss_checked": offset, "gskl": 2 * offset,
        "mmtv": offset / 2, "log_evidence": TRUE_EVIDENCE + offset, "log_evidence_sd": 0.1,
        "evaluations": 350, "overhead_cpu_seconds_per_evaluation": 0.05, "commit": "abc1234",
    }  # fmt: skip
    if trace:
        record["trace"] = [
            {"evaluations": n, "lml_loss": 9.0, "gskl": 100 / n, "mmtv": 10 / n,
             "elbo": TRUE_EVIDENCE - 70 / n, "elbo_sd": 0.1}
            for n in (70, 140, 350)
        ]  # fmt: skip
    return {**record, **fields}


def line(ax, gid):
    """The line of this name in a panel, as points."""
    (found,) = (artist for artist in ax.lines if artist.get_gid() == gid)
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def names_of(ax):
    return [artist.get_gid() for artist in ax.lines]


def draw_mmtv(records, metrics=(MMTV,), algorithms=MAIN, **options):
    return along_runs(Material(records), metrics, ["timing", "rodent"], algorithms, **options)


class TestAlongRuns:
    def test_median_target_and_returned_value(self):
        drawn = draw_mmtv([row(seed) for seed in range(5)])
        (ax,) = drawn.figure.axes
        x, y = line(ax, "curve quell")
        assert x[-1] == 350
        # Nothing was known before 70 evaluations; then 10 / n of the last checkpoint.
        assert x[0] == pytest.approx(350 * 3 / 12, abs=1)
        assert y[0] == pytest.approx(10 / 70)
        assert y[-1] == pytest.approx(10 / 350)
        assert line(ax, "end quell")[1][0] == pytest.approx(0.12 / 2)
        assert line(ax, "target")[1][0] == 0.2
        assert "n = 5" in ax.get_title()
        assert "Timing, SD 2.2" in ax.get_title()
        assert (drawn.rows, drawn.panels) == (5, 1)
        assert ax.get_xlabel() == "evaluations"
        assert ax.get_ylabel() == "MMTV"

    def test_problems_without_runs_are_named_not_drawn(self):
        drawn = draw_mmtv([row()])
        assert len(drawn.figure.axes) == 1
        assert drawn.left_out == ("Rodent (no full runs)",)
        with pytest.raises(NotMade, match="no full runs"):
            draw_mmtv([row(budget=100), row(stop_early=True), row(noise=3.0)])

    def test_traces_say_what_they_are(self):
        old, new = draw_mmtv([row()]), draw_mmtv([row(trace_kind="as returned")])
        for drawn, words, other in (
            (old, "as the run went", "boosted"),
            (new, "boosted at each checkpoint", "as the run"),
        ):
            assert words in drawn.caption
            assert other not in drawn.caption
            assert words in drawn.figure.get_supxlabel()
        both = draw_mmtv([row(), row(1, algorithm="viqr", trace_kind="as returned")])
        assert "Curves of VBMC-VIQR are scored boosted" in both.caption
        assert "Curves of Quell are scored as the run went" in both.caption

    def test_rows_without_a_trace_have_a_marker_only(self):
        drawn = draw_mmtv([row(), row(algorithm="viqr", trace=False)])
        (ax,) = drawn.figure.axes
        assert "end viqr" in names_of(ax)
        assert "curve viqr" not in names_of(ax)
        assert "for want of a trace: VBMC-VIQR" in drawn.caption

    def test_mixed_versions_are_marked(self):
        same = draw_mmtv([row(0), row(1)])
        mixed = draw_mmtv([row(0), row(1, commit="fff0000")])
        assert "MIXED" not in same.figure.axes[0].get_title() + same.caption
        assert "MIXED" in mixed.figure.axes[0].get_title()
        assert "MIXED: quell 1 of abc1234, 1 of fff0000" in mixed.caption

    def test_two_counts_are_named_and_more_are_in_the_order_of_the_legend(self):
        two = draw_mmtv([row(0), row(1), row(0, algorithm="viqr")])
        assert "n = 2 Quell, 1 VIQR" in two.figure.axes[0].get_title()
        three = draw_mmtv([row(0), row(1), row(0, algorithm="viqr"), row(0, algorithm="eig")])
        assert "n = 2, 1, 1" in three.figure.axes[0].get_title()
        rodent = {"problem": "rodent", "dim": 9, "budget": 550, "noise": 3.18}
        runs = [row(0), row(1), row(0, algorithm="viqr"), row(0, algorithm="eig", **rodent)]
        drawn = along_runs(Material(runs), (MMTV,), ["timing", "rodent"], MAIN)
        titles = [ax.get_title().splitlines()[1] for ax in drawn.figure.axes]
        assert titles == ["n = 2, 1, –", "n = –, –, 1"]

    def test_algorithms_without_runs_are_named(self):
        drawn = draw_mmtv([row()], algorithms=("quell", "viqr", "wsabi"))
        words = "Without runs, or without this metric: VBMC-VIQR."
        assert words in drawn.caption
        assert words in drawn.figure.get_supxlabel().replace("\n", " ")
        assert "Without" not in draw_mmtv([row()], algorithms=("quell",)).caption

    def test_the_evidence_is_compared_with_the_checked_truth(self):
        (ax,) = draw_mmtv([row(0), row(1)], metrics=(LML,)).figure.axes
        assert line(ax, "curve quell")[1][-1] == pytest.approx(70 / 350)
        assert line(ax, "end quell")[1][0] == pytest.approx(0.105)

    def test_failed_runs_count_as_infinite(self):
        failed = {k: v for k, v in row(9).items() if k not in ("mmtv", "gskl", "trace")}
        runs = [row(0), {**failed, "error": "ValueError: no"}, {**failed, "seed": 10, "error": "x"}]
        (ax,) = draw_mmtv(runs).figure.axes
        assert "end quell" not in names_of(ax)
        assert line(ax, "curve quell")[0].size == 0
        assert "n = 3" in ax.get_title()

    def test_metrics_that_were_not_asked_for(self):
        runs = [row(), row(algorithm="wsabi"),
                row(algorithm="gp-imiqr", evidence_method="none", lml_loss="nan")]  # fmt: skip
        posterior, evidence = (draw_mmtv(runs, (metric,)).figure.axes[0] for metric in (MMTV, LML))
        assert "end wsabi" not in names_of(posterior)
        assert "end gp-imiqr" in names_of(posterior)
        assert "end wsabi" in names_of(evidence)
        assert "end gp-imiqr" not in names_of(evidence)
        assert draw_mmtv(runs, (LML,)).rows == 2

    def test_bad_cases_are_the_90_per_cent_quantile(self):
        runs = [row(seed) for seed in range(11)]
        (ax,) = draw_mmtv(runs, p=0.9).figure.axes
        assert line(ax, "end quell")[1][0] == pytest.approx((0.1 + 0.09) / 2)
        assert "90 % quantile" in ax.get_ylabel()

    def test_lesions_need_a_lesion(self):
        with pytest.raises(NotMade, match="nowv, map, old"):
            draw_mmtv([row(algorithm="viqr")], algorithms=LESIONED, needs=LESIONS)
        drawn = draw_mmtv([row(algorithm="map")], algorithms=LESIONED, needs=LESIONS)
        assert "curve map" in names_of(drawn.figure.axes[0])

    def test_three_metrics_of_one_problem(self):
        drawn = along_runs(
            Material([row(problem="gandk", dim=4, budget=300, mode="noisy", noise=None)]),
            (LML, MMTV, GSKL), ["gandk"], MAIN,
        )  # fmt: skip
        assert [ax.get_ylabel() for ax in drawn.figure.axes] == ["LML loss", "MMTV", "gsKL"]
        assert drawn.rows == 1


def test_settings_are_not_mixed_within_a_panel():
    emulated = [row(seed) for seed in range(3)]
    own = [row(seed, mode="noisy", noise=None) for seed in range(2)]
    simulated = [row(seed, data="simulated") for seed in range(2)]
    assert paper_runs([*own, *emulated, *simulated], "timing") == emulated


def test_every_algorithm_looks_its_own_way():
    assert len({(look.colour, str(look.line)) for look in LOOKS.values()}) == len(LOOKS)
    for figure in (MAIN, LESIONED):
        assert len({LOOKS[name].colour for name in figure}) == len(figure)
        assert len({LOOKS[name].marker for name in figure}) == len(figure)


def test_bands_agree_with_the_tables():
    values = np.random.default_rng(1).gamma(2.0, size=(25, 2))
    band = Band.of(values)
    for column in range(2):
        assert band.middle[column] == quantile(values[:, column], 0.5)
        # Ends are values of runs, or between two: other resamples may choose the next one.
        ordered = np.sort(values[:, column])
        for end, expected in zip(
            (band.low[column], band.high[column]), bootstrap_interval(ordered), strict=True
        ):
            assert abs(np.searchsorted(ordered, end) - np.searchsorted(ordered, expected)) <= 1
    lost = Band.of(np.array([[1.0], [2.0], [np.inf]]))
    assert (lost.middle[0], lost.high[0]) == (2.0, np.inf)
    assert Band.of(values, 0.9).middle[0] == quantile(values[:, 0], 0.9)


def test_the_side_of_the_true_evidence_is_told_by_two_runs():
    runs = [row(0), row(1)]
    assert implied_truth(runs, "lml_loss_checked") == pytest.approx(TRUE_EVIDENCE)
    assert implied_truth(runs[:1], "lml_loss_checked") is None
    # Without it the loss is the one on record.
    assert scores_along(runs[:1], LML, [350])[0, 0] == 9.0


class TestAgainstNoise:
    def draw(self, records, level=noise_level):
        return against_levels(Material(records), level, ("quell", "viqr"), "noise SD", "the noise")

    def test_levels_in_order_and_counts(self):
        drawn = self.draw([row(s, noise=sd) for sd in (7.0, None, 2.2) for s in range(3)])
        above, below = drawn.figure.axes
        x, y = line(above, "curve quell")
        assert list(x) == [0.0, 2.2, 7.0]
        assert y == pytest.approx(0.11)
        assert line(below, "target")[1][0] == 0.2
        assert "n = 3 each" in above.get_title()
        assert drawn.rows == 9
        assert [text.split(" (")[0] for text in drawn.left_out] == [
            "Multisensory S1",
            "Neuronal V1",
        ]

    def test_mixed_versions_across_levels(self):
        drawn = self.draw([row(noise=1.0), row(noise=3.0, commit="other")])
        assert all("MIXED" in ax.get_title() for ax in drawn.figure.axes)

    def test_an_algorithm_at_one_level_is_left_out(self):
        runs = [row(noise=sd) for sd in (1.0, 2.2)] + [row(algorithm="viqr")]
        drawn = self.draw(runs)
        assert not any("viqr" in name for name in names_of(drawn.figure.axes[0]))
        assert drawn.rows == 2

    def test_one_level_is_no_figure(self):
        with pytest.raises(NotMade, match="two levels"):
            self.draw([row(), row(1), row(noise_jitter=0.4)])

    def test_jitter(self):
        drawn = self.draw(
            [row(noise=2.0, noise_jitter=j) for j in (0.0, 0.2, 0.4)] + [row(noise_jitter=0.8)],
            jitter_level,
        )
        assert list(line(drawn.figure.axes[0], "curve quell")[0]) == [0.0, 0.2, 0.4]


class TestPosteriors:
    NAMES = ("a", "b", "c", "d", "e")

    def run(self, seed, **fields):
        draws = np.random.default_rng(seed).normal(size=(200, 5))
        return row(seed, posterior=compact_draws(self.NAMES, draws), **fields)

    def test_a_typical_run_beside_the_truth(self):
        runs = [self.run(seed) for seed in range(5)]
        truth = {"names": list(self.NAMES), "draws": np.random.default_rng(9).normal(size=(300, 5))}
        material = Material(runs, truths={("timing", "real"): truth})
        drawn = pairs(material, "quell")
        assert "seed 2" in drawn.caption
        assert drawn.rows == 5
        with pytest.raises(NotMade, match="no runs of viqr"):
            pairs(material, "viqr")
        with pytest.raises(NotMade, match="no file with draws"):
            pairs(Material(runs), "quell")
        other = {("timing", "real"): {**truth, "names": list("vwxyz")}}
        with pytest.raises(NotMade, match="other parameters"):
            pairs(Material(runs, truths=other), "quell")

    def test_marginals_of_five_runs(self, monkeypatch):
        monkeypatch.delenv("QUELL_DATA", raising=False)
        runs = [self.run(seed, data="simulated") for seed in range(7)]
        drawn = marginals(Material(runs), "quell", ["timing", "rodent"])
        assert len(drawn.figure.axes) == 5
        assert names_of(drawn.figure.axes[0]) == ["run"] * 5 + ["truth"]
        assert "5 of n = 7" in drawn.figure.axes[0].get_ylabel()
        assert "those of 5 runs of Quell" in drawn.caption
        more = marginals(Material([*runs, row(8, data="simulated")]), "quell", ["timing"])
        assert "5 of n = 8" in more.figure.axes[0].get_ylabel()
        one = marginals(Material([*runs[:1], row(8, data="simulated")]), "quell", ["timing"])
        assert "1 of n = 2" in one.figure.axes[0].get_ylabel()
        assert "those of 1 run of Quell" in one.caption
        assert drawn.left_out == ("Rodent (no runs of quell with posteriors)",)

    def test_real_data_that_are_not_here(self, monkeypatch):
        monkeypatch.delenv("QUELL_DATA", raising=False)
        with pytest.raises(NotMade, match="QUELL_DATA is not set"):
            marginals(Material([self.run(0)]), "quell", ["timing"])


class TestOverhead:
    def test_ratios_are_over_common_seeds(self):
        side = {"cpu": "Some CPU", "engine": "e1"}
        slow = {"algorithm": "viqr", "overhead_cpu_seconds_per_evaluation": 0.15}
        slower = {**slow, "overhead_cpu_seconds_per_evaluation": 0.35}
        runs = [row(0, **slow, **side), row(7, **slower, **side)]  # nothing has seed 7 with it
        made = overhead_table([row(0, **side), row(1, **side), *runs])
        assert "0.250 ± 0.141 (n 2; 3.0×)" in made.text
        assert "0.050 ± 0.000 (n 2)" in made.text
        assert "CPU: Some CPU" in made.text
        assert "side by side" in made.text
        assert "NOT" not in made.text
        assert made.markdown.startswith("| algorithm | Ricker |")
        assert made.rows == 4
        assert made.left_out == ("VBMC-IMIQR (no rows)", "GP-IMIQR (no rows)", "PyVBMC (no rows)")

    def test_rows_that_cannot_be_compared_say_so(self):
        made = overhead_table([row(0, cpu="A"), row(1, cpu="B", commit="other")])
        assert "NOT SIDE BY SIDE" in made.text
        assert "one and the same processor and they are of 2 versions" in made.text
        with pytest.raises(NotMade, match="no full runs"):
            overhead_table([row(problem="banana")])


class TestCommand:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "runs.jsonl"
        path.write_text("".join(json.dumps(row(seed)) + "\n" for seed in range(3)))
        return str(path)

    def test_files_report_and_captions(self, file, tmp_path, capsys):
        out = tmp_path / "new" / "folder"
        options = ["--out", str(out), "--format", "png", "svg", "pdf", "--only", "figure3", "table"]
        assert main(["bench", "figures", file, *options]) == 0
        text = capsys.readouterr().out
        assert "figure3: 1 panel from 3 rows: figure3.png, figure3.svg, figure3.pdf" in text
        assert "left out: Ricker (no full runs); aDDM S1" in text
        assert "2 displays" in text
        assert {path.name for path in out.iterdir()} == {
            "figure3.png", "figure3.svg", "figure3.pdf", "table1.txt", "table1.md", "captions.md",
        }  # fmt: skip
        assert "**figure3" in (out / "captions.md").read_text()
        first = (out / "figure3.svg").read_bytes()
        assert main(["bench", "figures", file, *options]) == 0
        assert (out / "figure3.svg").read_bytes() == first

    def test_what_is_missing_is_said(self, file, tmp_path, capsys):
        out = ["--out", str(tmp_path / "f"), "--format", "svg", "--width", "column"]
        only = ["--only", "figure1", "figure2", "figure4", "figureS6", "figureS5-viqr"]
        assert main(["bench", "figures", file, *out, *only]) == 0
        text = capsys.readouterr().out
        assert "figure1: not made, no saved results" in text
        assert "figure4: not made, no algorithm has runs at two levels" in text
        assert "figureS6: not made" in text
        assert "figureS5-viqr: not made" in text

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["missing.jsonl"], "cannot read missing.jsonl"),
            (["runs.jsonl", "--only", "figure1"], "nothing can be made"),
            (["runs.jsonl", "--only", "nothing"], "there is no display called nothing"),
            (["runs.jsonl", "--width", "0.1"], "inches from 2 to 40"),
            (["runs.jsonl", "draws.json"], "it has no draws"),
            (["runs.jsonl", "broken.quell"], "broken.quell"),
        ],
    )
    def test_one_line_errors(self, arguments, words, file, tmp_path, capsys, monkeypatch):  # noqa: ARG002
        monkeypatch.chdir(tmp_path)
        (tmp_path / "draws.json").write_text("{}")
        (tmp_path / "broken.quell").write_text("no")
        try:
            code = main(["bench", "figures", *arguments, "--out", "out"])
        except SystemExit as error:
            code = error.code
        assert code == 2
        message = capsys.readouterr().err
        assert words in message
        assert message.count("\n") == 1

    def test_a_folder_that_cannot_be_made(self, file, tmp_path, capsys):
        (tmp_path / "taken").touch()
        assert main(["bench", "figures", file, "--out", str(tmp_path / "taken")]) == 2
        assert "cannot make the folder" in capsys.readouterr().err

    def test_rows_without_scores_are_not_for_figures(self, tmp_path):
        path = tmp_path / "other.jsonl"
        other = {k: v for k, v in row().items() if k != "mmtv"}
        path.write_text(json.dumps(other) + "\n")
        assert read_material([path]).records == []


def test_displays_are_those_of_the_paper():
    names = {display.name.split("-")[0] for display in DISPLAYS}
    assert names == {f"figure{n}" for n in (1, 2, 3, 4, *(f"S{i}" for i in range(1, 8)))}
    assert len(PROBLEMS) == 9


def test_figure_1_from_the_committed_results(tmp_path, illustrations):
    report = make_displays(
        read_material(illustrations), tmp_path, formats=["svg"], only=["figure1"]
    )
    assert report.lines == ["figure1: 4 panels from 2 saved results: figure1.svg"]
    text = (tmp_path / "figure1.svg").read_text()
    assert all(words in text for words in ("VBMC-NPRO, 100 evals", "VBMC-VIQR, 100 evals", "C"))
    assert "seed 1" in report.captions[0]


@pytest.fixture(scope="module")
def illustrations():
    benchmarks = pytest.importorskip("helpers.benchmarks")
    files = sorted((benchmarks.FOLDER / "results" / "illustrations").glob("*.quell"))
    if not files:
        pytest.skip("the benchmarks are not part of this source tree")
    return files
