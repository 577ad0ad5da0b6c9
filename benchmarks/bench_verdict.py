"""Of the runs that say "stable", how many are usable, and of the others?

From records of ``quell bench run`` that carry a status (those made before there was one do not).
"""

import argparse
from glob import glob

from quell.bench.records import read_records
from quell.bench.verdicts import expected_table, verdict_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=sorted(glob("benchmarks/results/*.jsonl")))
    parser.add_argument("--algorithm", default="quell", help="the algorithm (quell)")
    chosen = parser.parse_args()
    runs = [
        record
        for record in read_records(chosen.files).runs.values()
        if record["algorithm"] == chosen.algorithm
    ]
    judged = sum("status" in record for record in runs)
    print(f"{judged} of {len(runs)} runs of {chosen.algorithm} carry a status\n")
    if judged:
        print(verdict_table(runs))
    expected = expected_table(runs)
    if expected:
        print(f"\nWhat runs expected of their marginals, and what came out:\n\n{expected}")


if __name__ == "__main__":
    main()
