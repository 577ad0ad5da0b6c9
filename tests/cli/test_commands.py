"""Commands about runs: show, check, export, compare, and what all commands share."""

import csv
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from helpers.problems import make, normal, run

import quell
from quell.cli.parser import COMMANDS, build_parser
from quell.journal import read_journal

#: CPU seconds that help may take, and showing a small file; ten and four times what they do take.
QUICK_START, QUICK_SHOW = 0.6, 6.0


def cpu_seconds(*arguments):
    """CPU time of the command in a process of its own."""
    program = (
        "import sys, time\nfrom quell.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(time.process_time(), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(done.stderr.splitlines()[-1]), done.stdout


def commands(parser, path=()):
    """All commands of a parser, as lists of words."""
    yield path
    for action in parser._actions:
        if hasattr(action, "_name_parser_map"):
            for name, child in action.choices.items():
                yield from commands(child, (*path, name))


class TestAllCommands:
    @pytest.mark.parametrize("path", list(commands(build_parser())), ids=" ".join)
    def test_help(self, call, path):
        code, out, err = call(*path, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: {' '.join(['quell', *path])}")
        assert max(map(len, out.splitlines())) < 130

    def test_help_teaches_by_examples_that_parse(self, call):
        parser, seen = build_parser(), 0
        for name in ("", *(module.__name__.rpartition(".")[2] for module in COMMANDS)):
            _, out, _ = call(*name.split(), "--help")
            assert "examples:" in out
            for line in out.split("examples:")[1].splitlines():
                words = line.split()
                if words[:1] == ["quell"] and "COMMAND" not in words and "&&" not in words:
                    command = (
                        line.strip().split("  ")[0].replace("'", "").replace('"subject 3"', "s")
                    )
                    parser.parse_args(command.split()[1:])
                    seen += 1
        assert seen > 20

    def test_exit_codes_are_in_the_help(self, call):
        _, out, _ = call("--help")
        for text in ("exit codes:", "0    done", "2    the request", "130  interrupted"):
            assert text in out

    def test_start_is_quick(self):
        seconds, out = cpu_seconds("--help")
        assert "examples:" in out
        assert seconds < QUICK_START

    def test_show_is_quick_enough(self, saved):
        seconds, out = cpu_seconds("show", saved)
        assert "log evidence" in out
        assert seconds < QUICK_SHOW

    @pytest.mark.parametrize("command", ["show", "check", "compare", "watch"])
    @pytest.mark.parametrize(
        "content", [None, b"", b"thesis", b"PK\3\4", b"SQLite format 3\0", "/"]
    )
    def test_what_is_no_run_gets_one_line(self, command, content, tmp_path, refused):
        path = tmp_path / "thing"
        if content == "/":
            path.mkdir()
        elif content is not None:
            path.write_bytes(content)
        assert "thing" in refused(command, path)

    def test_a_fault_of_the_program_is_not_hidden(self, call, monkeypatch, saved):
        def broken(_):
            raise ValueError("a bug")

        monkeypatch.setattr("quell.loading.show.show", broken)
        with pytest.raises(ValueError, match="a bug"):
            call("show", saved)

    def test_interrupts(self, call, monkeypatch, saved):
        def interrupted(_):
            raise KeyboardInterrupt

        monkeypatch.setattr("quell.loading.show.show", interrupted)
        assert call("show", saved) == (130, "", "quell: interrupted\n")


class TestCheck:
    def test_the_exit_code_is_the_answer(self, call, saved, result):
        code, out, _ = call("check", saved, "--more", 50)
        assert code == (0 if result.check().usable else 1)
        assert out == f"{result.check(50)}\n"

    @pytest.mark.parametrize(("answer", "code"), [("usable", 0), ("not yet", 1), ("no", 1)])
    def test_every_answer(self, call, saved, monkeypatch, answer, code):
        from quell.diagnostics.check import Answer, Check

        check = Check(Answer(answer), (), (), None, None)
        monkeypatch.setattr("quell.results.result.check", lambda *_: check)
        assert call("check", saved, "--quiet") == (code, f"{answer}\n", "")

    def test_a_run_of_a_study(self, call, refused, study):
        assert "4 runs of the study fit" in refused("check", study)
        assert "no such run; its problems are 's1/a', 's1/b'" in refused(
            "check", study, "--problem", "z"
        )
        code, out, _ = call("check", study, "--problem", "s1/a", "--seed", 5002)
        assert code == 1
        assert out.startswith("Can I believe this?  NOT YET")

    def test_bad_options(self, refused, saved):
        assert "--more" in refused("check", saved, "--more", 0)
        assert "single run" in refused("check", saved, "--seed", 3)


class TestExport:
    def read(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.reader(file))

    def test_draws(self, call, saved, result, tmp_path):
        out = tmp_path / "draws.csv"
        code, text, _ = call("export", saved, out, "--draws", 50, "--rng", 3)
        assert (code, text) == (0, f"50 draws of 2 parameters: {out}\n")
        header, *rows = self.read(out)
        assert header == ["shift", "scale"]
        expected = result.posterior.sample(50, np.random.default_rng(3))
        np.testing.assert_array_equal(np.array(rows, dtype=float), expected)
        assert [path.name for path in tmp_path.iterdir()] == ["draws.csv"]

    def test_evaluations_come_back_bit_for_bit(self, call, saved, result, tmp_path):
        out = tmp_path / "all.csv"
        assert call("export", saved, out, "--what", "evaluations")[0] == 0
        again = quell.Evaluations.from_csv(out)
        np.testing.assert_array_equal(again.theta, result.evaluations.theta)
        np.testing.assert_array_equal(again.value, result.evaluations.value)

    def test_evaluations_of_a_journal_without_a_result(self, call, tmp_path):
        journal = tmp_path / "a.quelljournal"
        with quell.Sampler(make(normal, noise="exact"), seed=1, journal=journal) as sampler:
            sampler.tell(points := sampler.ask(3), [normal(x) for x in points])
        out = tmp_path / "all.csv"
        assert call("export", journal, out, "--what", "evaluations")[0] == 0
        assert len(self.read(out)) == 4
        assert len(read_journal(journal).evaluations) == 3

    def test_summary_and_runs(self, call, refused, saved, study, result, tmp_path):
        assert call("export", saved, tmp_path / "s.csv", "--what", "summary")[0] == 0
        rows = self.read(tmp_path / "s.csv")
        assert rows[0] == ["parameter", "mean", "sd", "2.5 %", "median", "97.5 %"]
        assert float(rows[1][1]) == result.posterior.mean()[0]
        assert call("export", study, tmp_path / "r.csv", "--what", "runs")[0] == 0
        assert len(self.read(tmp_path / "r.csv")) == 5
        assert "for a study" in refused("export", saved, tmp_path / "x.csv", "--what", "runs")
        one = ("--problem", "s1/a", "--seed", 5001)
        assert call("export", study, tmp_path / "d.csv", *one)[0] == 0

    def test_netcdf(self, call, saved, tmp_path):
        xarray = pytest.importorskip("xarray")
        pytest.importorskip("h5netcdf")
        out = tmp_path / "fit.nc"
        assert call("export", saved, out, "--draws", 20)[0] == 0
        with xarray.open_datatree(out, engine="h5netcdf") as tree:
            assert tree["posterior"]["shift"].shape == (4, 20)

    def test_a_missing_package_is_one_line(self, refused, saved, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "h5netcdf", None)
        assert "pip install 'quell[arviz]'" in refused("export", saved, tmp_path / "a.nc")
        assert not list(tmp_path.iterdir())

    def test_files_are_replaced_only_when_told(self, call, refused, saved, tmp_path):
        out = tmp_path / "draws.csv"
        out.write_text("mine")
        assert "--force replaces it" in refused("export", saved, out)
        assert out.read_text() == "mine"
        assert call("export", saved, out, "--force")[0] == 0
        assert out.read_text() != "mine"

    def test_bad_requests(self, refused, saved, tmp_path):
        assert ".csv or .nc" in refused("export", saved, tmp_path / "draws.xlsx")
        assert "cannot write" in refused("export", saved, tmp_path / "no" / "such.csv")
        assert "folder" in refused("export", saved, tmp_path.rename(tmp_path.with_suffix(".csv")))
        new = tmp_path.with_suffix(".csv") / "a.csv"
        assert "--draws" in refused("export", saved, new, "--draws", 0)
        assert "--draws" in refused("export", saved, new, "--draws", 5, "--what", "summary")
        assert "--rng" in refused("export", saved, new, "--rng", -1)
        assert "--what is for CSV" in refused("export", saved, new.with_suffix(".nc"),
                                             "--what", "draws")  # fmt: skip
        assert not new.exists()

    def test_names_are_never_formulas(self, call, tmp_path):
        target = make(normal, noise="exact", names=["=1+1"])
        path = tmp_path / "a.quell"
        run(target).save(path)
        assert call("export", path, tmp_path / "a.csv")[0] == 0
        assert self.read(tmp_path / "a.csv")[0] == ["'=1+1"]


class TestCompare:
    def test_two_models_with_several_runs(self, call, study):
        journals = {path.name[:6] + path.stem[-1]: path for path in study.glob("*.quelljournal")}
        assert len(journals) == 4
        named = [f"{'A' if '%2Fa' in p.name else 'B'}={p}" for p in journals.values()]
        code, out, _ = call("compare", *sorted(named))
        assert code == 0
        assert "log BF to best" in out
        assert " 2" in out

    def test_one_study_and_json(self, call, study):
        code, out, _ = call("compare", study, "--json")
        assert code == 0
        figures = json.loads(out)
        assert figures["models"] == ["s1/a", "s1/b"]
        assert call("compare", study, "--names", "{subject}/{model}")[0] == 0

    def test_prior_and_names_of_files(self, call, refused, study, tmp_path):
        first, second = sorted(study.glob("*seed5001.quelljournal"))
        for name, path in (("a", first), ("b", second)):
            (tmp_path / f"{name}.quelljournal").write_bytes(path.read_bytes())
        pair = tmp_path / "a.quelljournal", tmp_path / "b.quelljournal"
        code, out, _ = call("compare", *pair, "--prior", "a=0.999999", "b=0.000001", "--json")
        assert code == 0
        assert json.loads(out)["models"] == ["a", "b"]
        assert "NAME=PROBABILITY" in refused("compare", *pair, "--prior", "a=x")
        assert "for every model" in refused("compare", *pair, "--prior", "a=0.5")

    def test_bad_requests(self, refused, saved, study):
        assert "at least two models" in refused("compare", saved)
        assert "NAME=RUN" in refused("compare", f"={saved}", saved)
        assert "give it once" in refused("compare", f"A={saved}", f"A={study}")
        assert "there is no file" in refused("compare", "A=none.quell", f"B={saved}")


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_the_script_knows_every_command_and_option(self, call, shell):
        code, script, _ = call("completion", shell)
        assert code == 0
        for word in ("show", "watch", "export", "figures", "once", "first-seed", "zsh"):
            assert word in script

    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("quell ", {"show", "watch", "bench", "--version"}),
            ("quell sh", {"show"}),
            ("quell bench ", {"list", "run", "table", "figures"}),
            ("quell bench run --fi", {"--first-seed"}),
            ("quell export --w", {"--what"}),
            ("quell completion ", {"bash", "zsh", "fish"}),
        ],
    )
    def test_bash_completes(self, call, tmp_path, typed, expected):
        if not shutil.which("bash"):
            pytest.skip("bash is not installed")
        _, script, _ = call("completion", "bash")
        words = typed.split(" ")
        program = (
            f"{script}\nCOMP_WORDS=({' '.join(words[:-1])} '{words[-1]}')\n"
            f"COMP_CWORD={len(words) - 1}\n_quell\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(
            ["bash", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True
        )
        assert done.stderr == ""
        found = set(done.stdout.split())
        assert expected <= found
        assert all(word.startswith(words[-1]) for word in found)


def test_names_are_imported_when_they_are_used():
    program = (
        "import sys, quell\nassert 'numpy' not in sys.modules\n"
        "import quell.infer, quell.study\n"
        "assert callable(quell.infer) and callable(quell.study)\n"
        "from quell import infer, study\nassert infer is quell.infer\n"
        "assert set(quell.__all__) <= set(dir(quell))\n"
        "assert all(getattr(quell, name) is not None for name in quell.__all__)\n"
        "assert quell.acquisition.WIQR and not hasattr(quell, 'nonsense')\n"
        "quell.infer = 5\nassert quell.infer == 5\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
