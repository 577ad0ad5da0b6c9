"""The order of the rooms: what may import what. Read from the sources, at every level of nesting.

A room is a subpackage of ``quell``, or a module at its top level. Each may import only rooms of
layers above its own in this list. To add a room, put it where it belongs; to let one know another,
move it down, or better: move what both need up.
"""

from pathlib import Path

import pytest
from helpers.import_graph import cycles, module_imports, room_imports, room_of

import quell

LAYERS = (
    ("arrays", "errors", "native", "text", "threads", "version"),
    ("archive", "checks", "distances"),
    ("interface", "streams"),
    ("priors", "space"),
    ("problem",),
    ("evaluations", "likelihoods"),
    ("gp", "mixture"),
    ("quadrature",),
    ("acquisition", "variational"),
    ("settings",),
    ("vbmc",),
    ("diagnostics",),
    ("records",),
    ("journal", "progress", "results", "workers"),
    ("run", "stacking"),
    ("infer", "sampler"),
    ("baselines", "studies"),
    ("comparison",),
    ("plots", "study"),
    ("calibration", "loading"),
    ("pages",),
    ("bench", "watch"),
    ("demo",),
    ("cli",),
    ("__main__",),
)
#: Functions on plain arrays and small frozen dataclasses: no options, no input or output.
PURE = ("gp", "mixture", "quadrature", "acquisition", "variational", "space")
MOST_TOP_LEVEL_MODULES = 16

PACKAGE = Path(quell.__file__).parent
MODULES = module_imports(PACKAGE)
ROOMS = room_imports(MODULES)
LEVEL = {room: level for level, layer in enumerate(LAYERS) for room in layer}


def test_every_room_has_its_place():
    assert set(ROOMS) == set(LEVEL)


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_knows_only_what_is_above_it_in_the_list(room):
    wrong = {
        f"{module} imports {target}"
        for module, targets in MODULES.items()
        if room_of(module) == room
        for target in targets
        if room_of(target) not in ("", room) and LEVEL[room_of(target)] >= LEVEL[room]
    }
    assert not wrong


def test_no_import_cycles():
    assert not cycles(ROOMS)
    assert not cycles(MODULES)


def test_nothing_inside_imports_the_package_itself():
    """Its names are for users; inside, a module says where a thing comes from."""
    wrong = {module for module, targets in MODULES.items() if "quell" in targets}
    assert not wrong - {"quell"}


@pytest.mark.parametrize("room", PURE)
def test_numerical_rooms_know_no_options(room):
    assert not ROOMS[room] & {"settings", "problem", "evaluations", "journal", "progress", "text"}


def test_few_modules_at_the_top_level():
    modules = [path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")]
    assert len(modules) <= MOST_TOP_LEVEL_MODULES


class TestTheGraph:
    """That the tests above can fail."""

    @pytest.fixture
    def package(self, tmp_path):
        def make(**files):
            root = tmp_path / "toy"
            root.mkdir()
            for name, text in files.items():
                (root / f"{name}.py").write_text(text)
            (root / "__init__.py").touch()
            return module_imports(root)

        return make

    def test_imports_of_all_kinds_are_seen(self, package):
        graph = package(
            a="import toy.b\n",
            b="def f():\n    from toy.c import g\n",
            c="from toy import d\ng = 1\n",
            d="import numpy\n",
        )
        assert graph["toy.a"] == {"toy.b"}
        assert graph["toy.b"] == {"toy.c"}
        assert graph["toy.c"] == {"toy.d"}
        assert graph["toy.d"] == set()

    def test_cycles_are_found_through_a_detour(self, package):
        graph = package(a="import toy.b", b="import toy.c", c="import toy.a", d="import toy.a")
        assert cycles(graph) == [["toy.a", "toy.b", "toy.c"]]

    def test_what_only_types_need_does_not_count(self, package):
        text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import toy.b\n"
        assert package(a=text, b="import toy.a")["toy.a"] == set()
