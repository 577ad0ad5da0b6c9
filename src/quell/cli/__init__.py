"""The command ``quell``: one module for each of its commands.

``parser`` has the list of commands, ``main`` runs the one chosen, ``errors`` says what is told in
one line, ``runs`` opens what users name. Everything else is imported when a command needs it, so
that help and completions come at once.
"""

from quell.cli.main import main
from quell.cli.parser import build_parser

__all__ = ["build_parser", "main"]
