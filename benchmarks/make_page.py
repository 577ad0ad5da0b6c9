"""Bring docs/benchmark.md up to date with the committed runs: its tables, and its pictures.

    python benchmarks/make_page.py [--check] [--no-pictures]

A block of the page begins with a comment that has the command which prints it, and ends with
another; what is between is replaced. ``--check`` changes nothing and fails if a block is not what
its command prints.
"""

import argparse
import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path

from quell.cli import main as quell

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmark.md"
PICTURES = ROOT / "docs" / "pictures"
BLOCK = re.compile(r"(<!-- made by: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: Figures that are on the page.
SHOWN = ("figure1", "figure2", "figure3", "figure4", "figureS2", "figureS4-quell", "figureS5-quell")
#: Colours of a picture, chosen so that small spots keep theirs.
COLOURS = 96
LARGEST = 90_000  # bytes


def printed(command: str) -> str:
    """What a command prints; it has to be one of quell, and to succeed."""
    name, *arguments = shlex.split(command)
    if name != "quell":
        raise SystemExit(f"a block can only be made by a quell command, not by {command}")
    output = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(output):
        code = quell(arguments)
    if code != 0:
        raise SystemExit(f"{command} failed")
    return output.getvalue().strip()


def renewed(page: str) -> str:
    """The page with what its commands print today."""
    made: dict[str, str] = {}

    def block(match: re.Match[str]) -> str:
        begin, command, _, end = match.groups()
        if command not in made:
            made[command] = printed(command)
        return f"{begin}\n{made[command]}\n\n{end}"

    return BLOCK.sub(block, page)


def pictures() -> None:
    """The figures of the page, small."""
    from PIL import Image  # comes with matplotlib

    results = ROOT / "benchmarks" / "results"
    # The runs of the page's tables, so that figures and tables are of the same.
    runs = [results / f"{name}.jsonl" for name in ("real", "budgets")]
    files = [*runs, *sorted(results.glob("illustrations/*"))]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--format", "png", "--only", *SHOWN, "--out", folder]
        if quell(["bench", "figures", *map(str, files), *options]) != 0:
            raise SystemExit("the figures could not be made")
        for path in sorted(Path(folder).glob("*.png")):
            target = PICTURES / f"benchmark-{path.name}"
            with Image.open(path) as image:
                small = image.convert("RGB").resize((image.width * 2 // 3, image.height * 2 // 3))
                few = small.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE)
                few.save(target, optimize=True)
            if target.stat().st_size > LARGEST:
                raise SystemExit(f"{target.name} has more than {LARGEST} bytes")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a block is out of date")
    parser.add_argument("--no-pictures", action="store_true", help="only the tables")
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    new = renewed(page)
    if options.check:
        if new != page:
            print("docs/benchmark.md is not what its commands print: make page", file=sys.stderr)
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    if not options.no_pictures:
        pictures()
    return 0


if __name__ == "__main__":
    sys.exit(main())
