"""Ends programs together with all they have started, also when the run is killed.

A program is started in a session of its own, with a variable in its environment that nothing else
has, its mark. What it starts inherits both; what leaves the session still has the mark, by which
it is found where the system shows environments (Linux).

This file is also a script, with nothing but the standard library: one process of it watches over
the programs of a process, is told about them on its standard input, and ends them when that
process is gone, however it went.
"""

import contextlib
import os
import select
import signal
import sys
import time

#: Seconds between two looks at the process that is watched over: forked processes may keep the
#: standard input open after its death.
PERIOD = 0.5
#: Looks for processes that were started while others were being ended, and seconds between them.
LOOKS, PAUSE = 50, 0.02


def kill_all(group: int, mark: str) -> None:
    """Kill a process group (none for 0) and whatever has the mark, until there is nothing left."""
    for _ in range(LOOKS):
        if group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        others = marked(mark)
        if not others:
            return
        for process in others:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(PAUSE)


def marked(mark: str) -> list[int]:
    """The processes with this mark in their environment; none where it cannot be seen."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                    if f"{mark}=".encode() in file.read():
                        found.append(int(name))
    return found


def watch_over(parent: int) -> None:
    """Read lines ``+ group mark`` and ``- group mark`` until the parent is gone, then kill."""
    watched: dict[str, int] = {}
    rest = b""
    while os.getppid() == parent:
        if not select.select([0], [], [], PERIOD)[0]:
            continue
        news = os.read(0, 65536)
        if not news:
            break
        *lines, rest = (rest + news).split(b"\n")
        for line in lines:
            sign, group, mark = line.decode().split()
            if sign == "+":
                watched[mark] = int(group)
            else:
                watched.pop(mark, None)
    for mark, group in watched.items():
        kill_all(group, mark)


if __name__ == "__main__":
    watch_over(int(sys.argv[1]))
