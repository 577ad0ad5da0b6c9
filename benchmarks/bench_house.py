"""The shape of the source tree: rooms, cycles, how far an evaluation travels, import time.

With ``--src DIR`` the figures of another checkout stand beside those of this one; both are
measured by the same command, each in fresh processes.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "tests"))
from helpers.import_graph import cycles, module_imports, room_imports  # noqa: E402

N_IMPORTS = 5
#: One evaluation, from the question for a point to its answer being absorbed: functions entered,
#: and the files they are in. The run before it is past warm-up, so that every step is on the way.
WALK = """
import json, sys, threading
import numpy as np
import quell

entered = set()

def note(frame, event, argument):
    if event == "call" and {root!r} in frame.f_code.co_filename:
        code = frame.f_code
        if not code.co_name.startswith("<"):
            entered.add((code.co_filename, code.co_qualname))

def target(theta, rng):
    n.append(1)
    if len(n) == 61:
        sys.setprofile(note)
    return -0.5 * float(theta @ theta) + rng.standard_normal(), 1.0

n = []
problem = quell.Problem(target, lower=[-10, -10], upper=[10, 10], plausible_lower=[-3, -3],
                        plausible_upper=[3, 3])
def stop(update):
    if len(n) >= 61:
        sys.setprofile(None)
quell.infer(problem, budget=66, seed=1, progress=False, callback=stop,
            journal={journal!r}, settings=quell.Settings(stop_early=False))
sys.setprofile(None)
print(json.dumps([len(entered), len({{file for file, _ in entered}})]))
"""
IMPORT = "import time; t = time.process_time(); import quell; print(time.process_time() - t)"


def figures(source: Path) -> dict[str, str]:
    """What is measured about the package below the folder ``source``."""
    package = source / "quell"
    modules = module_imports(package)
    inside = {m: {t for t in targets if t != "quell"} for m, targets in modules.items()}
    rooms = room_imports(modules)
    top = [p.stem for p in package.glob("*.py") if not p.stem.startswith("__")]
    functions, files = walk(source)
    return {
        "modules at the top level": str(len(top)),
        "packages": str(len([r for r in rooms if (package / r).is_dir()])),
        "modules": str(len(modules)),
        "rooms in import cycles": _groups(cycles(rooms)),
        "modules in import cycles": _groups(cycles(inside)),
        "functions one evaluation enters": str(functions),
        "files they are in": str(files),
        "CPU seconds of import quell": f"{import_seconds(source):.2f}",
    }


def walk(source: Path) -> tuple[int, int]:
    """Functions, and files, that one evaluation of a run with a journal enters."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        code = WALK.format(root=str(source / "quell"), journal=f"{folder}/run.quelljournal")
        functions, files = json.loads(_python(source, code))
    return functions, files


def import_seconds(source: Path) -> float:
    """Median CPU time of the import, in processes of their own, files in the disk cache."""
    return float(np.median([float(_python(source, IMPORT)) for _ in range(N_IMPORTS)]))


def _python(source: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


def _groups(found: list[list[str]]) -> str:
    return "none" if not found else "; ".join(" ".join(group) for group in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, help="the src folder of another checkout")
    other = parser.parse_args().src
    trees = [HERE / "src"] if other is None else [other.resolve(), HERE / "src"]
    columns = [figures(tree) for tree in trees]
    heads = ["this"] if other is None else ["other", "this"]
    print(f"{'':34}" + "".join(f"{head:>12}" for head in heads))
    for name in columns[0]:
        values = [column[name] for column in columns]
        if all(len(value) < 12 for value in values):
            print(f"{name:34}" + "".join(f"{value:>12}" for value in values))
        else:
            for head, value in zip(heads, values, strict=True):
                print(f"{name} ({head}): {value}")


if __name__ == "__main__":
    main()
