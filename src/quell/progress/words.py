"""An update in words, and times as people write them."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, nan

from quell.progress.update import Update

DAY = 86_400
#: Reliability indices below this count as stable (paper, section 3.3).
STABLE_BELOW = "stable below 1"


@dataclass(frozen=True, eq=False)
class Shown:
    """An update as it is shown: with the seconds ``left``, and those passed since it was made."""

    update: Update
    left: float = nan
    age: float = 0.0

    @property
    def done(self) -> str:
        """How many evaluations of how many, and how many of them failed."""
        update = self.update
        of = f"/{update.budget}" if update.budget else ""
        failed = f" ({update.n_failed} failed)" if update.n_failed else ""
        return f"{update.n_evaluations}{of} evaluations{failed}"

    @property
    def times(self) -> str:
        """How long it has taken, and how long it will."""
        elapsed = self.update.wall_seconds + self.age
        return f"{clock(elapsed)} elapsed, {clock(self.left - self.age)} left"

    def figures(self, *, explain: bool = False) -> Iterator[str]:
        """What the algorithm has found, and what it costs; ``explain`` says what is good."""
        update = self.update
        if update.iteration and not update.n_components:  # a baseline, which has no mixture
            if isfinite(update.elbo):
                yield f"log evidence {update.elbo:.2f} ± {update.elbo_sd:.2f}"
        elif update.iteration:
            r = f"{update.reliability:.2g}" if isfinite(update.reliability) else "-"
            yield f"ELBO {update.elbo:.2f} ± {update.elbo_sd:.2f}"
            yield f"reliability {r}" + (f" ({STABLE_BELOW})" if explain else "")
            yield f"K {update.n_components}"
        if isfinite(update.overhead):
            yield f"overhead {100 * update.overhead:.0f} %"


def line(shown: Shown) -> str:
    """All of it on one line."""
    return ", ".join([shown.done, shown.update.phase, *shown.figures(), shown.times])


def clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss, from a day on as days with h:mm.

    >>> clock(75), clock(3700), clock(90061)
    ('1:15', '1:01:40', '1 d 1:01')
    """
    if not isfinite(seconds):
        return "?"
    days, rest = divmod(int(max(0, seconds)), DAY)
    minutes, s = divmod(rest, 60)
    hours, minutes = divmod(minutes, 60)
    if days:
        return f"{days} d {hours}:{minutes:02}"
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"
