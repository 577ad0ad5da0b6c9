"""Compiled kernels, where the package was built with a C compiler.

Each does what a formula in NumPy does, only faster; that formula stays, as the specification, as
the fallback, and as what the kernel is tested against. A kernel's caller asks for it:

    if kernels is not None:
        kernels.fill_kernel(...)

``QUELL_NATIVE=0`` in the environment turns them off. Results agree to rounding, and so do runs up
to where rounding is magnified: a run can be repeated exactly on one machine with one build.
"""

import os
import warnings
from importlib import import_module
from types import ModuleType

from quell.native.digest import source_digest


def _load() -> ModuleType | None:
    if os.environ.get("QUELL_NATIVE") == "0":
        return None
    try:
        found = import_module("quell.native._kernels")
    except ImportError:
        return None
    if getattr(found, "sources", None) == source_digest():
        return found
    warnings.warn(
        "Quell's compiled kernels are of other C files than those beside them, and are not used: "
        "compile them again with 'python hatch_build.py' in the checkout, or install anew",
        stacklevel=2,
    )
    return None


#: The compiled module, or None.
kernels: ModuleType | None = _load()
