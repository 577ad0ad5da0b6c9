"""Bad files, each of them handed in for real; see `fault_cases`."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
from fault_cases import BOX, Case
from helpers.problems import QUICK, noisy

import quell
from quell import Problem, Sampler, infer

SAVED = Path(__file__).parents[1] / "files" / "data" / "format-1.quell"


def _load(folder: Path, data: bytes, name: str = "fit.quell") -> object:
    (folder / name).write_bytes(data)
    return quell.load(folder / name)


def _changed(folder: Path) -> object:
    data = bytearray(SAVED.read_bytes())
    data[data.index(b"posterior/means.npy") + 150] ^= 1
    return _load(folder, bytes(data))


def _newer(folder: Path) -> object:
    stream = io.BytesIO()
    with zipfile.ZipFile(SAVED) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "format.json":
                data = json.dumps({**json.loads(data), "format": 2}).encode()
            new.writestr(name, data)
    return _load(folder, stream.getvalue())


def _other_zip(folder: Path) -> object:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("photo.png", b"")
    return _load(folder, stream.getvalue(), "photos.zip")


def _save_over_a_text(folder: Path) -> object:
    (folder / "thesis.txt").write_text("Chapter 1")
    return quell.load(SAVED).save(folder / "thesis.txt")


def _no_result_yet(folder: Path) -> object:
    path = folder / "run.quelljournal"
    with Sampler(Problem(noisy, **BOX), seed=1, journal=path) as sampler:
        sampler.tell(sampler.ask(), [-1.0], [0.5])
    return quell.load(path)


def _density_without_the_constraint(folder: Path) -> object:
    problem = Problem(
        lambda theta: -0.5 * float(theta[0] ** 2), noise="exact",
        constraint=lambda theta: bool(theta[0] > 0.5), **BOX,
    )  # fmt: skip
    infer(problem, budget=12, seed=1, settings=QUICK, progress=False).save(folder / "fit.quell")
    return quell.load(folder / "fit.quell").posterior.log_density(np.array([[1.0]]))


FILES = [
    Case("a file that is not there", "FileError", "there is no file",
         lambda folder: quell.load(folder / "fit.quell")),
    Case("a text", "FileError", "no file of Quell's",
         lambda folder: _load(folder, b"Chapter 1", "thesis.txt")),
    Case("another zip file", "FileError", "but was not written by Quell", _other_zip),
    Case("a folder that is not one of a study", "FileError", "without runs of a study", quell.load),
    Case("a file that was cut off", "FileError", "is cut off",
         lambda folder: _load(folder, SAVED.read_bytes()[:5000])),
    Case("a bit of a file was changed", "FileError", "is damaged", _changed),
    Case("a file of a later version", "FileError", "has format 2", _newer,
         (r"\((?:\d+\.)+[^)]*\)",)),
    Case("a journal without a result", "FileError", "no result yet", _no_result_yet),
    Case("a density of a posterior from a file, whose constraint is code", "ValueError",
         "constraint=", _density_without_the_constraint),
    Case("a constraint for a problem that had none", "FileError", "leave constraint=",
         lambda folder: quell.load(  # noqa: ARG005
             SAVED, constraint=lambda theta: bool(theta[0] > 0)), (r"'[^']*format-1.quell'",)),
    Case("saving over another file", "FileError", "is left as it is", _save_over_a_text),
]  # fmt: skip
