"""Build hook: the compiled kernels of `quell.native`, where there is a C compiler.

Without one the package is pure Python, and does the same more slowly. By hand, in a checkout:

    python hatch_build.py

QUELL_NATIVE=0 in the environment builds none. CC and CFLAGS are heeded.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from runpy import run_path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, without hatchling
    BuildHookInterface = object

HERE = Path(__file__).parent / "src" / "quell" / "native"
#: The oldest Python whose ABI the module has; ``Py_LIMITED_API`` in kernels.h says the same.
OLDEST = "cp311"
MODULE = "_kernels.abi3.so" if os.name == "posix" else "_kernels.pyd"


def source_digest() -> str:
    """What `quell.native` compares the compiled module with; the package is not installed yet."""
    return str(run_path(str(HERE / "digest.py"))["source_digest"](HERE))


def compile_kernels() -> Path | None:
    """The compiled module, or None with a line that says why there is none."""
    if os.environ.get("QUELL_NATIVE") == "0":
        return None
    # Compilers of other systems are called differently; nobody has tried those.
    if os.name != "posix":
        print("quell: compiled kernels are for POSIX systems; building without", file=sys.stderr)
        return None
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    out = HERE / MODULE
    built = out.with_suffix(".new")
    shared = (
        ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    )
    command = [
        *shlex.split(compiler), "-O3", "-std=c11", "-fPIC", "-fno-math-errno", "-fno-trapping-math",
        "-fopenmp-simd", "-ffp-contract=fast", *shared, f"-I{sysconfig.get_path('include')}",
        f'-DQUELL_SOURCES="{source_digest()}"',
        *shlex.split(os.environ.get("CFLAGS", "")),
        *sorted(str(source) for source in HERE.glob("*.c")), "-lm", "-o", str(built),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "stderr", "") or str(error)
        print(f"quell: no compiled kernels, pure Python instead: {why}", file=sys.stderr)
        return None
    built.replace(out)
    return out


def stable_tag(tag: str) -> str:
    """The tag of a wheel with kernels, given that of the Python at hand.

    The module is of the stable ABI: compiled by one Python, it serves all that are not older than
    ``Py_LIMITED_API`` in kernels.h says.
    """
    interpreter, _, platform = tag.split("-")
    return f"{OLDEST}-abi3-{platform}" if interpreter.startswith("cp") else tag


class NativeBuildHook(BuildHookInterface):
    """Hatchling's side of it: a wheel with kernels is for one platform, one without for all."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected."""
        del version
        if self.target_name == "wheel" and compile_kernels() is not None:
            build_data["pure_python"] = False
            build_data["tag"] = stable_tag(self.build_config.builder.get_best_matching_tag())
            build_data["artifacts"].append(f"src/quell/native/{MODULE}")


if __name__ == "__main__":
    print(compile_kernels())
