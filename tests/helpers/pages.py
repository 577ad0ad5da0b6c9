"""Results to report, names that would do harm in a page, and what is in a page."""

import re
import warnings
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np

import quell
from helpers.problems import QUICK
from quell.evaluations import Evaluations

#: Names of parameters that a page, a script or a terminal would act upon.
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "\u202eexe\x1b[31m\0",
    "&lt;",
)
ERROR = "</script><script>alert(3)</script> ]]> \x1b[2J \0 \u202e {{ 7 * 7 }} {% raw %}"


def hostile_target(theta, rng):
    if theta[0] > 2.0:
        raise ValueError(ERROR)
    angle = np.deg2rad(theta[2] - 10)
    value = -0.5 * theta[0] ** 2 - 0.125 * (theta[1] - 3) ** 2 - 2 * (1 - np.cos(angle))
    return float(value) + 0.5 * rng.standard_normal(), 0.5


@cache
def hostile_result():
    """One parameter of every kind, with hostile names, and evaluations that failed."""
    problem = quell.Problem(
        hostile_target, lower=[-9, 0, 0, 2], upper=[9, 9, 360, 2], plausible_lower=[-2, 1, 300, 2],
        plausible_upper=[2, 6, 400, 2], integer=[False, True, False, False],
        periodic=[False, False, True, False], names=list(HOSTILE),
    )  # fmt: skip
    return infer(problem, budget=40, seed=5101, start=[2.5, 3.0, 10.0, 2.0])


def plain_target(theta, rng):
    if theta[0] > 2.5:
        raise ValueError("too large")
    return -0.5 * float(theta @ theta) + 0.5 * rng.standard_normal(), 0.5


def plain_result(seed=5102):
    """Three parameters with plain names."""
    return _plain_result(seed)


@cache
def _plain_result(seed):
    return infer(plain_problem(), budget=45, seed=seed)


def plain_problem():
    return quell.Problem(
        plain_target, lower=[-9] * 3, upper=[9] * 3, plausible_lower=[-2] * 3,
        plausible_upper=[2] * 3, names=["alpha", "beta", "gamma"],
    )  # fmt: skip


@cache
def large_result():
    """Ten parameters and seven hundred evaluations, nearly all of them made up."""
    problem = quell.Problem(
        lambda theta: -0.5 * float(theta @ theta), lower=[-9] * 10, upper=[9] * 10,
        plausible_lower=[-2] * 10, plausible_upper=[2] * 10, noise="exact",
        names=[f"a rather long name of a parameter, number {i}" for i in range(10)],
    )  # fmt: skip
    result = infer(problem, budget=25, seed=5103)
    theta = np.random.default_rng(1).normal(size=(675, 10))
    more = Evaluations.from_arrays(theta, -0.5 * (theta**2).sum(axis=1), 0.0, problem=problem)
    return replace(result, evaluations=result.evaluations.extend(more))


def infer(problem, **changes):
    how = {"progress": False, "settings": QUICK}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        return quell.infer(problem, **(how | changes))


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text without scripts and styles."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.words, self._open = [], [], []
        self.scripts = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, text):
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            self.scripts.append(text)
        elif inside != "style":
            self.words.append(text)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
