"""Compiled kernels, where the package was built with a C compiler.

Each does what a formula in NumPy does, only faster; that formula stays, as the specification, as
the fallback, and as what the kernel is tested against. A kernel's caller asks for it:

    if kernels is not None:
        kernels.fill_kernel(...)

``QUELL_NATIVE=0`` in the environment turns them off. Results agree to rounding, and so do runs up
to where rounding is magnified: a run can be repeated exactly on one machine with one build.
"""

import os
from importlib import import_module
from types import ModuleType


def _load() -> ModuleType | None:
    if os.environ.get("QUELL_NATIVE") == "0":
        return None
    try:
        return import_module("quell.native._kernels")
    except ImportError:
        return None


#: The compiled module, or None.
kernels: ModuleType | None = _load()
