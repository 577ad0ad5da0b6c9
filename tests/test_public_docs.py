"""Every public name says what it does, what it takes, and how it is used."""

import functools
import inspect
import re

import pytest

import quell
import quell.baselines
import quell.pages
import quell.plots


def public_things():
    """Public classes and functions by the name a user knows them by."""
    found = {}
    rooms = (quell.baselines, quell.likelihoods, quell.pages, quell.plots, quell.priors)
    for module in (quell, *rooms):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                found[f"{module.__name__}.{name}"] = thing
    return found


def public_members(kind):
    """Public methods and properties that a class of ours defines itself or inherits from ours."""
    for base in kind.__mro__:
        if not base.__module__.startswith("quell"):
            continue
        for name, member in vars(base).items():
            documented = (property, functools.cached_property, classmethod, staticmethod)
            if not name.startswith("_") and (
                inspect.isfunction(member) or isinstance(member, documented)
            ):
                yield name


def parameters(thing):
    """Names of what a function, or the class when it is called, takes."""
    if inspect.isclass(thing) and not inspect.isfunction(thing.__init__):
        return []  # an exception with a message and nothing more
    signature = inspect.signature(thing)
    return [name for name in signature.parameters if not name.startswith("_")]


def sections(text):
    """The sections of a docstring, by their underlined headings."""
    parts = re.split(r"^(\w+)\n-+$", inspect.cleandoc(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def headings(section):
    """The names a section explains: what stands at its left edge, between commas."""
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip(" *") for line in lines for name in line.split(",")}


def complaints(thing):
    """What the documentation of a public thing lacks, one line each."""
    text = inspect.getdoc(thing) or ""
    if not text:
        return ["it has no docstring"]
    found = []
    if ">>> " not in text:
        found.append("it has no example")
    taken = parameters(thing)
    if taken:
        parts = sections(text)
        explained = parts.get("Parameters", "")
        if inspect.isclass(thing):  # fields of a record that users read but do not make
            explained = explained or parts.get("Attributes", "")
        if not explained:
            found.append(f"no section explains its parameters {taken}")
        else:
            missing = [name for name in taken if name not in headings(explained)]
            found += [f"its section of parameters does not explain {name}" for name in missing]
    if inspect.isclass(thing):
        for name in public_members(thing):
            if not inspect.getdoc(getattr(thing, name)):
                found.append(f"{name} has no docstring")
    return found


THINGS = public_things()


@pytest.mark.parametrize("name", sorted(THINGS))
def test_documentation_is_complete(name):
    assert not complaints(THINGS[name])


def test_the_test_sees_what_is_missing():
    def plain(x):
        """Nothing more."""
        return x

    def half(x, y):
        """Two.

        Parameters
        ----------
        x
            One of them.

        Examples
        --------
        >>> 1
        1
        """
        return x, y

    assert complaints(lambda: 0) == ["it has no docstring"]
    assert complaints(plain) == [
        "it has no example", "no section explains its parameters ['x']"
    ]  # fmt: skip
    assert complaints(half) == ["its section of parameters does not explain y"]
