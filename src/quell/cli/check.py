"""``quell check``: can I believe this?"""

import argparse
from typing import Any

from quell.cli.errors import DONE, NOT_GOOD, CommandError
from quell.cli.runs import RUN, add_choice_of_run, open_result

EPILOG = """\
examples:
  quell check fit.quell                      the verdict, its reasons, and what more would buy
  quell check fit.quell --more 200           what 200 more evaluations would buy
  quell check fit.quell --quiet && next.sh   go on only with a result that can be used
  quell check fits --problem "subject 3" --seed 2

exit codes:
  0  usable
  1  not yet, or no
  2  there is no result to check"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check", help="can I believe this result? The exit code says so too", epilog=EPILOG,
        description="Say whether a result can be used: usable, not yet, or no, with reasons.",
    )  # fmt: skip
    parser.add_argument("run", metavar="RUN", help=RUN)
    add_choice_of_run(parser)
    parser.add_argument("--more", type=int, default=100, metavar="N",
                        help="evaluations for which to say what they would buy (100)")  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="print one word only")
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the verdict; its exit code is 0 for a result that can be used."""
    from quell.diagnostics.check import ANSWERS, Answer
    from quell.stacking import StackedResult

    if chosen.more < 1:
        raise CommandError(f"--more must be at least 1, got {chosen.more}")
    found = open_result(chosen)
    if isinstance(found, StackedResult):
        answer = ANSWERS[found.status]
        print(answer if chosen.quiet else f"{answer}: this is a stack\n\n{found.summary()}")
        return DONE if answer == Answer.USABLE else NOT_GOOD
    check = found.check(chosen.more)
    print(check.answer if chosen.quiet else check)
    return DONE if check.usable else NOT_GOOD
