"""``quell demo``: noisy inference on a banana."""

import argparse
from typing import Any

from quell.cli.errors import CommandError

EPILOG = """\
examples:
  quell demo                     ten seconds; writes demo/report.html and demo/figure1.png
  quell demo --out /tmp/banana   somewhere else"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo", help="noisy inference on a banana; writes a report and a figure", epilog=EPILOG,
        description="Infer a banana-shaped posterior from noisy evaluations, and report on it.",
    )  # fmt: skip
    parser.add_argument("--out", default="demo", metavar="DIR", help="folder for them (demo)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Run it."""
    from pathlib import Path

    from quell.demo import run_demo

    if chosen.seed < 0:
        raise CommandError(f"--seed must not be negative, got {chosen.seed}")
    out = Path(chosen.out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make the folder {out}: {error.strerror}") from None
    run_demo(out, seed=chosen.seed)
    return 0
