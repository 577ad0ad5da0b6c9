"""What all public names share where they meet users: misspelt arguments, extras, notebooks."""

from quell.interface.extras import import_extra
from quell.interface.html import Html
from quell.interface.keywords import explains_unknown_arguments

__all__ = ["Html", "explains_unknown_arguments", "import_extra"]
