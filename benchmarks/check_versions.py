"""Do the versions that pyproject.toml promises work?

A part of the tests is run with the oldest dependencies it allows, and with the newest on every
Python that it names and that is here (``pythonX.Y`` on the path, or in pyenv): ``make
check-versions``; ARGS="oldest" or ARGS="3.13" for one of them. It needs a package index.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = [
    "space",
    "gp",
    "mixture",
    "variational",
    "acquisition",
    "problem",
    "priors",
    "evaluations",
    "results",
    "files",
    "journal",
    "likelihoods",
    "plots",
    "run",
    "test_quadrature.py",
    "test_sampler.py",
    "test_import.py",
    "test_settings.py",
]
#: With the oldest dependencies: the oldest of these that work with that NumPy; and a pyparsing of
#: which that matplotlib does not use deprecated names, since warnings are errors in the tests.
BESIDE_OLDEST = ("pandas==2.2.2", "scikit-learn==1.5.0", "xarray==2024.10.0", "h5netcdf==1.3.0",
                 "pyparsing<3.2")  # fmt: skip
BESIDE_NEWEST = ("pandas", "scikit-learn", "xarray", "h5netcdf")
RUNNER = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")


def project():
    """The table [project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def oldest():
    """The oldest version of every dependency that is allowed, as pip wants it."""
    plots = project()["optional-dependencies"]["plots"]
    return [re.sub(">=", "==", line) for line in (*project()["dependencies"], *plots)]


def pythons():
    """The Pythons named in the classifiers that are here, by version."""
    named = re.findall(r":: (3\.\d+)$", "\n".join(project()["classifiers"]), re.MULTILINE)
    found = {}
    for version in named:
        places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        here = shutil.which(f"python{version}") or (str(places[-1]) if places else None)
        if here:
            found[version] = here
    return found


def check(python, packages, name):
    """Run the tests in a new environment; returns whether they passed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = Path(folder) / "bin" / "python"
        subprocess.run([inside, "-m", "pip", "install", "--quiet", *packages, *RUNNER], check=True)
        tests = [f"tests/{part}" for part in TESTS]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        print(f"== {name}: {' '.join(packages)}", flush=True)
        done = subprocess.run(
            [inside, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests],
            cwd=ROOT, env=environment, check=False,
        )  # fmt: skip
        return done.returncode == 0


def main(wanted):
    """All of them, or those named."""
    newest = [re.split("[>=]", line)[0] for line in oldest()]
    here = pythons()
    first = min(here, key=lambda version: int(version.split(".")[1]))
    plan = {"oldest": (here[first], [*oldest(), *BESIDE_OLDEST])}
    plan |= {version: (python, [*newest, *BESIDE_NEWEST]) for version, python in here.items()}
    chosen = wanted or list(plan)
    failed = [name for name in chosen if not check(*plan[name], name)]
    print("passed:", ", ".join(name for name in chosen if name not in failed))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
