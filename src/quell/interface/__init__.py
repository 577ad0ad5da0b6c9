"""What public names share where they meet users: wrong arguments, extras, notebooks, files."""

from quell.interface.extras import import_extra
from quell.interface.html import Html
from quell.interface.keywords import explains_unknown_arguments
from quell.interface.reported import Reported
from quell.interface.saved import Saved

__all__ = ["Html", "Reported", "Saved", "explains_unknown_arguments", "import_extra"]
