"""Bring docs/benchmark.md up to date with the committed runs: its tables, and its pictures.

    python benchmarks/make_page.py [--check] [--no-pictures]

A block of the page begins with a comment that has the command which prints it, and ends with
another; what is between is replaced. Runs that are not there yet are named in place of the table.
A picture's block has the picture and its caption, or says why there is none. ``--check`` changes
nothing and fails if a table is not what its command prints.
"""

import argparse
import contextlib
import importlib
import io
import re
import shlex
import sys
import tempfile
from glob import glob
from pathlib import Path
from types import ModuleType

from quell.bench import data
from quell.bench.displays.making import CAPTIONS, make_displays, read_material
from quell.cli import main as quell

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmark.md"
PICTURES = ROOT / "docs" / "pictures"
STUDY = "benchmarks/study.py"
BLOCK = re.compile(r"(<!-- made by: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
PICTURE = re.compile(r"(<!-- picture: (\S+) -->\n)(.*?)(<!-- end of picture -->)", re.DOTALL)
#: The runs behind tables and pictures, and other files that pictures need.
RESULTS = ROOT / "benchmarks" / "results"
MATERIAL = ("study/*.jsonl", "illustrations/*")
#: Colours of a picture, chosen so that small spots keep theirs.
COLOURS = 96
LARGEST = 90_000  # bytes


def printed(command: str) -> str:
    """What a command prints; it has to be one of quell, or the study's, and to succeed.

    Names of files may be patterns. If some of them have no file yet, that is what is printed.
    """
    name, *arguments = shlex.split(command)
    output = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(output):
        if name == "python" and arguments[:1] == [STUDY]:
            study().main(arguments[1:])
        elif name != "quell":
            raise SystemExit(f"a block can only be made by a quell command, not by {command}")
        else:
            files = {text: sorted(glob(text)) for text in arguments if text.endswith(".jsonl")}
            missing = [text for text, found in files.items() if not found]
            if missing:
                return f"No runs yet: {', '.join(f'`{text}`' for text in missing)}."
            if quell([one for text in arguments for one in files.get(text, [text])]) != 0:
                raise SystemExit(f"{command} failed")
    return output.getvalue().strip()


def study() -> ModuleType:
    """The module of the study, which is beside this one."""
    folder = str(Path(__file__).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("study")


def renewed(page: str) -> str:
    """The page with what its commands print today."""
    made: dict[str, str] = {}

    def block(match: re.Match[str]) -> str:
        begin, command, _, end = match.groups()
        if command not in made:
            made[command] = printed(command)
        return f"{begin}\n{made[command]}\n\n{end}"

    return BLOCK.sub(block, page)


def with_pictures(page: str) -> str:
    """The page with its pictures and their captions; the pictures are written, small."""
    if data.kind() != "real":
        raise SystemExit("the pictures need the real data: export QUELL_DATA, or --no-pictures")
    names = [name for _, name, _, _ in PICTURE.findall(page)]
    if not names:
        return page
    files = [path for pattern in MATERIAL for path in sorted(RESULTS.glob(pattern))]
    with tempfile.TemporaryDirectory() as folder:
        report = make_displays(read_material(files), Path(folder), formats=["png"], only=names)
        text = (Path(folder) / CAPTIONS).read_text(encoding="utf-8")
        captions = dict(re.findall(r"^\*\*(\S+): (.+)$", text, re.MULTILINE))
        why = dict(re.findall(r"^(\S+): not made, (.+)$", "\n".join(report.lines), re.MULTILINE))
        for name in names:
            target = PICTURES / f"benchmark-{name}.png"
            target.unlink(missing_ok=True)
            if name in captions:
                shrink(Path(folder) / f"{name}.png", target)

    def block(match: re.Match[str]) -> str:
        begin, name, _, end = match.groups()
        title = re.sub(r"figure(\w+)-?(.*)", r"Figure \1 \2", name).rstrip()
        if name not in captions:
            return f"{begin}\n**{title}** is not made yet: {why[name]}.\n\n{end}"
        return (
            f"{begin}\n![{title}](pictures/benchmark-{name}.png)\n\n"
            f"**{title}: {captions[name]}\n\n{end}"
        )

    return PICTURE.sub(block, page)


def shrink(source: Path, target: Path) -> None:
    """A picture in fewer colours and two thirds of its size."""
    from PIL import Image  # comes with matplotlib

    with Image.open(source) as image:
        small = image.convert("RGB").resize((image.width * 2 // 3, image.height * 2 // 3))
        few = small.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE)
        few.save(target, optimize=True)
    if target.stat().st_size > LARGEST:
        raise SystemExit(f"{target.name} has more than {LARGEST} bytes")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a table is out of date")
    parser.add_argument("--no-pictures", action="store_true", help="only the tables")
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    new = renewed(page)
    if options.check:
        if new != page:
            print("docs/benchmark.md is not what its commands print: make page", file=sys.stderr)
        return int(new != page)
    PAGE.write_text(new if options.no_pictures else with_pictures(new), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
