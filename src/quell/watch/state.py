"""All there is to see of a run, as plain data ready for JSON."""

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.journal.rows import Row
from quell.run.stopping import BUDGET_EXACT, BUDGET_NOISY
from quell.watch.answer import plain

if TYPE_CHECKING:
    from quell.watch.following import Follower

#: Evaluations by which the pace is judged, and failures that are shown.
WINDOW, MOST_FAILURES = 50, 20
#: A pause is an interval between answers so many times as long as the median one, and a minute:
#: the run was stopped, and it does not count as time that evaluations take.
PAUSE, MINUTE = 20.0, 60.0

RUNNING, FINISHED, STOPPED, UNKNOWN = "running", "finished", "stopped", "unknown"


def state_of(follower: "Follower") -> dict[str, Any]:
    """The state of a run; evaluations themselves are in `evaluation_of`."""
    news, answer = follower.news, follower.answer
    told = [row for row in follower.rows if row.kind == "tell"]
    failed = [row for row in told if row.error]
    figures = {} if answer is None else answer.figures
    status, words = _status(follower)
    budget = _budget(follower, figures.get("noise", ""))
    pace = _pace(told)
    left = None
    if status == RUNNING and pace is not None and budget:
        left = pace * max(0, budget - len(told))
    created = news.meta.get("created", {})
    now = time.time()
    return {
        "name": follower.path.name,
        "status": status,
        "words": words,
        "now": now,
        "begun": created.get("at", told[0].at if told else None),
        "last": follower.rows[-1].at if follower.rows else None,
        "version": created.get("version", ""),
        "algorithm": str(news.meta.get("settings", {}).get("algorithm", "")),
        "seed": news.meta.get("seed"),
        "parameters": list(news.meta.get("problem", {}).get("names", [])),
        "evaluations": len(told),
        "given": sum(row.kind == "given" for row in follower.rows),
        "failed": len(failed),
        "budget": budget,
        "pace": pace,
        "left": left,
        "target_seconds": float(np.nansum([row.seconds for row in told])) if told else 0.0,
        "phase": FINISHED if status == FINISHED else figures.get("phase", "design"),
        "answer": figures,
        "trace": [] if answer is None else answer.trace,
        "marginals": [] if answer is None else answer.marginals,
        "pending": _pending(follower.rows) if status != FINISHED else [],
        "workers": _workers(told),
        "failures": [
            {"n": i, "theta": list(row.theta), "error": row.error, "at": row.at, "who": row.who}
            for i, row in enumerate(told, 1)
            if row.error
        ][-MOST_FAILURES:],
        "notes": _notes(follower),
    }


def evaluation_of(row: Row) -> list[Any]:
    """An evaluation as a page draws it: value, SD, seconds, why it failed, where from.

    >>> evaluation_of(Row("tell", 1, 0, (0.5,), "search", -3.5, 0.5, seconds=2.0))
    [-3.5, 0.5, 2.0, '', 'search', [0.5]]
    """
    return [plain(row.value), plain(row.sd), plain(row.seconds), row.error, row.origin,
            list(row.theta)]  # fmt: skip


def _status(follower: "Follower") -> tuple[str, str]:
    about, owner = follower.news.about, follower.holder
    if about is not None and about.ended and not owner:
        return FINISHED, about.ended
    if owner:
        return RUNNING, f"by {owner}"
    if owner is None:
        return UNKNOWN, "whether it goes on cannot be told here"
    return STOPPED, "no process has the journal open; the same call of quell.infer goes on with it"


def _budget(follower: "Follower", noise: str) -> int | None:
    """The budget, as far as it is known."""
    about, plan = follower.news.about, follower.news.plan
    if plan is not None and plan.budget:
        return plan.budget
    if about is not None and about.ended and about.budget:
        return about.budget
    problem = follower.news.meta.get("problem", {})
    noise = noise or str(problem.get("noise", "auto"))
    if plan is None or noise == "auto" or "algorithm" in follower.news.meta.get("settings", {}):
        return None
    sides = zip(problem.get("lower", []), problem.get("upper", []), strict=False)
    free = sum(low != high for low, high in sides)
    return (BUDGET_EXACT if noise == "exact" else BUDGET_NOISY) * (free + 2)


def _pace(told: list[Row]) -> float | None:
    """Seconds from one answer to the next, without pauses; None if there are too few."""
    times = np.array([row.at for row in told[-WINDOW - 1 :]])
    if len(times) < 3:
        return None
    steps = np.diff(times)
    usual = steps[steps <= PAUSE * np.median(steps) + MINUTE]
    return float(max(0.0, usual.mean())) if len(usual) else None


def _pending(rows: list[Row]) -> list[dict[str, Any]]:
    """Points under evaluation: asked for, and not answered."""
    done = {row.index for row in rows if row.kind in ("tell", "forget")}
    attempts = Counter(row.index for row in rows if row.kind == "attempt")
    return [
        {"index": row.index, "theta": list(row.theta), "since": row.at, "origin": row.origin,
         "attempts": attempts[row.index], "asked_by": row.who}
        for row in rows
        if row.kind == "ask" and row.index not in done
    ]  # fmt: skip


def _workers(told: list[Row]) -> list[dict[str, Any]]:
    """Who has evaluated how much, the latest first."""
    by: dict[str, list[Row]] = {}
    for row in told:
        by.setdefault(row.who, []).append(row)
    found = [
        {
            "who": who,
            "evaluations": len(rows),
            "failed": sum(bool(row.error) for row in rows),
            "seconds": plain(np.nanmean([row.seconds for row in rows]))
            if any(row.seconds == row.seconds for row in rows)
            else None,
            "last": rows[-1].at,
        }
        for who, rows in by.items()
    ]
    return sorted(found, key=lambda one: -float(one["last"]))


def _notes(follower: "Follower") -> list[str]:
    notes = [follower.trouble] if follower.trouble else []
    if not follower.news.is_whole:
        lost = follower.news.n_lost
        many = f"; {lost} rows in between are lost" if lost else ""
        notes.append(f"the journal is damaged: this is what can be read of it{many}")
    if follower.answer is not None and follower.answer.trouble:
        notes.append(follower.answer.trouble)
    return notes
