"""``import quell`` loads what every use of it needs, and leaves the slow rest for later."""

import json
import subprocess
import sys

import pytest

# Slow to import, or optional, and not needed to state a problem.
LATER = {
    "scipy.optimize", "scipy.spatial", "scipy.stats",
    "rich", "threadpoolctl",
    "matplotlib", "pandas", "emcee", "pyvbmc", "gpyreg", "distributed", "dask", "sklearn",
    "xarray", "h5netcdf", "arviz", "pymc", "pytensor",
    "quell.baselines", "quell.bench", "quell.demo", "quell.pages", "quell.plots", "jinja2",
}  # fmt: skip


def loaded_after(code):
    """Names of the modules that a fresh process has loaded after running this code."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import quell", id="package"),
        pytest.param("import quell.cli", id="command"),
        pytest.param(
            "import quell\n"
            "quell.Problem(lambda theta: 0.0, lower=0, upper=9, plausible_lower=2,"
            " plausible_upper=4, prior=lambda theta: -theta[0])\n"
            "quell.Settings()\n"
            "quell.likelihoods.emulated(lambda theta: 0.0, sd=1.0)",
            id="a problem without scipy.stats distributions",
        ),
    ],
)
def test_nothing_slow_is_loaded(code):
    loaded = loaded_after(code)
    assert "quell" in loaded
    assert not LATER & loaded


def test_the_likelihoods_come_with_the_package():
    assert "quell.likelihoods.ibs" in loaded_after("import quell\nassert quell.likelihoods.ibs")


def test_a_run_without_a_display_does_not_load_one():
    loaded = loaded_after(
        "import quell\n"
        "problem = quell.Problem(lambda theta: -theta[0]**2, lower=-9, upper=9, noise='exact',"
        " plausible_lower=-2, plausible_upper=2)\n"
        "settings = quell.Settings(final_components=0)\n"
        "quell.infer(problem, budget=12, seed=1, progress=False, settings=settings)"
    )
    assert "scipy.stats" in loaded
    assert "rich" not in loaded
