"""The page of the browser's view: one file with its styles and its program in it."""

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Page:
    """The page, and the policy that lets it do nothing but what it is made for."""

    html: bytes
    policy: str


@cache
def read_page() -> Page:
    """Put the page together.

    >>> page = read_page()
    >>> b"http" in page.html.replace(b"http://www.w3.org/2000/svg", b"")
    False
    """
    style, program = ((HERE / name).read_text("utf-8") for name in ("page.css", "page.js"))
    html = (HERE / "page.html").read_text("utf-8")
    html = html.replace("/*STYLE*/", style).replace("/*PROGRAM*/", program)
    policy = (
        f"default-src 'none'; connect-src 'self'; style-src {_digest(style)}; "
        f"script-src {_digest(program)}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return Page(html.encode(), policy)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
