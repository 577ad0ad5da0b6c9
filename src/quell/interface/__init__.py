"""What public names share where they meet users: misspelt arguments, extras, notebooks, reports."""

from quell.interface.extras import import_extra
from quell.interface.html import Html
from quell.interface.keywords import explains_unknown_arguments
from quell.interface.reported import Reported

__all__ = ["Html", "Reported", "explains_unknown_arguments", "import_extra"]
