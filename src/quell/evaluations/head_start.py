"""Checks of evaluations that were made elsewhere and are handed in as columns."""

from collections.abc import Sequence

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.checks import raise_at
from quell.problem.outcome import ZERO_DENSITY


def error_texts(errors: Sequence[str] | None, value: FloatArray) -> tuple[str, ...]:
    """One line for each row, "" for none; −inf explains itself."""
    if errors is None:
        texts = [""] * len(value)
    elif isinstance(errors, str) or not all(isinstance(text, str) for text in errors):
        raise ValueError('errors must be a sequence of strings, "" where there was none')
    else:
        texts = [" ".join(text.split()) for text in errors]
    if len(texts) != len(value):
        raise ValueError(f"errors has {len(texts)} entries, expected {len(value)}")
    return tuple(
        ZERO_DENSITY if not text and v == -np.inf else text
        for text, v in zip(texts, value, strict=True)
    )


def refuse_rows(argument: str, column: FloatArray, bad: BoolArray, demand: str) -> None:
    """Raise for the first ``bad`` entry of a column (N,), if any."""
    if bad.any():
        raise_at(argument, column, bad, demand)
