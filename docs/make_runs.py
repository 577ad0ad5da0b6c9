"""The saved runs that pages of docs/tutorials open, made anew: ``make tutorial-runs``.

The code is that of the pages themselves: everything on a page, in the order it stands there, up to
the block that saves the run.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

TUTORIALS = Path(__file__).parent / "tutorials"
CODE = re.compile(r"^```(?:\{code-cell\}|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r'\.save\("(runs/[\w.-]+)"\)')


def blocks_up_to_the_run(text):
    """The blocks of code of a page up to the one that saves its run, and that run's path."""
    blocks = []
    for block in CODE.findall(text):
        blocks.append(re.sub(r"^:tags:.*\n", "", block))
        if found := SAVED.search(block):
            return blocks, found.group(1)
    return [], ""


def make(page):
    """Run a page up to its saved run, in a folder of its own, and keep the file."""
    blocks, path = blocks_up_to_the_run(page.read_text(encoding="utf-8"))
    if not blocks:
        return
    begun = time.process_time()
    names = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("runs").mkdir()
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)
        data = Path(path).read_bytes()
        os.chdir(TUTORIALS)
    (TUTORIALS / path).write_bytes(data)
    print(f"{path}: {len(data) / 1000:.0f} kB, {time.process_time() - begun:.0f} CPU seconds")


def main(wanted):
    """All pages, or those named."""
    for page in sorted(TUTORIALS.glob("*.md")):
        if not wanted or page.stem in wanted:
            make(page)


if __name__ == "__main__":
    main(sys.argv[1:])
