"""What one test of an answer says."""

from dataclasses import dataclass

#: Larger figures are written as powers of ten.
LARGEST_IN_FULL = 1e7


@dataclass(frozen=True)
class Finding:
    """The outcome of one test of an answer.

    Parameters
    ----------
    test
        Name of the test.
    figure
        What it measured; nan where there was nothing to measure.
    limit
        A figure beyond this speaks against the answer.
    text
        What was found and what to do about it; "" where nothing speaks against the answer.

    Examples
    --------
    >>> Finding("residual_scale", 3.2, 1.5, "residuals are 3.2 times the reported SDs").against
    True
    >>> Finding("residual_scale", 0.9, 1.5).against
    False
    """

    test: str
    figure: float
    limit: float
    text: str = ""

    @property
    def against(self) -> bool:
        """Whether it speaks against the answer."""
        return bool(self.text)


def shown(figure: float, digits: int = 0) -> str:
    """A figure as it stands in a text; in full only where that can be read.

    >>> shown(3.14, 1), shown(163.0), shown(1.7e300)
    ('3.1', '163', '1.7e+300')
    """
    return f"{figure:.{digits}f}" if abs(figure) < LARGEST_IN_FULL else f"{figure:.2g}"
