"""What a run shows of itself: a bar, plain lines, a piece of a notebook, a log.

``update`` is how far a run is, ``words`` the same as text, ``pace`` the time left; ``bar``,
``lines`` and ``notebook`` are the displays, ``choosing`` says which, and ``display`` is what a run
talks to. ``campaign`` is the display of many runs.
"""

from quell.progress.bar import render
from quell.progress.campaign import CampaignDisplay
from quell.progress.choosing import Choice, check_progress
from quell.progress.display import Progress
from quell.progress.update import Update
from quell.progress.words import clock

__all__ = [
    "CampaignDisplay",
    "Choice",
    "Progress",
    "Update",
    "check_progress",
    "clock",
    "render",
]
