"""Make the small copy of a file of runs that is kept in benchmarks/results.

Posteriors, settings and metrics along the way are left out, numbers are rounded, and runs are in
order; ``quell bench table`` and the benchmarks' own tables read the copy like the original.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from quell.bench.records import read_records

LEFT_OUT = ("posterior", "trace", "trace_kind", "settings")
DIGITS = 5


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """A float to so many significant digits; anything else as it is."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--digits", type=int, default=DIGITS, help=f"that are kept ({DIGITS})")
    options = parser.parse_args()
    records = list(read_records(options.source).runs.values())
    records.sort(key=lambda r: (r["problem"], r["dim"], r["noise"] or 0, r["algorithm"], r["seed"]))
    lines = [
        json.dumps({k: rounded(v, options.digits) for k, v in r.items() if k not in LEFT_OUT})
        for r in records
    ]
    Path(options.out).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} runs in {options.out}")


if __name__ == "__main__":
    main()
