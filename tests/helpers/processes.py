"""Worker processes for tests that need several: each starts in a moment.

They are forked by a server that has imported the package already and has no threads, which a fork
might not survive. A fresh interpreter for each costs about a second of computing time.
"""

from multiprocessing import get_all_start_methods, get_context

FORKED = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
FORKED.set_forkserver_preload(["quell.infer", "quell.study"])
