"""``quell watch``: follow a run by its journal."""

import argparse
from typing import Any

from quell.cli.errors import CommandError

EPILOG = """\
examples:
  quell watch run.quelljournal              in this terminal, until the run ends or Ctrl-C
  quell watch run.quelljournal --once       one look, for scripts
  quell watch run.quelljournal --once --json      all of it as JSON
  quell watch run.quelljournal --browser    a page that only this machine can open
  quell watch run.quelljournal --browser --no-open --port 8765
      on another machine: ssh -L 8765:localhost:8765 HOST, then open the address it printed

The journal is only read, the run does not notice, and it may also be one that has ended or crashed.

exit codes:
  0    the run has ended, or --once has printed it
  2    there is no such journal
  130  Ctrl-C; the run goes on"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "watch", help="follow a run by its journal, in the terminal or a browser", epilog=EPILOG,
        description="Show a run as it goes on: its answer so far, evaluations, failures, workers.",
    )  # fmt: skip
    parser.add_argument("run", metavar="RUN", help="the journal of a run")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="print how it stands, and end")
    how.add_argument("--browser", action="store_true", help="serve a page on 127.0.0.1")
    parser.add_argument("--json", action="store_true", help="with --once: as JSON")
    parser.add_argument("--port", type=int, default=0, metavar="P",
                        help="with --browser: the port (a free one)")  # fmt: skip
    parser.add_argument("--no-open", action="store_true",
                        help="with --browser: print the address only")  # fmt: skip
    parser.add_argument("--every", type=float, default=1.0, metavar="S",
                        help="seconds between two looks (1)")  # fmt: skip
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Watch."""
    if not 0.1 <= chosen.every <= 3600:
        raise CommandError(f"--every must be from 0.1 to 3600 seconds, got {chosen.every:g}")
    if not 0 <= chosen.port <= 65535:
        raise CommandError(f"--port must be from 0 to 65535, got {chosen.port}")
    if chosen.json and not chosen.once:
        raise CommandError("--json goes with --once")
    if (chosen.port or chosen.no_open) and not chosen.browser:
        raise CommandError("--port and --no-open go with --browser")
    from quell.watch.following import Follower

    follower = Follower(chosen.run)
    follower.look()
    if chosen.once:
        from quell.watch.terminal import print_once

        print_once(follower.state(), as_json=chosen.json)
    elif chosen.browser:
        from quell.watch.server import serve

        serve(follower, port=chosen.port, every=chosen.every, open_browser=not chosen.no_open)
    else:
        from quell.watch.terminal import follow

        follow(follower, every=chosen.every)
    return 0
