"""``quell compare``: models beside each other by their evidence."""

import argparse
import json
from pathlib import Path
from typing import Any

from quell.cli.errors import CommandError

EPILOG = """\
examples:
  quell compare linear=a.quell quadratic=b.quell
      two models of one data set
  quell compare A=a1.quell A=a2.quell B=b1.quell B=b2.quell
      several runs of each count as one
  quell compare fits --names '{subject}/{model}'
      a study whose problems are named by subject and model: how frequent is each model?
  quell compare linear=fits-linear quadratic=fits-quadratic
      a study of each model, whose problems are the subjects
  quell compare A=a.quell B=b.quell --prior A=0.2 B=0.8 --json

Without NAME= a model has the name of its file. Journals of runs under way are compared as they
are."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "compare", help="compare models by their evidence, for one data set or a group",
        epilog=EPILOG,
        description="Log Bayes factors and probabilities of models, or their frequencies in a "
                    "group of subjects, with what to be careful about.",
    )  # fmt: skip
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN",
                        help="saved results, stacks, journals or studies")  # fmt: skip
    parser.add_argument("--names", metavar="PATTERN",
                        help="of one study: where subject and model are in the names of its "
                             "problems, such as '{subject}/{model}'")  # fmt: skip
    parser.add_argument("--prior", nargs="+", metavar="NAME=P",
                        help="prior probabilities of the models (equal ones)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the comparison."""
    from quell.comparison import compare
    from quell.text import jsonable

    models = _models(chosen.runs)
    prior = None if chosen.prior is None else dict(map(_probability, chosen.prior))
    try:
        comparison = compare(models, names=chosen.names, prior=prior)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from error
    if chosen.json:
        print(json.dumps(jsonable(comparison.to_dict()), indent=2))
    else:
        print(comparison)
    return 0


def _models(runs: list[str]) -> Any:
    """What `quell.compare` takes: results by the names of their models, or a single study."""
    from quell.loading import load
    from quell.studies.result import StudyResult

    models: dict[str, Any] = {}
    for text in runs:
        name, path = _named(text)
        found = load(path)
        if isinstance(found, StudyResult):
            if len(runs) == 1:
                return found
            if name in models:
                raise CommandError(f"model {name!r} has a study and something else; give it once")
            models[name] = found
        elif not isinstance(models.setdefault(name, []), list):
            raise CommandError(f"model {name!r} has a study and something else; give it once")
        else:
            models[name].append(found)
    return models


def _named(text: str) -> tuple[str, str]:
    """The name of a model, and a path.

    >>> _named("A=runs/a.quell"), _named("runs/b.quell")
    (('A', 'runs/a.quell'), ('b', 'runs/b.quell'))
    """
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        return Path(text).stem, text
    if not name or not path:
        raise CommandError(f"{text!r} must be NAME=RUN, such as A=a.quell")
    return name, path


def _probability(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise CommandError(f"--prior must have NAME=PROBABILITY, got {text!r}") from None
