"""Packages that only some uses need, imported when they are."""

import importlib
from typing import Any


def import_extra(package: str, wanted_by: str, instead: str = "", *, extra: str = "") -> Any:
    """The module ``package``; ``ImportError`` in one sentence where it is not installed.

    ``instead`` says what to do without it, ``extra`` is the extra of Quell that brings it.

    >>> import_extra("no_such_package", "to_pandas", "use to_dict")
    Traceback (most recent call last):
        ...
    ImportError: to_pandas needs no_such_package, which is not installed (pip install \
no_such_package, or use to_dict)
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = f'"quell[{extra}]"' if extra else package
        or_else = f", or {instead}" if instead else ""
        raise ImportError(
            f"{wanted_by} needs {package}, which is not installed (pip install {name}{or_else})"
        ) from error
