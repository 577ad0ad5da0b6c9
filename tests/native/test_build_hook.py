"""The wheel says for which Pythons and platforms its kernels are."""

import re
import tomllib
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "hatch_build.py").exists():
    pytest.skip("the build hook is in checkouts only", allow_module_level=True)
hook = run_path(str(ROOT / "hatch_build.py"))
BEST = "cp313-cp313-linux_x86_64"


def built(target="wheel", tag=BEST):
    """What the hook tells hatchling, which would choose this tag by itself."""
    builder = SimpleNamespace(get_best_matching_tag=lambda: tag)
    asked = SimpleNamespace(target_name=target, build_config=SimpleNamespace(builder=builder))
    data = {"artifacts": []}
    hook["NativeBuildHook"].initialize(asked, "standard", data)
    return data


@pytest.fixture
def kernels(monkeypatch):
    """As if they had been compiled, or could not be."""

    def there(module):
        names = hook["NativeBuildHook"].initialize.__globals__
        monkeypatch.setitem(names, "compile_kernels", lambda: module)

    return there


def test_kernels_serve_every_python_from_the_oldest_on(kernels):
    kernels(Path("_kernels.abi3.so"))
    data = built()
    assert data["tag"] == "cp311-abi3-linux_x86_64"
    assert data["pure_python"] is False
    assert data["artifacts"] == ["src/quell/native/_kernels.abi3.so"]
    assert built(tag="cp311-cp311-macosx_11_0_arm64")["tag"] == "cp311-abi3-macosx_11_0_arm64"


def test_other_interpreters_have_no_stable_abi(kernels):
    kernels(Path("_kernels.abi3.so"))
    tag = "pp311-pypy311_pp73-linux_x86_64"
    assert built(tag=tag)["tag"] == tag


def test_without_kernels_a_wheel_is_for_all(kernels):
    kernels(None)
    assert built() == {"artifacts": []}


def test_a_source_distribution_has_none(kernels):
    kernels(Path("_kernels.abi3.so"))
    assert built("sdist") == {"artifacts": []}


def test_the_oldest_is_that_of_the_header_and_of_the_package():
    header = (ROOT / "src/quell/native/kernels.h").read_text(encoding="utf-8")
    version = int(re.search(r"#define Py_LIMITED_API (0x\w+)", header)[1], 16)
    assert hook["OLDEST"] == f"cp{version >> 24}{version >> 16 & 0xFF}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={version >> 24}.{version >> 16 & 0xFF}"
