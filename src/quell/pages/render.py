"""From a page to its HTML: one file that needs no network, no server and no script.

Every text goes through `quell.text.printable` and is escaped, so that names and error texts are
shown as they are, whatever is in them. Data for the scripts are JSON in which "<", ">" and "&" are
written as escapes, so that nothing there can end it. The content security policy allows the one
script and the one style sheet, by their digests, and nothing else: no request leaves the page.
"""

import base64
import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from quell.pages.comparison_page import ComparisonPage
from quell.pages.run_page import RunPage
from quell.pages.runs_page import LIMITS, RunsPage
from quell.pages.slices import KEYS as SLICE_KEYS
from quell.pages.stack_page import StackPage
from quell.pages.study_page import StudyPage
from quell.text import jsonable, printable
from quell.version import __version__

Page = RunPage | RunsPage | StackPage | StudyPage | ComparisonPage
TEMPLATES: dict[type, str] = {
    RunPage: "run.html.j2",
    RunsPage: "runs.html.j2",
    StackPage: "stack.html.j2",
    StudyPage: "study.html.j2",
    ComparisonPage: "comparison.html.j2",
}
#: How every report begins, by which it is known.
BEGINNING = '<!doctype html>\n<html lang="en" data-made-by="quell report">'


def render(page: Page) -> str:
    """The page as HTML."""
    style, script = _resource("report.css"), _resource("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    text: str = _environment().get_template(TEMPLATES[type(page)]).render(
        page=page, policy=policy, style=Markup(style), script=Markup(script),
        data=safe_json(page.data()), version=__version__, beginning=Markup(BEGINNING),
        limits=LIMITS, slice_keys=SLICE_KEYS,
    )  # fmt: skip
    return text + "\n"


def safe_json(data: Any) -> Markup:
    """JSON for a ``script`` element: no text in it can end the element, or be a tag.

    >>> print(safe_json({"a": "</script>", "b": float("nan")}))
    {"a":"\\u003c/script\\u003e","b":"nan"}
    """
    text = json.dumps(jsonable(data), separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _digest(text: str) -> str:
    """What a content security policy calls the content of an element by."""
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _resource(name: str) -> str:
    text = (files("quell.pages") / "templates" / name).read_text(encoding="utf-8")
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("quell.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_as_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _as_shown(value: Any) -> Any:
    """Text that is not markup of our own: on one line, with nothing that acts."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value
