"""All displays from files of rows and saved results: written to a folder, with a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from quell.bench.displays.along import WORSE, along_runs
from quell.bench.displays.drawn import Drawn, Material, NotMade
from quell.bench.displays.illustration import illustration
from quell.bench.displays.looks import GSKL, LESIONED, LESIONS, LML, MAIN, MMTV, PROBLEMS
from quell.bench.displays.noise import against_levels, jitter_level, noise_level
from quell.bench.displays.overhead import overhead_table
from quell.bench.displays.posteriors import MARGINAL_PROBLEMS, marginals, pairs
from quell.bench.problems.base import BenchError
from quell.bench.records import read_records
from quell.errors import FileError
from quell.loading import load
from quell.plots.style import pyplot
from quell.results import Result
from quell.text import printable

FORMATS = ("png", "svg", "pdf")
#: Dots per inch of png files.
DPI = 200
CAPTIONS, TABLE = "captions.md", "table1"

Make = Callable[[Material], Drawn]


@dataclass(frozen=True)
class Display:
    """A figure of the paper: its file name, what it shows, and the function that draws it."""

    name: str
    title: str
    make: Make


DISPLAYS = (
    Display("figure1", "Noisy inference on a target in two dimensions", illustration),
    Display("figure2", "Loss of the log evidence",
            partial(along_runs, metrics=(LML,), problems=tuple(PROBLEMS), algorithms=MAIN)),
    Display("figure3", "Loss of the posterior (MMTV)",
            partial(along_runs, metrics=(MMTV,), problems=tuple(PROBLEMS), algorithms=MAIN)),
    Display("figure4", "Sensitivity to noise",
            partial(against_levels, level=noise_level, algorithms=MAIN,
                    x="noise SD", what="the SD of the noise")),
    Display("figureS1", "Loss of the posterior (gsKL)",
            partial(along_runs, metrics=(GSKL,), problems=tuple(PROBLEMS), algorithms=MAIN)),
    Display("figureS2", "Bad cases (90 % quantile of MMTV)",
            partial(along_runs, metrics=(MMTV,), problems=tuple(PROBLEMS), algorithms=MAIN,
                    p=WORSE)),
    Display("figureS3", "Lesion study (MMTV)",
            partial(along_runs, metrics=(MMTV,), problems=tuple(PROBLEMS), algorithms=LESIONED,
                    needs=LESIONS)),
    *(Display(f"figureS4-{name}", f"True and approximate marginals ({name})",
              partial(marginals, algorithm=name, problems=MARGINAL_PROBLEMS))
      for name in ("viqr", "quell")),
    *(Display(f"figureS5-{name}", f"True and approximate posterior of Timing ({name})",
              partial(pairs, algorithm=name))
      for name in ("viqr", "quell")),
    Display("figureS6", "Sensitivity to imprecise estimates of the noise",
            partial(against_levels, level=jitter_level, algorithms=("quell", "viqr"),
                    x="log-SD of the reported SD", what="the imprecision of reported noise SDs")),
    Display("figureS7", "g-and-k model",
            partial(along_runs, metrics=(LML, MMTV, GSKL), problems=("gandk",), algorithms=MAIN)),
)  # fmt: skip


@dataclass
class Report:
    """What was made, and what was not: lines for the terminal, and captions as Markdown."""

    made: int = 0
    lines: list[str] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)


def read_material(files: Iterable[str | Path], width: float | str = "full") -> Material:
    """Rows (.jsonl), saved results (.quell) and draws from true posteriors (.json) in files."""
    rows: list[str | Path] = []
    results: dict[str, Result] = {}
    truths: dict[tuple[str, str], dict[str, Any]] = {}
    for file in files:
        suffix = Path(file).suffix
        if suffix == ".quell":
            found = load(file)
            if not isinstance(found, Result):
                raise FileError(f"{file} is not a saved result")
            results[Path(file).stem] = found
        elif suffix == ".json":
            truth = _read_draws(Path(file))
            truths[truth["problem"], truth["data"]] = truth
        else:
            rows.append(file)
    records = [
        record
        for record in read_records(rows).runs.values()
        if "error" in record or "mmtv" in record
    ]
    return Material(records, results, truths, width)


def _read_draws(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not {"problem", "data", "names", "draws"} <= set(content):
            raise ValueError("it has no draws from a true posterior")
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError) as error:
        raise BenchError(f"cannot use {path}: {error}") from None
    return content


def make_displays(
    material: Material, out: Path, *, formats: Sequence[str] = ("png", "svg"),
    only: Sequence[str] = (),
) -> Report:  # fmt: skip
    """Write every display there is something for into the folder ``out``; says what it did.

    ``only`` are beginnings of the names of those that are wanted, such as "figure2".
    """
    for beginning in only:
        if not any(name.startswith(beginning) for name in (*(d.name for d in DISPLAYS), TABLE)):
            raise BenchError(f"there is no display called {beginning}")
    plt = pyplot()
    plt.switch_backend("Agg")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"cannot make the folder {out}: {error.strerror}") from None
    report = Report()
    for display in DISPLAYS:
        if not _wanted(display.name, only):
            continue
        try:
            drawn = display.make(material)
        except NotMade as reason:
            report.lines.append(f"{display.name}: not made, {reason}")
            continue
        names = [f"{display.name}.{ending}" for ending in formats]
        for name in names:
            _save(drawn.figure, out / name)
        plt.close(drawn.figure)
        _describe(report, display, drawn, names)
    if _wanted(TABLE, only):
        _write_table(report, material, out)
    if not report.made:
        raise BenchError(f"nothing can be made from these files: {'; '.join(report.lines)}")
    _write(out / CAPTIONS, "\n\n".join(["# Captions", *report.captions]) + "\n")
    return report


def _wanted(name: str, only: Sequence[str]) -> bool:
    return not only or any(name.startswith(beginning) for beginning in only)


def _save(figure: Any, path: Path) -> None:
    """Write a figure; the same rows make the same file."""
    import matplotlib

    quiet = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "quell", "svg.fonttype": "none"}):
        try:
            figure.savefig(path, dpi=DPI, metadata=quiet[path.suffix[1:]])
        except OSError as error:
            raise BenchError(f"cannot write {path}: {error.strerror}") from None


def _describe(report: Report, display: Display, drawn: Drawn, names: Sequence[str]) -> None:
    panels = f"{drawn.panels} panel{'s' * (drawn.panels != 1)}"
    what = "saved results" if display.make is illustration else "rows"
    report.made += 1
    report.lines.append(
        f"{display.name}: {panels} from {drawn.rows} {what}: {', '.join(names)}"
    )  # fmt: skip
    missing = ""
    if drawn.left_out:
        missing = f"left out: {'; '.join(drawn.left_out)}"
        report.lines.append(f"  {missing}")
        missing = f" Left out: {missing.removeprefix('left out: ')}."
    size = f"{panels}, {drawn.rows} {what}."
    report.captions.append(f"**{display.name}: {display.title}.** {drawn.caption} {size}{missing}")


def _write_table(report: Report, material: Material, out: Path) -> None:
    try:
        made = overhead_table(material.records)
    except NotMade as reason:
        report.lines.append(f"{TABLE}: not made, {reason}")
        return
    _write(out / f"{TABLE}.txt", made.text + "\n")
    _write(out / f"{TABLE}.md", made.markdown + "\n")
    report.made += 1
    report.lines.append(f"{TABLE}: from {made.rows} rows: {TABLE}.txt, {TABLE}.md")
    if made.left_out:
        report.lines.append(f"  left out: {'; '.join(made.left_out)}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"cannot write {printable(str(path))}: {error.strerror}") from None
