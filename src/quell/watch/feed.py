"""What browsers are sent: the state whenever there is something new, and evaluations once each."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from quell.watch.following import Follower
from quell.watch.state import evaluation_of

#: Seconds after which something is sent although nothing is new, so that a listener that has gone
#: is noticed, and one that is there knows that we are.
SILENCE = 15.0


class Feed:
    """Looks at a journal every so many seconds, for any number of listeners."""

    def __init__(self, follower: Follower, every: float) -> None:
        self._follower, self._every = follower, every
        self._changed = threading.Condition()
        self._stopped = False
        self._version = 0
        self._state: dict[str, Any] = {}
        self._evaluations: list[list[Any]] = []
        self._take()

    def run(self) -> None:
        """Look again and again, until stopped."""
        while not self._stopped:
            if self._follower.look():
                self._take()
            with self._changed:
                self._changed.wait_for(lambda: self._stopped, timeout=self._every)

    def stop(self) -> None:
        """Let all listeners go."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def latest(self) -> dict[str, Any]:
        """The state as it was last seen."""
        with self._changed:
            return self._state

    def messages(self) -> Iterator[bytes]:
        """Server-sent events: the first has all evaluations, later ones those that are new."""
        seen, sent, epoch = -1, 0, -1
        while True:
            with self._changed:
                self._changed.wait_for(partial(self._has_news, seen), timeout=SILENCE)
                if self._stopped:
                    return
                if self._version == seen:
                    message = b": still here\n\n"
                else:
                    if epoch != self._follower.epoch:
                        sent, epoch = 0, self._follower.epoch
                    content = {"state": self._state, "from": sent, "new": self._evaluations[sent:]}
                    message = f"data: {json.dumps(content, allow_nan=False)}\n\n".encode()
                    seen, sent = self._version, len(self._evaluations)
            yield message

    def _has_news(self, seen: int) -> bool:
        return self._stopped or self._version != seen

    def _take(self) -> None:
        """Take over what the follower has seen."""
        state = self._follower.state()
        told = [row for row in self._follower.rows if row.kind == "tell"]
        evaluations = [evaluation_of(row) for row in told]
        with self._changed:
            self._state, self._evaluations = state, evaluations
            self._version += 1
            self._changed.notify_all()
