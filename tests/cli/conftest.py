"""Small runs that the tests of the command line share."""

import warnings

import pytest
from helpers.files import noisy_result
from helpers.problems import QUICK, make, normal

import quell
from quell.cli import main


@pytest.fixture
def call(capsys):
    """Run the command; its exit code, what it printed, and what it said on standard error."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as leave:
            code = leave.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def refused(call):
    """Run a command that cannot be fulfilled; the one line it says."""

    def run(*arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("quell")
        assert err.count("\n") == 1
        return err

    return run


@pytest.fixture(scope="session")
def result():
    return noisy_result()


@pytest.fixture(scope="session")
def saved(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "fit.quell"
    result.save(path)
    return path


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """The folder of a study of two problems with two seeds."""
    folder = tmp_path_factory.mktemp("study")
    problems = {"s1/a": make(normal, noise="exact"), "s1/b": make(lambda t: 3 * normal(t) - 1,
                                                                noise="exact")}  # fmt: skip
    how = {"budget": 12, "seeds": [5001, 5002], "settings": QUICK, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        quell.study(problems, folder=folder, **how)
    return folder
