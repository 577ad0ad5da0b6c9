"""What the campaigns share: their options, and the runs in their files."""

import argparse
from typing import Any

from quell.bench.problems import BenchError
from quell.bench.records import read_records


def campaign_parser(doc: str | None, out: str, runs: int | None = 10) -> argparse.ArgumentParser:
    """A parser with the options of a campaign; ``runs`` None where it counts in its own way."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    if runs is not None:
        parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default=f"benchmarks/results/{out}")
    parser.add_argument("--only-table", action="store_true", help="print what is there already")
    return parser


def finished(path: str) -> list[dict[str, Any]]:
    """The records of the runs in a file; ends the program if there is none."""
    try:
        records = list(read_records([path]).runs.values())
    except BenchError as error:
        raise SystemExit(f"{error} (without --only-table the runs are made)") from None
    if not records:
        raise SystemExit(f"{path} has no finished run")
    return records
