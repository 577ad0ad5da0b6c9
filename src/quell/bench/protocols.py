"""Two protocols in one run: the whole budget, and until the algorithm's own stop.

A run that spends its whole budget notes, under "own_stop", the answer it would have returned if it
had been allowed to stop by its own rule. The two are judged apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Record = dict[str, Any]
#: Fields that say something of the whole run, not of the answer at its own stop.
OF_THE_WHOLE_RUN = ("trace", "posterior", "tests", "ranks", "wall_seconds", "total_cpu_seconds")


def at_own_stop(records: Iterable[Record]) -> Iterator[Record]:
    """The records as if all runs had been allowed to stop by their own rule.

    Runs that would not have stopped have spent their budget under both protocols; those that did
    stop early, and those that failed, are as they are. Runs of algorithms whose own stop is not
    known are left out.

    >>> run = {"algorithm": "viqr", "stop_early": False, "mmtv": 0.1, "evaluations": 300}
    >>> [stopped] = at_own_stop([run | {"own_stop": {"mmtv": 0.2, "evaluations": 150}}])
    >>> stopped
    {'algorithm': 'viqr', 'stop_early': True, 'mmtv': 0.2, 'evaluations': 150}
    >>> list(at_own_stop([run]))
    []
    """
    records = list(records)
    known = {r["algorithm"] for r in records if "own_stop" in r or r["stop_early"]}
    for record in records:
        if record["algorithm"] not in known:
            continue
        if record["stop_early"]:
            yield record
        elif "error" in record:
            yield {**record, "stop_early": True}
        elif "own_stop" in record:
            kept = {key: value for key, value in record.items() if key != "own_stop"}
            if record["own_stop"] is not None:
                kept = {k: value for k, value in kept.items() if k not in OF_THE_WHOLE_RUN}
                kept |= record["own_stop"]
            yield {**kept, "stop_early": True}
