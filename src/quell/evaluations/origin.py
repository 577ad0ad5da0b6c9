"""Why a point was evaluated."""

from enum import StrEnum


class Origin(StrEnum):
    """Where the point of an evaluation came from; equal to its name as text.

    >>> Origin("search") is Origin.SEARCH, Origin.GIVEN == "given"
    (True, True)
    """

    START = "start"  #: the user's ``start=``
    DESIGN = "design"  #: spread over the plausible box, before there is a surrogate
    SEARCH = "search"  #: by the acquisition function
    LOOK = "look"  #: away from the posterior, where the log joint may be as high as in it
    AGAIN = "again"  #: where an evaluation was not to be believed at once (``robust``)
    CHECK = "check"  #: a second evaluation, by which noise="auto" is settled
    USER = "user"  #: told, but never asked for
    GIVEN = "given"  #: of a head start, made before the run: it does not count
