"""The view of a run in a browser: a page on this machine only, that is only read.

The server listens on 127.0.0.1. Other users of the machine do not know the address, which has a
random word in it; pages of other sites can neither ask for it (their origin is refused) nor have
it asked for under a name of theirs (so is any host but this machine).
"""

import hmac
import json
import secrets
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from quell.errors import JournalError
from quell.watch.feed import Feed
from quell.watch.following import Follower
from quell.watch.page import Page, read_page

#: Names of this machine by which it may be asked; the port may be that of a tunnel.
HOSTS = ("127.0.0.1", "localhost")
#: Browsers that may listen at a time.
MOST_LISTENERS = 20


class WatchServer(ThreadingHTTPServer):
    """Serves the page and its events at ``address``, until it is shut down."""

    daemon_threads = True  # whoever listens does not keep the program from ending

    def __init__(self, feed: Feed, port: int = 0) -> None:
        self.feed, self.page = feed, read_page()
        self.word = secrets.token_urlsafe(16)
        self.listeners = threading.BoundedSemaphore(MOST_LISTENERS)
        super().__init__((HOSTS[0], port), _Handler)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOSTS[0]}:{self.server_port}/{self.word}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that has gone is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version, sys_version = "quell", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The page, its state, or its events."""
        if not is_own(self.headers.get("Host"), self.headers.get("Origin")):
            self._answer(403, b"this page is for this machine only\n")
            return
        word, _, name = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(word.encode(), self.server.word.encode()):
            self._answer(404, b"there is no such page: use the whole address\n")
        elif name == "":
            self._send_page(self.server.page)
        elif name == "state.json":
            data = json.dumps(self.server.feed.latest(), allow_nan=False).encode()
            self._answer(200, data, "application/json")
        elif name == "events":
            self._send_events()
        else:
            self._answer(404, b"there is no such page\n")

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        """Nothing: the terminal is the user's."""

    def _send_page(self, page: Page) -> None:
        self._answer(200, page.html, "text/html", policy=page.policy)

    def _send_events(self) -> None:
        if not self.server.listeners.acquire(blocking=False):
            self._answer(503, b"too many pages are open\n")
            return
        try:
            self._begin(200, "text/event-stream")
            self.end_headers()
            if self.command == "HEAD":
                return
            for message in self.server.feed.messages():
                self.wfile.write(message)
                self.wfile.flush()
        except OSError:
            pass  # the browser has gone
        finally:
            self.server.listeners.release()

    def _begin(self, code: int, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Connection", "close")  # no thread waits for a browser's next question
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")

    def _answer(self, code: int, body: bytes, kind: str = "text/plain", policy: str = "") -> None:
        self._begin(code, kind)
        self.send_header("Content-Security-Policy", policy or "default-src 'none'")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def is_own(host: str | None, origin: str | None) -> bool:
    """Whether a request is for this machine, by a page of this server or by none.

    >>> is_own("127.0.0.1:8000", None), is_own("localhost:9", "http://localhost:9")
    (True, True)
    >>> is_own("evil.example:8000", None), is_own("127.0.0.1:8000", "http://evil.example")
    (False, False)
    """
    name = (host or "").rpartition(":")[0] or (host or "")
    return name in HOSTS and origin in (None, f"http://{host}")


@contextmanager
def serving(follower: Follower, *, port: int = 0, every: float = 1.0) -> Iterator[WatchServer]:
    """A server at work in the background."""
    feed = Feed(follower, every)
    try:
        server = WatchServer(feed, port)
    except OSError as error:
        raise JournalError(f"cannot serve at port {port}: {error.strerror or error}") from error
    threads = [threading.Thread(target=work, daemon=True) for work in (server.serve_forever,
                                                                      feed.run)]  # fmt: skip
    for thread in threads:
        thread.start()
    try:
        yield server
    finally:
        feed.stop()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join()


def serve(follower: Follower, *, port: int, every: float, open_browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    with serving(follower, port=port, every=every) as server:
        print(f"watching {follower.path.name!r} at {server.address} (Ctrl-C ends)", flush=True)
        if open_browser:
            with suppress(webbrowser.Error):
                webbrowser.open(server.address)
        threading.Event().wait()
