"""Does the package build, and does what was built work where nothing else is?

Wheel and sdist are built, each is installed into a new environment with nothing but its
dependencies, and there a run is made outside of the source tree: ``make check-package``. It needs
a package index for the dependencies.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = """
import quell, quell.native
problem = quell.Problem(lambda theta, rng: (-theta[0] ** 2 + rng.standard_normal(), 1.0),
                        lower=-9, upper=9, plausible_lower=-3, plausible_upper=3)
result = quell.infer(problem, budget=50, seed=1, progress=False)
result.save("fit.quell")
print(quell.__version__, quell.__file__, quell.load("fit.quell").status)
print("kernels:", "none" if quell.native.kernels is None else "compiled")
"""
#: What an environment with the package alone may not have.
TOOLS = ("pytest", "mypy", "ruff", "sphinx", "matplotlib", "pandas", "hypothesis")


def run(*command, folder):
    """Run a command, and return what it printed."""
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def check(built, folder, has_kernels):
    """Install a file into a new environment and make a run there."""
    environment = folder / f"with-{built.suffix[1:]}"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", built, folder=folder)
    there = {line.split("==")[0].lower()
             for line in run(python, "-m", "pip", "freeze", folder=folder).split("\n")}  # fmt: skip
    if found := there & set(TOOLS):
        raise SystemExit(f"{built.name} brings {sorted(found)}")
    said = run(python, "-c", RUN, folder=folder)
    if str(environment) not in said:
        raise SystemExit(f"another quell was imported: {said}")
    if ("kernels: compiled" in said) != has_kernels:
        raise SystemExit(f"{built.name} should have kernels: {has_kernels}, but {said}")
    run(environment / "bin" / "quell", "show", "fit.quell", folder=folder)
    print(f"{built.name}: {built.stat().st_size / 1000:.0f} kB; {', '.join(sorted(there - {''}))}")


def main():
    """Build, look inside, install, run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=ROOT)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        names = zipfile.ZipFile(wheel).namelist()
        if strays := [n for n in names if not n.startswith(("quell/", "quell-"))]:
            raise SystemExit(f"{wheel.name} has {strays[:5]}")
        if "quell/py.typed" not in names:
            raise SystemExit(f"{wheel.name} has no py.typed: types would not be seen")
        has_kernels = any(n.startswith("quell/native/_kernels") for n in names)
        if has_kernels == wheel.name.endswith("none-any.whl"):
            raise SystemExit(f"{wheel.name} is tagged for the wrong platforms, as to its kernels")
        for built in (wheel, sdist):
            check(built, folder, has_kernels)


if __name__ == "__main__":
    main()
